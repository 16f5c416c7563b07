#include "supervisor/cli/status/look.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/identity.hpp"
#include "shared/base/paths.hpp"
#include "shared/json/json.hpp"
#include "shared/redis/tls_certificates.hpp"
#include "shared/store/report/class_runs.hpp"
#include "supervisor/cli/access/control_client.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/terminal/count_text.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_silence = 1s;

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

// The heartbeats of this machine's processes are up to ten seconds old; the scoreboards are current.
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

using Ask = std::function<RedisStatus(Connection&)>;

// Gives this connection its own certificates, so that their notes concern only this connection.
RedisAddress with_own_certificates(RedisAddress address) {
  if (address.tls && !address.certificates) try {
      address.certificates = std::make_shared<TlsCertificates>(*address.tls);
    } catch (const TlsError&) {  // the connection reports it
    }
  return address;
}

ShardReport look_at(const RedisAddress& found, Connection::Timeouts patience, const Ask& ask) {
  const RedisAddress address = with_own_certificates(found);
  ShardReport report{.name = address.shard,
                     .address = address.without_password(),
                     .redis = std::nullopt,
                     .is_drained = address.is_drained};
  try {
    Connection redis(address, patience, "brood-status");
    report.redis = ask(redis);
    if (address.certificates) report.redis->certificates = address.certificates->noted_ends()->read();
  } catch (const ConnectionLost& error) {
    report.error = error.what();
  }
  return report;
}

// Prefers the answers of supervisors: a changed configuration takes effect only after a restart.
void ask_whether_drained(StatusReport& report) {
  std::vector<std::string> drained;
  bool one_says = false;
  for (const JsonObject& supervisor : report.supervisors) {
    const auto names = supervisor.raw("draining");
    if (!names || !names->starts_with('[')) continue;
    one_says = true;
    for (const std::string& name : json_elements(*names)) drained.push_back(json_unescape(name));
  }
  if (!one_says) return;
  for (ShardReport& shard : report.shards)
    shard.is_drained = std::find(drained.begin(), drained.end(), shard.name) != drained.end();
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

}  // namespace

std::int64_t ShardReport::left() const {
  if (!redis) return 0;
  return redis->enqueued + redis->scheduled + redis->retries + redis->in_flight() + redis->quarantined +
         redis->in_sequences;
}

StatusReport look_at_machine() {
  StatusReport report;
  report.machine = read_scoreboards(runtime_directory());
  report.supervisors = ask_supervisors();
  return report;
}

namespace {

// Adds each shard's answers.
void look_at_shards(StatusReport& report, const RedisAccess& access, Connection::Timeouts patience, const Ask& ask) {
  try {
    const std::vector<RedisAddress> addresses = access.shards();
    report.address = addresses.front().without_password();
    for (const RedisAddress& address : addresses) report.shards.push_back(look_at(address, patience, ask));
    ask_whether_drained(report);
    add_up(report);
  } catch (const ConnectionLost& error) {
    report.error = error.what();
  }
  prefer_scoreboards(report);
}

}  // namespace

StatusReport look_at_everything(const RedisAccess& access, Connection::Timeouts patience) {
  StatusReport report = look_at_machine();
  look_at_shards(report, access, patience, ask_redis);
  return report;
}

StatusReport look_at_own_processes(const RedisAccess& access, Connection::Timeouts patience) {
  StatusReport report = look_at_machine();
  const std::vector<std::string> own(report.machine.identities.begin(), report.machine.identities.end());
  look_at_shards(report, access, patience, [&](Connection& redis) {
    redis.call({"PING"});
    return ask_redis_of(redis, own);
  });
  return report;
}

// The name of the teller has no pid: after a restart the same page or command continues its turn.
MetricsTeller take_turn_to_tell(ShardConnections& shards, const std::string& program, bool may_not_take) {
  const std::string name = Identity::of_this_process().hostname + " " + program;
  MetricsTeller turn = MetricsTeller::unknown;
  shards.any([&](ShardConnections::Shard& shard) {
    turn = take_turn_to_tell(shard.redis, name, may_not_take);
    return true;
  });
  return turn;
}

StatusReport look_whether_ready(const RedisAccess& access, Connection::Timeouts patience) {
  StatusReport report = look_at_machine();
  look_at_shards(report, access, patience, [](Connection& redis) {
    redis.call({"PING"});
    return RedisStatus();
  });
  return report;
}

ReadyVerdict judge_readiness(const StatusReport& report) {
  const auto say = [](const std::string& sentence, int status) { return ReadyVerdict{status, sentence}; };
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

}  // namespace brood
