#include <fmt/format.h>

#include <algorithm>

#include "shared/base/log_line.hpp"
#include "shared/base/paths.hpp"
#include "supervisor/cli/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/companion.hpp"
#include "supervisor/cli/control_client.hpp"
#include "supervisor/cli/count_text.hpp"
#include "supervisor/cli/redis_access.hpp"
#include "supervisor/cli/status/status_report.hpp"
#include "supervisor/cli/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_silence = 1s;

constexpr const char* footer =
    R"(Processes, queues, totals and crashes come from Redis; workers and classes are those of this machine and user.
With Redis away the latter are still shown.

Exit status: 0; 69 Redis is not available, or, where no other format is asked for, nobody performs jobs of it: no process
of any machine beats, and none runs here.  With --check: 0 a supervisor of this machine and user runs with all its workers,
and Redis answers; 69 none runs or answers, or Redis does not; 75 it is starting, quiet or stopping.)";

// A supervisor that does not answer at once is left out: the scoreboard shows what its workers do.
std::vector<JsonObject> ask_supervisors() {
  std::vector<JsonObject> answers;
  for (const LocalSupervisor& supervisor : local_supervisors(runtime_directory())) {
    try {
      const ControlAnswer answer = ask(supervisor, "status", {}, longest_silence);
      if (answer.ok) answers.push_back(JsonObject::parse(answer.text));
    } catch (const NoAnswer&) {
    } catch (const BadJson&) {
    }
  }
  return answers;
}

// What a heartbeat says of this machine's processes is up to ten seconds old; the scoreboards say it now.
void prefer_scoreboards(StatusReport& report) {
  if (!report.redis) return;
  for (ProcessStatus& process : report.redis->processes) {
    if (!report.machine.counters.contains(process.identity)) continue;
    process.oldest_in_flight = std::nullopt;
    for (const WorkerStatus& worker : report.machine.workers) {
      if (worker.identity == process.identity && worker.state == "busy")
        process.oldest_in_flight = std::max(process.oldest_in_flight.value_or(0), worker.age);
    }
  }
}

ShardReport look_at(const RedisAddress& address) {
  ShardReport report{.name = address.shard, .address = address.without_password(), .redis = std::nullopt};
  try {
    Connection redis(address, {.connect = 3s, .command = 5s}, "brood-status");
    report.redis = ask_redis(redis);
  } catch (const ConnectionLost& error) {
    report.error = error.what();
  }
  return report;
}

void add_up(StatusReport& report) {
  if (report.shards.size() == 1) {
    report.redis = std::move(report.shards.front().redis);
    report.error = std::move(report.shards.front().error);
    report.shards.clear();
    return;
  }
  std::vector<RedisStatus> answers;
  for (ShardReport& shard : report.shards) {
    if (!shard.redis) {
      if (report.error.empty()) report.error = "shard " + shard.name + ": " + shard.error;
      continue;
    }
    for (ProcessStatus& process : shard.redis->processes) process.shards = {shard.name};
    answers.push_back(*shard.redis);
  }
  if (!answers.empty()) report.redis = sum_of(answers);
}

StatusReport look(const RedisAccess& access) {
  StatusReport report;
  report.machine = read_scoreboards(runtime_directory());
  report.supervisors = ask_supervisors();
  try {
    const std::vector<RedisAddress> addresses = access.shards();
    report.address = addresses.front().without_password();
    for (const RedisAddress& address : addresses) report.shards.push_back(look_at(address));
    add_up(report);
  } catch (const ConnectionLost& error) {
    report.error = error.what();
  }
  prefer_scoreboards(report);
  return report;
}

// Prints in one sentence whether jobs are performed here, and returns that as an exit status.
int check(const StatusReport& report) {
  const auto say = [](const std::string& sentence, int status) {
    print(log::printable(sentence) + "\n");
    return status;
  };
  if (report.supervisors.empty())
    return say("no supervisor of this user runs on this machine, or none answers", exit_status::unavailable);
  if (!report.redis) return say("Redis is not available: " + report.error, exit_status::unavailable);
  std::int64_t ready = 0;
  for (const JsonObject& supervisor : report.supervisors) {
    const std::string phase = supervisor.string("phase").value_or("");
    const std::int64_t pid = supervisor.integer("pid").value_or(0), here = supervisor.integer("ready").value_or(0),
                       wanted = supervisor.integer("concurrency").value_or(0);
    if (phase != "running") return say(fmt::format("supervisor {} is {}", pid, phase), exit_status::try_again);
    if (here < wanted)
      return say(fmt::format("supervisor {}: {} of {} workers are ready", pid, here, wanted), exit_status::try_again);
    ready += here;
  }
  return say(fmt::format("running: {} ready", counted(static_cast<std::uint64_t>(ready), "worker is", "workers are")),
             exit_status::ok);
}

// The latest crash whose fingerprint begins with `fingerprint`.
const Crash& find_crash(const std::vector<Crash>& crashes, const std::string& fingerprint) {
  const auto found = std::find_if(crashes.begin(), crashes.end(),
                                  [&](const Crash& crash) { return crash.fingerprint.starts_with(fingerprint); });
  if (found == crashes.end())
    throw UsageError(fmt::format("no crash with the fingerprint \"{}\" is known", log::printable(fingerprint)));
  return *found;
}

}  // namespace

int status_command(const std::vector<std::string>& args) {
  RedisAccess access;
  bool json = false, watch = false, checks = false;
  std::string fingerprint, interval, format;
  CommandLine line("Shows processes, queues, totals and crashes of a Redis, and the workers of this machine.",
                   "brood status");
  line.flag("--json", json, "Answer in JSON, for programs");
  line.option("--format", format, "FORMAT", "text (the default), json (as --json) or prometheus (to be scraped)");
  line.option("--crash", fingerprint, "FINGERPRINT", "Show one crash with its whole stack; the start of it will do");
  line.flag("--check", checks, "Only say whether jobs are performed here; the exit status tells, for scripts");
  line.flag("--watch", watch, "Show it on the whole terminal, and how it changes; ? lists the keys");
  line.option("--interval", interval, "DURATION", "Between two looks of --watch, such as 500ms (default: 1s)");
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
    throw UsageError("--check says one sentence; leave out --watch, --json, --format and --crash");
  if (!interval.empty() && !watch) throw UsageError("--interval is of --watch");
  if (watch) become_companion("brood-watch", "status", args);

  const StatusReport report = look(access);
  if (checks) return check(report);
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
    print(prometheus ? status_prometheus(report) : status_text(report, style));
  if (!report.redis) return exit_status::unavailable;
  // JSON and Prometheus's format say it themselves.
  const bool nobody_works = report.redis->processes.empty() && report.supervisors.empty();
  if (json || prometheus || !nobody_works) return exit_status::ok;
  fmt::print(stderr, "brood status: nobody performs jobs of this Redis: no process beats, and none runs here\n");
  return exit_status::unavailable;
}

}  // namespace brood
