#include "shared/config/executable.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "shared/config/config_file.hpp"

namespace brood {
namespace {

// Why a file cannot be executed; empty if it can.
std::string why_not_executable(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::strerror(errno);
  if (!S_ISREG(status.st_mode)) return "is no regular file";
  if (access(path.c_str(), X_OK) != 0) return "cannot be executed: " + std::string(std::strerror(errno));
  return "";
}

void require_program(const CommandSettings& command) {
  const setting::Place place{command.place};
  const std::string path = program_path(command);
  if (path.find('/') == std::string::npos) place.refuse(fmt::format("no program {} in PATH", path));
  if (const std::string why = why_not_executable(path); !why.empty()) place.refuse(fmt::format("{}: {}", path, why));
  struct stat status {};
  if (!command.directory.empty() && (stat(directory_path(command).c_str(), &status) != 0 || !S_ISDIR(status.st_mode)))
    place.refuse(fmt::format("its directory {} is not there", command.directory));
}

}  // namespace

std::string executable_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* const path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (!directory.starts_with('/')) continue;  // a file in the working directory must not run by accident
    const std::string candidate = directory + "/" + program;
    if (why_not_executable(candidate).empty()) return candidate;
  }
  return program;
}

std::string program_path(const CommandSettings& command) {
  const std::string path = command.program.empty() ? executable_path(command.run.at(0)) : command.program;
  return command.held ? command.held->path_of(path) : path;
}

std::string directory_path(const CommandSettings& command) {
  return command.held ? command.held->path_of(command.directory) : command.directory;
}

void require_programs(const Config& config) {
  for (const auto& [name, command] : config.commands) require_program(command);
  if (config.on_error) require_program(*config.on_error);
}

namespace {

constexpr std::size_t most_arguments = 1000;
constexpr const char* spelling = "{0} is the first argument, {args} is all of them, {{ and }} are braces";

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what + "; " + spelling); }

WordPart read_place(std::string_view name) {
  if (name == "args") return {.kind = WordPart::Kind::all_arguments};
  std::size_t number = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, number);
  if (name.empty() || read.ec != std::errc() || read.ptr != end || number >= most_arguments)
    refuse("\"{" + std::string(name) + "}\" stands for nothing");
  return {.kind = WordPart::Kind::argument, .argument = number};
}

}  // namespace

std::vector<WordPart> parse_command_word(std::string_view word) {
  std::vector<WordPart> parts;
  std::string text;
  const auto end_text = [&] {
    if (!text.empty()) parts.push_back({.text = std::exchange(text, {})});
  };
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    if (c != '{' && c != '}') {
      text += c;
    } else if (i + 1 < word.size() && word[i + 1] == c) {
      text += c;
      ++i;
    } else {
      const std::size_t close = word.find('}', i);
      if (c == '}' || close == word.npos) refuse(std::string("a single ") + c);
      end_text();
      parts.push_back(read_place(word.substr(i + 1, close - i - 1)));
      i = close;
    }
  }
  end_text();
  for (const WordPart& part : parts) {
    if (part.kind == WordPart::Kind::all_arguments && parts.size() > 1) refuse("{args} must be a word of its own");
  }
  return parts;
}

}  // namespace brood
