#include <string>
#include <vector>

#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/machine/supervisor_order.hpp"

namespace brood {

int reopen_command(const std::vector<std::string>& args) {
  SupervisorOrder order{.verb = "reopen"};
  CommandLine line("Has the supervisor of this machine open the file of its log anew, after log rotation.",
                   "brood reopen");
  order.add_options(line);
  line.footer(reopen_footer);
  refuse_arguments(line.parse(args));
  return give(order, [](const JsonObject& answer) {
    const std::string file = answer.string("file").value_or("");
    return file.empty() ? "the log goes to standard error: there is no file to open" : "reopened: " + file;
  });
}

}  // namespace brood
