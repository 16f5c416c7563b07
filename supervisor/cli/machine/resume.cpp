#include <string>
#include <vector>

#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/machine/supervisor_order.hpp"

namespace brood {

int resume_command(const std::vector<std::string>& args) {
  SupervisorOrder order{.verb = "resume"};
  CommandLine line("Has the supervisor of this machine, after a quiet, fetch jobs again.", "brood resume");
  order.add_options(line);
  line.footer(order_footer);
  refuse_arguments(line.parse(args));
  return give(order, [](const JsonObject& answer) {
    return answer.string("before").value_or("") == "quiet" ? "running: jobs are fetched again"
                                                           : "running: it was not quiet";
  });
}

}  // namespace brood
