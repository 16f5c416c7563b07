#include <string>
#include <vector>

#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/machine/supervisor_order.hpp"

namespace brood {

int quiet_command(const std::vector<std::string>& args) {
  SupervisorOrder order{.verb = "quiet"};
  CommandLine line("Has the supervisor of this machine fetch no more jobs, and waits until none runs.", "brood quiet");
  order.add_options(line);
  line.footer(order_footer);
  refuse_arguments(line.parse(args));
  return give(order, [](const JsonObject& answer) { return "quiet: no job runs any more, after " + took(answer); });
}

}  // namespace brood
