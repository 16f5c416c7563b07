#include <fmt/format.h>

#include <string>
#include <vector>

#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/machine/supervisor_order.hpp"

namespace brood {

int restart_command(const std::vector<std::string>& args) {
  SupervisorOrder order{.verb = "restart"};
  CommandLine line("Reads configuration and job libraries anew and replaces the workers one after the other.",
                   "brood restart");
  order.add_options(line);
  line.footer(restart_footer);
  refuse_arguments(line.parse(args));
  return give(order, [](const JsonObject& answer) {
    return fmt::format("restarted: {} of generation {}, after {}{}", workers_text(answer),
                       answer.integer("generation").value_or(0), took(answer), still_finishing(answer));
  });
}

}  // namespace brood
