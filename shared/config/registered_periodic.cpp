#include "shared/config/registered_periodic.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "shared/base/unique_fd.hpp"
#include "shared/config/config.hpp"
#include "shared/config/config_file.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {
namespace {

// Never waits: what a job has left in its place, a FIFO say, is not opened.
void replace(const std::string& path, const std::string& text) {
  const std::string partial = path + "." + std::to_string(getpid());
  unlink(partial.c_str());
  const UniqueFd file(open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return;
  const bool whole = write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!whole || rename(partial.c_str(), path.c_str()) != 0) unlink(partial.c_str());
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
