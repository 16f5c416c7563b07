#include "supervisor/cli/schema/setting_descriptions.hpp"

#include <algorithm>
#include <cstddef>
#include <set>

#include "shared/base/ascii.hpp"

namespace brood {
namespace {

// Sections whose entries have names of their own, as they are called in keys_of_section.
const std::set<std::string> named = {"periodic", "tenants", "limits", "capsules", "classes", "commands"};

// "limits.erp" is "limits.*".
std::string kind_of(std::string_view header) {
  std::string name(header);
  const std::size_t dot = name.find('.');
  if (dot == name.npos || !named.contains(name.substr(0, dot))) return name;
  const std::size_t next = name.find('.', dot + 1);
  return name.substr(0, dot) + ".*" + (next == name.npos ? "" : name.substr(next));
}

bool is_key(char c) { return ascii::is_letter_or_digit(c) || c == '_'; }

// The key of "name = value"; empty: it is another line.
std::string key_of(std::string_view line) {
  const auto end = std::ranges::find_if_not(line, is_key);
  const std::string key(line.begin(), end);
  return line.substr(key.size()).starts_with(" = ") ? key : "";
}

// The name of "[name]" or "[[name]]"; empty: it is another line.
std::string header_of(std::string_view line) {
  if (!line.starts_with('[') || !line.ends_with(']')) return "";
  const std::size_t begin = line.find_first_not_of('['), end = line.find(']');
  const std::string_view name = line.substr(begin, end - begin);
  return std::ranges::all_of(name, [](char c) { return is_key(c) || c == '.' || c == '-'; }) ? std::string(name) : "";
}

}  // namespace

SettingDescriptions::SettingDescriptions(std::string_view example) {
  std::string kind, paragraph;
  for (std::size_t begin = 0; begin < example.size();) {
    const std::size_t end = std::min(example.find('\n', begin), example.size());
    std::string_view line = example.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("# ")) {
      paragraph += (paragraph.empty() ? "" : " ") + std::string(line.substr(2));
      continue;
    }
    if (line.starts_with('#')) line.remove_prefix(1);  // a setting that has its default
    if (const std::string header = header_of(line); !header.empty()) {
      kind = kind_of(header);
      const std::size_t dot = kind.ends_with(".*") ? kind.npos : kind.rfind('.');
      const std::string above = dot == kind.npos ? "" : kind.substr(0, dot);
      if (!paragraph.empty() && !kind.ends_with(".*"))
        texts_.emplace(above + "." + (dot == kind.npos ? kind : kind.substr(dot + 1)), paragraph);
      else if (!paragraph.empty())
        texts_.emplace("." + kind.substr(0, kind.size() - 2), paragraph);
    } else if (const std::string key = key_of(line); !key.empty() && !paragraph.empty()) {
      texts_.emplace(kind + "." + key, paragraph);
    }
    paragraph.clear();
  }
}

std::string SettingDescriptions::of(const std::string& kind, const std::string& key) const {
  const auto text = texts_.find(kind + "." + key);
  if (text != texts_.end()) return text->second;
  return kind == "capsules.*" ? of("worker", key) : "";
}

}  // namespace brood
