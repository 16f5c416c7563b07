#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/base/paths.hpp"
#include "shared/config/config_file.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/companion.hpp"
#include "supervisor/cli/status/look.hpp"
#include "supervisor/cli/status/status_report.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

constexpr Connection::Timeouts patience_of_status{.connect = std::chrono::seconds(3),
                                                  .command = std::chrono::seconds(5)};

constexpr const char* footer =
    R"(Processes, queues, totals and crashes come from Redis; workers and classes are those of this machine and user.
With Redis away the latter are still shown.

Exit status: 0; 69 Redis is not available, or (as text) no process performs its jobs: none has a
heartbeat, and none runs here.  With --check: 0 a supervisor of this machine and user runs with all its workers,
and Redis answers; 69 none runs or answers, or Redis does not; 75 it is starting, quiet or stopping.  With --alive: 0 a
supervisor of this machine and user answers, whatever Redis does; 69 none; 78 FILE is missing.)";

// The latest crash whose fingerprint begins with `fingerprint`.
const Crash& find_crash(const std::vector<Crash>& crashes, const std::string& fingerprint) {
  const auto found = std::find_if(crashes.begin(), crashes.end(),
                                  [&](const Crash& crash) { return crash.fingerprint.starts_with(fingerprint); });
  if (found == crashes.end())
    throw UsageError(fmt::format("no crash with the fingerprint \"{}\" is known", log::printable(fingerprint)));
  return *found;
}

struct ToExpose {
  StatusReport report;
  MetricsScope scope;
};

ToExpose look_for_metrics(const RedisAccess& access, const std::string& what) {
  if (what.empty() || what == "all") return {look_at_everything(access), MetricsScope::all};
  if (what == "redis") return {look_at_everything(access), MetricsScope::redis};
  if (what != "host" && what != "auto")
    throw UsageError(fmt::format("--metrics must be auto, all, host or redis, not \"{}\"", log::printable(what)));
  try {
    ShardConnections shards(access, patience_of_status, "brood-status");
    if (what == "auto" && take_turn_to_tell(shards, "status") != MetricsTeller::another)
      return {look_at_everything(access), MetricsScope::host_and_redis};
  } catch (const ConnectionLost&) {  // the report that follows shows it
  }
  return {look_at_own_processes(access, patience_of_status), MetricsScope::host};
}

// A file that is named must be there.  Its content does not matter: a mistake in it ends no supervisor that runs.
int tell_whether_alive(const RedisAccess& access) {
  if (!access.config.empty()) read_config_file(access.config);
  const std::size_t count = look_at_machine().supervisors.size();
  print(count == 0 ? "no supervisor of this user runs on this machine, or none answers\n"
                   : fmt::format("alive: {}\n", counted(count, "supervisor answers", "supervisors answer")));
  return count == 0 ? exit_status::unavailable : exit_status::ok;
}

}  // namespace

int status_command(const std::vector<std::string>& args) {
  RedisAccess access;
  bool json = false, watch = false, checks = false, alive = false;
  std::string fingerprint, interval, format, metrics;
  CommandLine line("Shows processes, queues, totals and crashes of a Redis, and the workers of this machine.",
                   "brood status");
  line.flag("--json", json, "Answer in JSON, for programs");
  line.option("--format", format, "FORMAT", "text (the default), json (as --json) or prometheus (to be scraped)");
  line.option("--metrics", metrics, "WHAT",
              "With --format prometheus: all (the default), auto, host or redis, as metrics in [web]");
  line.option("--crash", fingerprint, "FINGERPRINT",
              "Show one crash with its whole stack; a unique beginning is enough");
  line.flag("--check", checks, "Only report whether jobs are performed here, also by the exit status");
  line.flag("--alive", alive, "Only report whether a supervisor answers here; Redis is not asked");
  line.flag("--watch", watch, "Show it live on the whole terminal; ? lists the keys");
  line.option("--interval", interval, "DURATION", "Time between two updates of --watch, such as 500ms (default: 1s)");
  access.add_options(line);
  line.footer(footer);
  refuse_arguments(line.parse(args));
  if (!format.empty() && format != "text" && format != "json" && format != "prometheus")
    throw UsageError(fmt::format("--format must be text, json or prometheus, not \"{}\"", log::printable(format)));
  json |= format == "json";
  const bool prometheus = format == "prometheus";
  if (prometheus && (json || !fingerprint.empty()))
    throw UsageError("--format prometheus shows everything; leave out --json and --crash");
  if (watch && (json || !format.empty() || !fingerprint.empty()))
    throw UsageError("--watch is for people and shows everything; leave out --json, --format and --crash");
  if (checks && (watch || json || !format.empty() || !fingerprint.empty()))
    throw UsageError("--check prints one sentence; leave out --watch, --json, --format and --crash");
  if (alive && (checks || watch || json || !format.empty() || !fingerprint.empty()))
    throw UsageError("--alive prints one sentence; leave out --check, --watch, --json, --format and --crash");
  if (!metrics.empty() && !prometheus) throw UsageError("--metrics needs --format prometheus");
  if (!interval.empty() && !watch) throw UsageError("--interval needs --watch");
  if (watch) become_companion("brood-watch", "status", args);
  if (alive) return tell_whether_alive(access);

  if (prometheus) {
    const ToExpose found = look_for_metrics(access, metrics);
    print(status_prometheus(found.report, found.scope));
    return found.report.redis ? exit_status::ok : exit_status::unavailable;
  }
  const StatusReport report = look_at_everything(access);
  if (checks) {
    const ReadyVerdict readiness = judge_readiness(report);
    print(log::printable(readiness.sentence) + "\n");
    return readiness.exit_status;
  }
  const Style style = Style::of_standard_output();
  if (!fingerprint.empty()) {
    if (!report.redis) throw ConnectionLost(report.error);
    const Crash& crash = find_crash(report.redis->crashes, fingerprint);
    if (json)
      print_json(crash_json(crash));
    else
      print(crash_text(crash, style));
    return exit_status::ok;
  }
  if (json)
    print_json(status_json(report));
  else
    print(status_text(report, style));
  if (report.machine.scoreboards_left_out > 0)
    fmt::print(stderr,
               "brood status: {} files more in {} look like scoreboards and were left out; a job may have made them\n",
               report.machine.scoreboards_left_out, runtime_directory());
  if (!report.redis) return exit_status::unavailable;
  // JSON contains these facts anyway.
  const bool nobody_works = report.redis->processes.empty() && report.supervisors.empty();
  if (json || !nobody_works) return exit_status::ok;
  fmt::print(stderr,
             "brood status: no process performs jobs of this Redis: none has a heartbeat, and none runs here\n");
  return exit_status::unavailable;
}

}  // namespace brood
