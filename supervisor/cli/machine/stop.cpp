#include <string>
#include <vector>

#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/machine/supervisor_order.hpp"

namespace brood {

int stop_command(const std::vector<std::string>& args) {
  SupervisorOrder order{.verb = "stop"};
  bool now = false;
  CommandLine line("Stops the supervisor of this machine, and waits until it is gone.", "brood stop");
  line.flag("--now", now, "Wait for no running job: all go back to their queues");
  order.add_options(line);
  line.footer(order_footer);
  refuse_arguments(line.parse(args));
  if (now) order.arguments = {"now"};
  return give(order, [](const JsonObject& answer) { return "stopped, after " + took(answer); });
}

}  // namespace brood
