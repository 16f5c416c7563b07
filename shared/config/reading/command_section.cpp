#include "shared/config/reading/command_section.hpp"

#include <utility>

namespace brood {
namespace {

using namespace setting;
using namespace std::chrono_literals;

using CheckWord = std::string (*)(const Place&, const std::string&);

void read_words(const ConfigSection& section, CommandSettings& command, CheckWord check_word) {
  section.texts("run", [&](const Place& word_at, const std::string& word) {
    if (command.run.empty()) command.place = word_at.name;
    command.run.push_back(command.run.empty() ? read_program(word_at, word) : check_word(word_at, word));
  });
  section.named_texts("env", [&](const Place& entry_at, const std::string& variable, const std::string& value) {
    command.env[check_variable(entry_at, variable)] = check_no_nul(entry_at, value);
  });
  section.text("directory", [&](const Place& directory_at, const std::string& path) {
    command.directory = read_path(directory_at, path);
  });
}

}  // namespace

void read_command(const std::string& name, const Place& at, const ConfigSection& section, CommandSettings& command) {
  check_class_name(at, name);
  read_words(section, command, check_command_word);
  section.duration("timeout", command.timeout, 0ms, longest_time);
  if (command.run.empty()) at.refuse("needs run = [\"program\", \"argument\", ...]");
}

void read_error_program(const ConfigSection& section, std::optional<CommandSettings>& on_error) {
  CommandSettings program;
  program.timeout = 3s;
  read_words(section, program, check_no_nul);
  section.duration("timeout", program.timeout, 1ms, 1min);
  if (!program.run.empty()) on_error = std::move(program);
}

}  // namespace brood
