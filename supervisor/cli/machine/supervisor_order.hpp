#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "shared/json/json_object.hpp"
#include "supervisor/cli/command_line.hpp"
#include "supervisor/cli/control_client.hpp"

namespace brood {

// An order of quiet, resume, stop, restart, upgrade or scale to the supervisor of this machine, which is waited for.
struct SupervisorOrder {
  std::string verb;
  std::vector<std::string> arguments = {};
  bool json = false;
  pid_t pid = 0;  // of the one that is meant; 0: the only one
  std::string instance = {};

  void add_options(CommandLine& line);
};

// The exit statuses of these commands, for their help.
extern const char* const order_footer;
extern const char* const restart_footer;

// The one that is meant; nullopt: none runs here.  Throws UsageError when several might be.
std::optional<LocalSupervisor> find_supervisor(const SupervisorOrder& order);

// How long a supervisor may say nothing: every ten seconds it says what it waits for.
constexpr std::chrono::seconds longest_silence{60};
// How long it may take after its last word to be gone, or its successor to be there.
constexpr std::chrono::seconds longest_exit{10};

// How it is asked; `progress` is told what it waits for.
using Ask = std::function<ControlAnswer(const LocalSupervisor&, const SupervisorOrder&,
                                        const std::function<void(const std::string&)>& progress)>;
ControlAnswer ask_once(const LocalSupervisor& supervisor, const SupervisorOrder& order,
                       const std::function<void(const std::string&)>& progress);

// Gives the order, waits, and prints what came of it; `done` makes a sentence of the answer.  Returns the exit status.
int give(const SupervisorOrder& order, const std::function<std::string(const JsonObject&)>& done,
         const Ask& ask = ask_once);

// Parts of such sentences.
std::string took(const JsonObject& answer);
std::string still_finishing(const JsonObject& answer);
std::string workers_text(const JsonObject& answer);

}  // namespace brood
