#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/base/units.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/fleet/restart_fleet.hpp"
#include "supervisor/cli/machine/supervisor_order.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto shortest_timeout = 1s;

const std::set<std::string> over_redis_alone = {"--redis", "--shard", "--loaded-before", "--timeout", "--dry-run"};

constexpr const char* fleet_footer =
    R"(

With --all or --process each supervisor reads the files of its own machine: install them on all machines first.  The
command stops at the first that fails.  Exit status 75 also: one has not carried out the order in time or has ended, one
was left out since it is quiet or older than this command, or another command restarts the fleet now.)";

}  // namespace

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
  FleetRestart fleet;
  bool all = false;
  std::string loaded_before, timeout;
  CommandLine line("Reads configuration and job libraries again and replaces the workers one after the other.",
                   "brood restart");
  line.flag("--all", all, "All supervisors on all machines, one after the other, through Redis");
  line.option("--process", fleet.process, "IDENTITY",
              "Those on any machine whose identity begins so, such as HOST: or HOST:PID, likewise");
  line.option("--loaded-before", loaded_before, "TIME",
              "With --all or --process: those alone that have loaded their libraries before, ISO 8601");
  line.option("--timeout", timeout, "DURATION", "Likewise: how long each may take (default: 15m)");
  line.flag("--dry-run", fleet.dry_run, "Likewise: show them, and restart none");
  order.add_options_but_config(line);
  fleet.redis.add_options(line);
  line.footer(std::string(restart_footer) + fleet_footer);
  refuse_arguments(line.parse(args));
  if (all && !fleet.process.empty()) throw UsageError("--all and --process exclude each other");
  if (all || !fleet.process.empty()) {
    if (order.pid != 0 || !order.instance.empty()) throw UsageError("--pid and --instance exclude --all and --process");
    if (!loaded_before.empty()) {
      fleet.loaded_before = parse_iso_time(loaded_before);
      if (!fleet.loaded_before)
        throw UsageError(fmt::format("--loaded-before must be a time such as \"2026-12-01T08:00:00Z\", not \"{}\"",
                                     log::printable(loaded_before)));
    }
    if (!timeout.empty()) {
      const auto time = parse_duration(timeout);
      if (!time || *time < shortest_timeout)
        throw UsageError(fmt::format("--timeout must be a time of a second or more, such as 5m, not \"{}\"",
                                     log::printable(timeout)));
      fleet.timeout = *time;
    }
    fleet.json = order.json;
    return restart_fleet(fleet);
  }
  for (const std::string& option : line.given()) {
    if (over_redis_alone.contains(option)) throw UsageError(option + " needs --all or --process");
  }
  order.config = fleet.redis.config;
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
