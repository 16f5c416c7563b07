#include "shared/config/described_classes.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "shared/base/digest.hpp"
#include "shared/config/config_file.hpp"
#include "shared/config/told_file.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

std::string described_classes_path(const std::string& runtime_directory, const std::string& identity) {
  return std::filesystem::path(scoreboard_path(runtime_directory, identity)).replace_extension(".classes");
}

std::uint32_t generation_of_described_classes(const std::string& path) {
  const auto known = read_described_classes(path);
  return known ? known->generation : 0;
}

void tell_described_classes(const std::string& path, const DescribedClasses& classes) {
  write_told_file(path, std::to_string(classes.generation) + "\n" + classes.document);
}

std::optional<DescribedClasses> read_described_classes(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0) return std::nullopt;
  try {
    const std::string text = read_config_file(path).text;
    DescribedClasses classes;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), classes.generation);
    if (error != std::errc() || end == text.data() + text.size() || *end != '\n') return std::nullopt;
    classes.document.assign(end + 1, text.data() + text.size());
    if (classes.document.size() > longest_description_of_classes) return std::nullopt;
    return classes;
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

std::string build_of_classes(const std::string& document) { return sha1_hex(document).substr(0, 16); }

}  // namespace brood
