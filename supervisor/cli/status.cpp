#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "shared/log_line.hpp"
#include "shared/paths.hpp"
#include "supervisor/cli/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/control_client.hpp"
#include "supervisor/cli/redis_access.hpp"
#include "supervisor/cli/status_report.hpp"
#include "supervisor/cli/terminal.hpp"
#include "supervisor/cli/watch/watch.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_silence = 1s;

constexpr const char* footer =
    R"(Processes, queues, totals and crashes come from Redis; workers and classes are those of this machine and user.
With Redis away the latter are still shown, and the exit status is 69.)";

// One that does not answer at once is left out: what its workers do is known without it.
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

StatusReport look(const RedisAccess& access) {
  StatusReport report;
  report.machine = read_scoreboards(runtime_directory());
  report.supervisors = ask_supervisors();
  try {
    const RedisAddress address = access.locate();
    report.address = address.without_password();
    Connection redis(address, {.connect = 3s, .command = 5s}, "brood-status");
    report.redis = ask_redis(redis);
  } catch (const ConnectionLost& error) {
    report.error = error.what();
  }
  return report;
}

// The latest whose fingerprint begins so.
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
  bool json = false, watch = false;
  std::string fingerprint, interval;
  CLI::App app("Shows processes, queues, totals and crashes of a Redis, and the workers of this machine.",
               "brood status");
  app.add_flag("--json", json, "Answer in JSON, for programs");
  app.add_option("--crash", fingerprint, "Show one crash with its whole stack; the start of it will do")
      ->type_name("FINGERPRINT");
  app.add_flag("--watch", watch, "Show it on the whole terminal, and how it changes; ? lists the keys");
  app.add_option("--interval", interval, "Between two looks of --watch, such as 500ms (default: 1s)")
      ->type_name("DURATION");
  access.add_options(app);
  app.footer(footer);
  refuse_arguments(parse_arguments(app, args));
  if (watch && (json || !fingerprint.empty()))
    throw UsageError("--watch is for people and shows everything; leave out --json and --crash");
  if (!interval.empty() && !watch) throw UsageError("--interval is of --watch");
  if (watch) return watch_status(access, interval.empty() ? default_watch_interval : interval);

  const StatusReport report = look(access);
  const Style style = Style::of_standard_output();
  if (!fingerprint.empty()) {
    if (!report.redis) throw ConnectionLost(report.error);
    const Crash& crash = find_crash(report.redis->crashes, fingerprint);
    print(json ? crash_json(crash) : crash_text(crash, style));
    return exit_status::ok;
  }
  print(json ? status_json(report) : status_text(report, style));
  return report.redis ? exit_status::ok : exit_status::unavailable;
}

}  // namespace brood
