#include "shared/base/held_files.hpp"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <utility>

namespace brood {
namespace {

constexpr int first_descriptor = 500;  // see made_high()
constexpr std::string_view own_descriptors = "/proc/self/fd/";

bool is_same_file(const struct stat& a, const struct stat& b) {
  return std::tie(a.st_dev, a.st_ino) == std::tie(b.st_dev, b.st_ino);
}

bool leads_to(const std::string& path, const struct stat& file) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && is_same_file(found, file);
}

std::string without_links(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) == nullptr ? path : resolved;
}

// Opens a file; if it may not be read, only as a path, since a program that may not be read can still be executed.
UniqueFd open_or_name(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  return fd ? std::move(fd) : UniqueFd(open(path.c_str(), O_PATH | O_CLOEXEC));
}

// Gives the descriptor a high number, which no other descriptor of a child has.  So a child that opens this path below
// /proc/self/fd finds this file or none.
UniqueFd made_high(UniqueFd fd) {
  if (!fd) return fd;
  UniqueFd high(fcntl(fd.get(), F_DUPFD_CLOEXEC, first_descriptor));
  return high ? std::move(high) : std::move(fd);
}

std::string path_by_descriptor(const UniqueFd& fd) { return std::string(own_descriptors) + std::to_string(fd.get()); }

}  // namespace

HeldFiles::File& HeldFiles::add(const std::string& path) {
  const auto known = std::find_if(files_.begin(), files_.end(), [&](const File& file) { return file.path == path; });
  if (known != files_.end()) return *known;
  File file{.path = path, .whole_path = without_links(path), .fd = made_high(open_or_name(path))};
  if (file.fd && fstat(file.fd.get(), &file.status) != 0) file.fd.reset();
  return files_.emplace_back(std::move(file));
}

void HeldFiles::hold(const std::string& path) { add(path); }

void HeldFiles::hold_library(const std::string& path) { add(path).is_library = true; }

void HeldFiles::hold_needed(NeededObject object) {
  add(object.path);
  needed_.push_back(std::move(object));
}

const HeldFiles::File* HeldFiles::find(const std::string& path) const {
  const auto found = std::find_if(files_.begin(), files_.end(), [&](const File& file) { return file.path == path; });
  return found == files_.end() ? nullptr : &*found;
}

std::string HeldFiles::path_of(const std::string& path) const {
  const File* const file = find(path);
  if (file == nullptr || !file->fd || leads_to(path, file->status)) return path;
  return leads_to(file->whole_path, file->status) ? file->whole_path : path_by_descriptor(file->fd);
}

std::string HeldFiles::path_of_library(const std::string& path) const {
  const File* const file = find(path);
  return file != nullptr && file->fd && leads_to(file->whole_path, file->status) ? file->whole_path : path_of(path);
}

std::string HeldFiles::name_of_library(const std::string& path) const {
  const File* const file = find(path);
  return file == nullptr ? path : file->whole_path;
}

std::set<std::string> HeldFiles::moved() const {
  std::set<std::string> paths;
  for (const File& file : files_) {
    if (file.is_library && file.fd && !leads_to(file.whole_path, file.status)) paths.insert(file.path);
  }
  for (const NeededObject& object : needed_) {
    if (path_of(object.path) != object.path) paths.insert(object.path);
  }
  return paths;
}

std::string HeldFiles::flaw() const {
  for (const File& file : files_) {
    struct stat now {};
    if (!file.fd && !file.is_library) continue;
    if (!file.fd || fstat(file.fd.get(), &now) != 0) return file.path + " could not be opened when it was first used";
    if (S_ISDIR(now.st_mode)) continue;
    const bool same = now.st_size == file.status.st_size && now.st_mtim.tv_sec == file.status.st_mtim.tv_sec &&
                      now.st_mtim.tv_nsec == file.status.st_mtim.tv_nsec;
    if (!same) return file.path + " was written over: replace files by rename";
  }
  return "";
}

std::vector<int> HeldFiles::descriptors() const {
  std::vector<int> descriptors;
  for (const File& file : files_) {
    if (file.fd) descriptors.push_back(file.fd.get());
  }
  return descriptors;
}

std::vector<HeldFiles::Entry> HeldFiles::entries() const {
  std::vector<Entry> all;
  for (const File& file : files_) {
    const auto as_needed =
        std::find_if(needed_.begin(), needed_.end(), [&](const NeededObject& one) { return one.path == file.path; });
    all.push_back({.path = file.path,
                   .whole_path = file.whole_path,
                   .descriptor = file.fd.get(),
                   .is_library = file.is_library,
                   .needed_as = as_needed == needed_.end() ? "" : as_needed->name});
  }
  return all;
}

void HeldFiles::adopt(const Entry& entry, UniqueFd own) {
  File file{.path = entry.path,
            .whole_path = entry.whole_path,
            .fd = made_high(std::move(own)),
            .is_library = entry.is_library};
  if (file.fd && fstat(file.fd.get(), &file.status) != 0) file.fd.reset();
  files_.push_back(std::move(file));
  if (!entry.needed_as.empty()) needed_.push_back({entry.needed_as, entry.path});
}

int descriptor_in(const std::string& path) {
  int descriptor = -1;
  if (path.starts_with(own_descriptors))
    std::from_chars(path.data() + own_descriptors.size(), path.data() + path.size(), descriptor);
  return descriptor;
}

}  // namespace brood
