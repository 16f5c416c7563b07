#include "shared/config/registered_periodic.hpp"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "shared/config/config.hpp"
#include "shared/config/config_file.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {
namespace {

void replace(const std::string& path, const std::string& text) {
  const std::string partial = path + "." + std::to_string(getpid());
  std::ofstream file(partial, std::ios::binary);
  const bool written = static_cast<bool>((file << text).flush());
  std::error_code ignored;
  if (written) std::filesystem::rename(partial, path, ignored);
  if (!written || ignored) std::filesystem::remove(partial, ignored);
}

}  // namespace

std::string registered_periodic_path(const std::string& runtime_directory, const std::string& identity) {
  return std::filesystem::path(scoreboard_path(runtime_directory, identity)).replace_extension(".periodic");
}

void tell_registered_periodic(const std::string& path, std::uint32_t generation, const std::string& lines) {
  std::string before;
  if (access(path.c_str(), F_OK) == 0) {
    try {
      before = read_config_file(path).text;
    } catch (const ConfigError&) {  // it went, or is somebody's: it is replaced
    }
  } else if (lines.empty()) {
    return;
  }
  const std::string text = std::to_string(generation) + "\n" + lines;
  if (before == text || generation_of_registered_periodic(before) > generation) return;
  replace(path, text);
}

std::uint32_t generation_of_registered_periodic(const std::string& text) {
  std::uint32_t generation = 0;
  std::from_chars(text.data(), text.data() + text.size(), generation);
  return generation;
}

void put_back_registered_periodic(const std::string& path, const std::string& text) {
  if (text.empty())
    unlink(path.c_str());
  else
    replace(path, text);
}

}  // namespace brood
