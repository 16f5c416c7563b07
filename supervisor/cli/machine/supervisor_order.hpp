#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "shared/json/json_object.hpp"
#include "supervisor/cli/access/control_client.hpp"
#include "supervisor/cli/arguments/command_line.hpp"

namespace brood {

// An order (quiet, resume, stop, restart, upgrade, scale or reopen) to a supervisor of this machine; the command waits
// until it is done.
struct SupervisorOrder {
  std::string verb;
  std::vector<std::string> arguments = {};
  bool json = false;
  pid_t pid = 0;  // of the chosen supervisor; 0: the only one
  std::string instance = {};
  std::string config = {};  // the configuration file that it was started with

  void add_options(CommandLine& line);
  void add_options_but_config(CommandLine& line);  // for commands in which -C has another meaning
};

// The exit statuses of these commands, for their help.
extern const char* const order_footer;
extern const char* const restart_footer;
extern const char* const reopen_footer;

// The chosen supervisor; nullopt if none runs here.  Throws UsageError if several could be meant.
std::optional<LocalSupervisor> find_supervisor(const SupervisorOrder& order);

// How long a supervisor may be silent; usually it reports every ten seconds what it is waiting for.
constexpr std::chrono::seconds longest_silence{60};
// How long it may take from the supervisor's last message until it is gone, or its successor is there.
constexpr std::chrono::seconds longest_exit{10};

// How to ask the supervisor; `progress` is called with its progress reports.
using Ask = std::function<ControlAnswer(const LocalSupervisor&, const SupervisorOrder&,
                                        const std::function<void(const std::string&)>& progress)>;
ControlAnswer ask_once(const LocalSupervisor& supervisor, const SupervisorOrder& order,
                       const std::function<void(const std::string&)>& progress);

// Gives the order, waits, and prints the result; `done` makes a sentence of the answer.  Returns the exit status.
int give(const SupervisorOrder& order, const std::function<std::string(const JsonObject&)>& done,
         const Ask& ask = ask_once);

// Parts of those sentences.
std::string took(const JsonObject& answer);
std::string still_finishing(const JsonObject& answer);
std::string workers_text(const JsonObject& answer);

}  // namespace brood
