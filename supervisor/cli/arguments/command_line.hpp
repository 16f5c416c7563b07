#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace brood {

// How the program ends; from sysexits.h.
namespace exit_status {
inline constexpr int ok = 0;
inline constexpr int usage = 64;
inline constexpr int unavailable = 69;  // no Redis, no supervisor, or no companion program
inline constexpr int internal = 70;
inline constexpr int try_again = 75;  // not now: a job does not run here, a worker does not answer
inline constexpr int configuration = 78;
}  // namespace exit_status

// A command line that is not valid.  what() is one sentence.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown if help or the version was asked for: `text` is printed, and nothing else is done.
struct Answer {
  std::string text;
};

// The options of one command, as its help shows them, including -h and -V.  Only command_line.cpp includes CLI11, which
// takes as long to compile as everything else that a command includes.
//
// `names` is like "-q,--queue" or "--json"; `type` is the value's name in the help.  If an option is not given, its
// variable keeps its value.
class CommandLine {
 public:
  // `command` is as the user types it: "brood queues".
  CommandLine(const std::string& about, const std::string& command);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  void flag(const std::string& names, bool& into, const std::string& text);

  // If an option is given several times, the last value counts; a vector gets all of them.
  void option(const std::string& names, std::string& into, const std::string& type, const std::string& text);
  void option(const std::string& names, std::optional<std::string>& into, const std::string& type,
              const std::string& text);
  void option(const std::string& names, std::optional<std::size_t>& into, const std::string& type,
              const std::string& text);
  void option(const std::string& names, int& into, const std::string& type, const std::string& text);
  void option(const std::string& names, std::vector<std::string>& into, const std::string& type,
              const std::string& text);

  // A number from `least` to `most`.  The present value of `into` is the default, which the help shows.
  void number(const std::string& names, int& into, const std::string& text, int least, int most);
  void number(const std::string& names, std::size_t& into, const std::string& text, std::size_t least,
              std::size_t most);
  void number(const std::string& names, double& into, const std::string& text, double least, double most);

  // Options from one brood to another, which no help shows.
  void hidden(const std::string& names, std::string& into);
  void hidden(const std::string& names, std::optional<int>& into);

  void footer(const std::string& text);

  // Returns the words that are neither options nor values of options, in order and unchanged (CLI11 would take "[1,2]"
  // apart); all words after "--" too.  Throws UsageError, or Answer.
  std::vector<std::string> parse(const std::vector<std::string>& args);

  // After parse(): the long names of the options that were given, such as "--queue".
  std::vector<std::string> given() const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

// For commands that take no arguments: throws UsageError if there are any.
void refuse_arguments(const std::vector<std::string>& arguments);

// -C, else /etc/brood/brood.toml if it is readable, else none.
std::string config_path_or_default(const std::string& given);

}  // namespace brood
