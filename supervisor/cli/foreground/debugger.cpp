#include "supervisor/cli/foreground/debugger.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>

#include "shared/base/log_line.hpp"
#include "shared/config/executable.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/process/own_words.hpp"

namespace brood {
namespace {

// Job libraries are loaded late: a breakpoint in one is unknown when it is set.
constexpr const char* gdb_command = "gdb -q -ex 'set breakpoint pending on' --args";
// Memory that is still held at the end is no failure; an error that valgrind finds is one.
constexpr const char* valgrind_command =
    "valgrind --error-exitcode=70 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=none";

// Checks only if the first word is a plain name; the shell handles anything else.
void require_installed(const std::string& command) {
  const std::string word = command.substr(0, command.find_first_of(" \t"));
  if (word.empty()) throw UsageError("--debugger needs a command");
  if (word.find_first_of("'\"\\$=(){};&|<>~`*?") != std::string::npos) return;
  if (access(executable_path(word).c_str(), X_OK) == 0) return;
  throw UsageError(fmt::format("{} is not installed{}", log::printable(word),
                               word == "gdb" || word == "valgrind" ? "; on Debian: apt-get install " + word : ""));
}

}  // namespace

void Debugger::add_options(CommandLine& line) {
  line.flag("--gdb", gdb, "Under gdb, which waits for \"run\"");
  line.flag("--valgrind", valgrind, "Under valgrind, whose findings end it with 70");
  line.option("--debugger", command, "COMMAND", "Under this command, such as \"gdb -batch -ex run -ex bt --args\"");
}

std::vector<std::string> without_debugger(const std::vector<std::string>& args) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--") {
      kept.insert(kept.end(), args.begin() + static_cast<std::ptrdiff_t>(i), args.end());
      break;
    }
    if (args[i] == "--gdb" || args[i] == "--valgrind" || args[i].starts_with("--debugger=")) continue;
    if (args[i] == "--debugger") {
      ++i;
      continue;
    }
    kept.push_back(args[i]);
  }
  return kept;
}

void Debugger::execute(const std::string& command_name, const std::vector<std::string>& args, bool with_timeout) const {
  if (gdb + valgrind + command.has_value() > 1) throw UsageError("--gdb, --valgrind and --debugger exclude each other");
  const std::string shell_command = command ? *command : gdb ? gdb_command : valgrind_command;
  require_installed(shell_command);

  std::vector<std::string> words = {
      "sh",        "-c", "exec " + shell_command + " \"$@\"", "sh", std::filesystem::read_symlink("/proc/self/exe"),
      command_name};
  if (!with_timeout) words.insert(words.end(), {"--timeout", "0"});
  const std::vector<std::string> rest = without_debugger(args);
  words.insert(words.end(), rest.begin(), rest.end());
  const HiddenAddress hidden(words);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  signal(SIGPIPE, SIG_DFL);
  execv("/bin/sh", pointers.data());
  throw std::system_error(errno, std::generic_category(), "execution of /bin/sh");
}

}  // namespace brood
