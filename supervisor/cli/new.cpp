#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "shared/base/ascii.hpp"
#include "shared/base/check.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/unique_fd.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/project_template.hpp"
#include "supervisor/cli/terminal/terminal.hpp"
#include "supervisor/version.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_name = 50;

constexpr const char* new_footer = R"(Examples:
  brood new image-jobs

The last part of DIR is the name of the project: a letter, then letters, digits, "-" and "_".  DIR must not exist, or
be empty.)";

// The names that fill the template's texts.
struct Project {
  std::string name, library;
};

std::string printable(const std::filesystem::path& path) { return log::printable(path.native().substr(0, 200)); }

// CMake allows no target called "test", and another project may have a library called "images".
std::string library_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  if (name == "jobs" || name.ends_with("_jobs")) return name;
  return name + "_jobs";
}

Project project_in(const std::filesystem::path& directory) {
  const std::string name = directory.filename();
  const auto may_be_in_name = [](char c) { return ascii::is_letter_or_digit(c) || c == '-' || c == '_'; };
  const bool valid = !name.empty() && name.size() <= longest_name && name[0] != '-' && name[0] != '_' &&
                     !ascii::is_digit(name[0]) && std::all_of(name.begin(), name.end(), may_be_in_name);
  if (!valid)
    throw UsageError(
        fmt::format("\"{}\" cannot be the name of a project: a letter, then up to {} letters, digits, \"-\" and \"_\"",
                    printable(name), longest_name - 1));
  return {name, library_name(name)};
}

void require_vacant(const std::filesystem::path& directory) {
  if (!std::filesystem::exists(std::filesystem::symlink_status(directory))) return;
  if (!std::filesystem::is_directory(directory)) throw UsageError(printable(directory) + " is not a directory");
  if (!std::filesystem::is_empty(directory))
    throw UsageError(printable(directory) + " is not empty, and was not changed");
}

// major.minor, for find_package().
std::string package_version() {
  const std::string_view whole = version;
  return std::string(whole.substr(0, whole.find('.', whole.find('.') + 1)));
}

std::string filled_in(std::string_view text, const Project& project) {
  const std::pair<std::string_view, std::string> words[] = {
      {"@NAME@", project.name}, {"@LIBRARY@", project.library}, {"@VERSION@", package_version()}};
  std::string filled;
  while (!text.empty()) {
    const auto word = std::find_if(std::begin(words), std::end(words),
                                   [&](const auto& candidate) { return text.starts_with(candidate.first); });
    if (word != std::end(words)) {
      filled += word->second;
      text.remove_prefix(word->first.size());
    } else {
      filled += text.front();
      text.remove_prefix(1);
    }
  }
  return filled;
}

void write_new_file(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  const UniqueFd file(check(path.c_str(), ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)));
  while (!text.empty())
    text.remove_prefix(static_cast<std::size_t>(check(path.c_str(), ::write(file.get(), text.data(), text.size()))));
}

std::string next_steps(const Project& project, const std::string& directory) {
  const Style style = Style::of_standard_output();
  return fmt::format(
      R"({}

  cd {}
  cmake --preset default && cmake --build build && ctest --preset default
  brood perform CountWords README.md -r build/lib{}.so
  brood run -C brood.toml -r build/lib{}.so

README.md describes how to run it as a service.
)",
      style.bold(fmt::format("{} is a project with a job, a test, a configuration and a unit.  Next:", project.name)),
      directory, project.library, project.library);
}

}  // namespace

int new_command(const std::vector<std::string>& args) {
  CommandLine line("Makes a project for jobs: brood new DIR", "brood new");
  line.footer(new_footer);
  const std::vector<std::string> words = line.parse(args);
  if (words.empty()) throw UsageError("the directory of the project is missing");
  if (words.size() > 1) refuse_arguments({words[1]});

  std::filesystem::path directory = std::filesystem::absolute(words[0]).lexically_normal();
  if (!directory.has_filename()) directory = directory.parent_path();
  const Project project = project_in(directory);
  require_vacant(directory);
  for (const TemplateFile& file : project_template())
    write_new_file(directory / filled_in(file.path, project), filled_in(file.text, project));
  print(next_steps(project, printable(words[0])));
  return exit_status::ok;
}

}  // namespace brood
