#include <fmt/format.h>

#include <string>
#include <thread>
#include <vector>

#include "shared/base/clock.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/machine/supervisor_order.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

// The supervisor's message before the new program begins; then its connections end.
constexpr std::string_view words_before_its_successor = "handing over";

ControlAnswer ask_the_successor(const SupervisorOrder& order, const std::function<void(const std::string&)>& progress) {
  const SteadyTime deadline = steady_now() + longest_exit;
  for (;;) {
    try {
      const auto successor = find_supervisor(order);
      if (successor) return ask(*successor, "await_restart", {}, longest_silence, progress);
      if (steady_now() >= deadline) throw NoAnswer("the new program has not taken over");
    } catch (const NoAnswer&) {
      if (steady_now() >= deadline) throw;
    }
    std::this_thread::sleep_for(10ms);
  }
}

}  // namespace

int upgrade_command(const std::vector<std::string>& args) {
  SupervisorOrder order{.verb = "upgrade"};
  CommandLine line(
      "Lets the installed program take over from the running supervisor, in the same process, and then replaces the "
      "workers one after the other.",
      "brood upgrade");
  order.add_options(line);
  line.footer(restart_footer);
  refuse_arguments(line.parse(args));
  const Ask ask_both = [](const LocalSupervisor& supervisor, const SupervisorOrder& wish,
                          const std::function<void(const std::string&)>& progress) {
    bool handed_over = false;
    try {
      return ask(supervisor, wish.verb, wish.arguments, longest_silence, [&](const std::string& sentence) {
        handed_over = sentence == words_before_its_successor;
        progress(sentence);
      });
    } catch (const NoAnswer&) {
      if (!handed_over) throw;
    }
    return ask_the_successor(wish, progress);
  };
  return give(
      order,
      [](const JsonObject& answer) {
        return fmt::format("upgraded: {} of generation {}, after {}{}", workers_text(answer),
                           answer.integer("generation").value_or(0), took(answer), still_finishing(answer));
      },
      ask_both);
}

}  // namespace brood
