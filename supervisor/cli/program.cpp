#include "supervisor/cli/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <brood/client.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <exception>

#include "shared/base/log.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/paths.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis/reply.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/companion.hpp"
#include "supervisor/cli/terminal/terminal.hpp"
#include "supervisor/process/own_words.hpp"
#include "supervisor/upgrade/way_back.hpp"

namespace brood {
namespace {

// If one of the descriptors 0 to 2 is closed, the next file or socket that is opened gets its number, and a print would
// write into it, which may be the connection to Redis.
void open_missing_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", O_RDWR) != fd) _exit(exit_status::internal);
  }
}

// An exec keeps ignored and blocked signals.  If SIGCHLD is ignored, the kernel reaps children itself, and we never
// learn how a worker ended.  Other ignored signals stay ignored, as nohup(1) needs.  A program that hands over to us
// leaves signals blocked: they are received later.
void drop_signals_of_the_starter() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);
  const std::vector<std::string>& words = own_words();
  if (std::find(words.begin(), words.end(), way_back::adopt) != words.end()) return;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

int run_or_answer(const std::function<int()>& command) {
  try {
    return command();
  } catch (const Answer& answer) {
    print(answer.text);
    return exit_status::ok;
  }
}

}  // namespace

void begin_program(int argc, char** argv) {
  take_own_words(argc, argv);
  open_missing_standard_descriptors();
  drop_signals_of_the_starter();
  working_directory::remember();
}

Ending run_to_ending(const std::function<int()>& command) {
  try {
    return {run_or_answer(command), std::nullopt};
  } catch (const UsageError& error) {
    return {exit_status::usage, error.what()};
  } catch (const ConfigError& error) {
    return {exit_status::configuration, error.what()};
  } catch (const AddressError& error) {
    return {exit_status::configuration, error.what()};
  } catch (const ConnectionLost& error) {
    return {exit_status::unavailable, fmt::format("Redis is not available: {}", error.what())};
  } catch (const UnexpectedReply& reply) {  // a key of the wrong type, for example
    return {exit_status::unavailable, fmt::format("Redis answered: {}", reply.what())};
  } catch (const RedisError& error) {
    return {exit_status::unavailable, error.what()};
  } catch (const CompanionMissing& error) {
    return {exit_status::unavailable, error.what()};
  } catch (const OutputClosed&) {
    return {exit_status::ok, std::nullopt};
  } catch (const std::exception& error) {
    return {exit_status::internal, error.what()};
  }
}

int tell(const std::string& name, const Ending& ending) {
  if (!ending.complaint) return ending.status;
  // The journal would file a line without a priority as information.
  fmt::print(stderr, "{}{}: {}\n", log::standard_error_is_the_journal() ? "<3>" : "", name,
             log::printable(*ending.complaint));
  if (ending.status == exit_status::usage) fmt::print(stderr, "Try \"{} --help\".\n", name);
  return ending.status;
}

int companion_main(int argc, char** argv, const std::string& command,
                   int (*run)(const std::vector<std::string>& args)) {
  begin_program(argc, argv);
  const std::vector<std::string>& words = own_words();
  const std::size_t named = words.size() > 1 && words[1] == command ? 2 : 1;  // else started directly
  const auto skipped = static_cast<std::ptrdiff_t>(std::min(named, words.size()));
  const std::vector<std::string> args(words.begin() + skipped, words.end());
  return tell("brood " + command, run_to_ending([&] { return run(args); }));
}

}  // namespace brood
