#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "shared/config/config.hpp"

namespace brood {

// The path by which `program` is executed: itself if it has a slash, else that of the first executable file of this
// name in PATH; the bare name if there is none.
std::string executable_path(const std::string& program);

// The paths at which this command's program and its directory are found now, by the files that its configuration holds,
// if any.
std::string program_path(const CommandSettings& command);
std::string directory_path(const CommandSettings& command);

// Throws a ConfigError for the first command whose program cannot be executed now, or whose directory is not there.
void require_programs(const Config& config);

// A piece of one word of a command's `run`.
struct WordPart {
  enum class Kind {
    text,           // as it is
    argument,       // "{3}": the job's argument of that number, counted from 0
    all_arguments,  // "{args}", alone in its word: each argument a word of its own
  } kind = Kind::text;
  std::string text = {};
  std::size_t argument = 0;
};

// Pure.  "{{" and "}}" stand for braces.  Throws std::invalid_argument with what is wrong, for people.
std::vector<WordPart> parse_command_word(std::string_view word);

}  // namespace brood
