#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "shared/config/config_file.hpp"
#include "shared/config/reading/load_config.hpp"
#include "shared/json/json.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/import/import_sidekiq.hpp"
#include "supervisor/cli/program.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

constexpr const char* footer =
    R"(Prints a brood.toml for the settings in FILE, and at its end, line by line, what has no counterpart.  `-` reads
standard input.  Nothing is changed, and no Redis is asked.

The sections of the gems sidekiq-scheduler and sidekiq-limit_fetch are read too, and the schedule of sidekiq-cron: by
default schedule.yml beside FILE.  --ruby reads the limits of sidekiq-throttled from the classes of an application.

ERB is not evaluated, but for variables of the environment.  A value that may be a secret is not written.

Examples:
  brood import config/sidekiq.yml > brood.toml
  brood import config/sidekiq.yml --ruby app > brood.toml
  brood run -C brood.toml --check
  erb config/sidekiq.yml | brood import -)";

struct ImportOptions {
  std::string path, environment = "production";
  std::optional<std::string> schedule;
  std::vector<std::string> ruby;
  bool json = false;
};

ImportOptions parse(const std::vector<std::string>& args) {
  ImportOptions options;
  CommandLine line("Translates Sidekiq's configuration: brood import FILE", "brood import");
  line.option("-e,--environment", options.environment, "NAME", "Whose section of FILE counts (production)");
  line.option("--schedule", options.schedule, "FILE", "The schedule of sidekiq-cron");
  line.option("--ruby", options.ruby, "PATH", "Ruby files, or a folder of them, with sidekiq_throttle");
  line.flag("--json", options.json, "Answer in JSON, for programs");
  line.footer(footer);
  const std::vector<std::string> words = line.parse(args);
  if (words.empty()) throw UsageError("the file is missing: brood import config/sidekiq.yml");
  if (words.size() > 1) refuse_arguments({words[1]});
  options.path = words[0];
  return options;
}

SidekiqFile read(const std::string& path) {
  if (path != "-") return {path, read_config_file(path).text};
  constexpr std::size_t largest = 1 << 20;
  std::string text;
  for (std::istreambuf_iterator<char> next(std::cin), end; next != end && text.size() <= largest; ++next) text += *next;
  const std::string name(standard_input);
  if (text.size() > largest) setting::Place{name}.refuse("is larger than 1 MB");
  return {name, text};
}

std::optional<SidekiqFile> read_schedule(const ImportOptions& options) {
  if (options.schedule) return read(*options.schedule);
  if (options.path == "-") return std::nullopt;
  const std::filesystem::path beside = std::filesystem::path(options.path).parent_path() / "schedule.yml";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(beside, ignored)) return std::nullopt;
  return read(beside);
}

// The Ruby files at or below the paths, in their order; symbolic links to folders are not followed.
std::vector<SidekiqFile> read_ruby(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  constexpr std::size_t most_files = 50'000;
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      found.push_back(path);
      continue;
    }
    const std::size_t before = found.size();
    for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      if (entry->path().extension() == ".rb" && entry->is_regular_file(error)) found.push_back(entry->path());
      if (found.size() > most_files) setting::Place{path}.refuse("has too many files: name the folder of the jobs");
    }
    if (error) setting::Place{path}.refuse("cannot be read: " + error.message());
    std::sort(found.begin() + static_cast<std::ptrdiff_t>(before), found.end());
  }
  std::vector<SidekiqFile> files;
  for (const std::string& path : found) {
    SidekiqFile file = read(path);
    if (file.text.find("hrottle") != file.text.npos) files.push_back(std::move(file));
  }
  return files;
}

std::string json_of(const Imported& imported) {
  std::string notes;
  for (const ImportNote& note : imported.notes)
    notes += fmt::format("{}{{\"place\":{},\"name\":{},\"text\":{}}}", notes.empty() ? "" : ",",
                         json_string(note.place), json_string(note.name), json_string(note.text));
  return fmt::format("{{\"toml\":{},\"translated\":{},\"notes\":[{}]}}", json_string(imported.toml),
                     imported.translated, notes);
}

int import_command(const std::vector<std::string>& args) {
  const ImportOptions options = parse(args);
  const Imported imported = import_sidekiq({.config = read(options.path),
                                            .schedule = read_schedule(options),
                                            .ruby = read_ruby(options.ruby),
                                            .environment = options.environment,
                                            .variable = [](const std::string& name) -> std::optional<std::string> {
                                              const char* const value = std::getenv(name.c_str());
                                              if (value == nullptr) return std::nullopt;
                                              return value;
                                            }});
  if (options.json)
    print_json(json_of(imported));
  else
    print(imported.toml);
  fmt::print(stderr, "brood import: {} settings have a counterpart, {} remarks stand at the end\n", imported.translated,
             imported.notes.size());
  try {
    load_config("brood.toml", ConfigFile{imported.toml, 0600}, {});
  } catch (const ConfigError& error) {
    fmt::print(stderr, "brood import: correct this before brood can use it: {}\n", error.what());
  }
  return exit_status::ok;
}

}  // namespace
}  // namespace brood

int main(int argc, char** argv) { return brood::companion_main(argc, argv, "import", brood::import_command); }
