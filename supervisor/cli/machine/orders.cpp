#include <fmt/format.h>

#include <string>
#include <vector>

#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/machine/supervisor_order.hpp"

namespace brood {

int quiet_command(const std::vector<std::string>& args) {
  SupervisorOrder order{.verb = "quiet"};
  CommandLine line("Stops fetching, and waits until no job runs.", "brood quiet");
  order.add_options(line);
  line.footer(order_footer);
  refuse_arguments(line.parse(args));
  return give(order, [](const JsonObject& answer) { return "quiet: no job runs any more, after " + took(answer); });
}

int resume_command(const std::vector<std::string>& args) {
  SupervisorOrder order{.verb = "resume"};
  CommandLine line("Lets the supervisor of this machine fetch jobs again after a quiet.", "brood resume");
  order.add_options(line);
  line.footer(order_footer);
  refuse_arguments(line.parse(args));
  return give(order, [](const JsonObject& answer) {
    return answer.string("before").value_or("") == "quiet" ? "running: jobs are fetched again"
                                                           : "running: it was not quiet";
  });
}

int stop_command(const std::vector<std::string>& args) {
  SupervisorOrder order{.verb = "stop"};
  bool now = false;
  CommandLine line("Stops the supervisor of this machine, and waits until it has ended.", "brood stop");
  line.flag("--now", now, "Wait for no running job: all go back to their queues");
  order.add_options(line);
  line.footer(order_footer);
  refuse_arguments(line.parse(args));
  if (now) order.arguments = {"now"};
  return give(order, [](const JsonObject& answer) { return "stopped, after " + took(answer); });
}

int restart_command(const std::vector<std::string>& args) {
  SupervisorOrder order{.verb = "restart"};
  CommandLine line("Reads configuration and job libraries again and replaces the workers one after the other.",
                   "brood restart");
  order.add_options(line);
  line.footer(restart_footer);
  refuse_arguments(line.parse(args));
  return give(order, [](const JsonObject& answer) {
    return fmt::format("restarted: {} of generation {}, after {}{}", workers_text(answer),
                       answer.integer("generation").value_or(0), took(answer), still_finishing(answer));
  });
}

int reopen_command(const std::vector<std::string>& args) {
  SupervisorOrder order{.verb = "reopen"};
  CommandLine line("Makes the supervisor of this machine reopen its log file, after log rotation.", "brood reopen");
  order.add_options(line);
  line.footer(reopen_footer);
  refuse_arguments(line.parse(args));
  return give(order, [](const JsonObject& answer) {
    const std::string file = answer.string("file").value_or("");
    return file.empty() ? "the log goes to standard error: there is no file to open" : "reopened: " + file;
  });
}

}  // namespace brood
