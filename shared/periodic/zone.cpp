#include "shared/periodic/zone.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <system_error>
#include <vector>

#include "shared/base/nearest.hpp"

namespace brood {
namespace {

namespace fs = std::filesystem;

const fs::path zones = "/usr/share/zoneinfo";
constexpr std::uintmax_t largest_file = 1 << 20;  // those that exist have some kilobytes

// Beside the zones there are tables, and zones that count leap seconds or have other names.
bool names_no_zone(std::string_view first_part) {
  return first_part == "right" || first_part == "posix" || first_part == "posixrules" || first_part == "localtime";
}

bool may_be_name(std::string_view name) {
  const auto is_part_of_name = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == '_' ||
           c == '+' || c == '-';
  };
  return !name.empty() && name.front() != '/' && name.back() != '/' && name.find("//") == name.npos &&
         std::all_of(name.begin(), name.end(), is_part_of_name) && !names_no_zone(name.substr(0, name.find('/')));
}

// Old names of zones, each with its present one.  Debian 13 has files of these in a package of its own (tzdata-legacy).
template <typename Visit>
void visit_links(Visit visit) {
  std::ifstream table(zones / "tzdata.zi");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string kind, present, old;
    if (words >> kind >> present >> old && kind == "L") visit(old, present);
  }
}

std::optional<ZoneFile> read_zone(std::string_view name) {
  const fs::path path = zones / name;
  std::error_code unreadable;
  if (!fs::is_regular_file(path, unreadable) || fs::file_size(path, unreadable) > largest_file) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return ZoneFile::parse(bytes);
}

}  // namespace

std::optional<Zone> Zone::find(std::string_view name) {
  static std::mutex lock;
  static std::map<std::string, ZoneFile, std::less<>> known;  // for good: zones point into it
  Zone zone;
  if (name == "UTC") return zone;
  if (!may_be_name(name)) return std::nullopt;
  const std::lock_guard guard(lock);
  auto found = known.find(name);
  if (found == known.end()) {
    std::optional<ZoneFile> file = read_zone(name);
    if (!file) {
      visit_links([&](const std::string& old, const std::string& present) {
        if (old == name && may_be_name(present)) file = read_zone(present);
      });
    }
    if (!file) return std::nullopt;
    found = known.emplace(name, std::move(*file)).first;
  }
  zone.name_ = name;
  zone.file_ = &found->second;
  return zone;
}

Zone Zone::fixed(std::string_view name, std::chrono::seconds ahead) {
  Zone zone;
  zone.name_ = name;
  zone.ahead_ = ahead;
  return zone;
}

std::optional<std::string> Zone::like(const std::string& name) {
  std::vector<std::string> known{"UTC"};
  std::error_code unreadable;
  for (auto file = fs::recursive_directory_iterator(zones, unreadable); file != fs::recursive_directory_iterator();
       file.increment(unreadable)) {
    const std::string found = file->path().lexically_relative(zones);
    const bool is_directory = file->is_directory(unreadable);
    if (is_directory && names_no_zone(found)) file.disable_recursion_pending();
    if (!is_directory && may_be_name(found)) known.push_back(found);
  }
  visit_links([&](const std::string& old, const std::string&) { known.push_back(old); });
  return nearest(name, known);
}

Zone::Span Zone::around(std::chrono::sys_seconds moment) const {
  if (file_ != nullptr) return file_->around(moment);
  static const ZoneFile utc;
  Span span = utc.around(moment);
  span.ahead = ahead_;
  return span;
}

}  // namespace brood
