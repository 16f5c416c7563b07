#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

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
