#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/paths.hpp"
#include "shared/base/units.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/redis/connection.hpp"
#include "supervisor/cli/access/control_client.hpp"
#include "supervisor/cli/access/fleet.hpp"
#include "supervisor/cli/access/machine_status.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

// The longest time between two lines of the answer: the worker first gets its grace.
constexpr auto longest_silence = 30s;
constexpr std::size_t shortest_beginning = 4, usual_length = 24;  // of an id
constexpr std::array outcomes = {"retry", "dead", "discard"};

constexpr auto longest_look = 15s;  // for a job on another machine, whose supervisor reads orders every two seconds

constexpr const char* kill_footer =
    R"(The worker of the job is ended, and the job is not charged with a crash.  If the job has ended meanwhile, nothing
happens: the worker's next job is never hit.  A unique beginning of the id, of four characters or more, is enough.

A job that no worker of this machine and user runs is searched in Redis.  Its supervisor is ordered through Redis, and
follows within some seconds.

Exit status: 0 the job was ended, or has left the supervisor that was asked; 69 a supervisor does not answer, or none runs
here and Redis is not available; 75 the job does not run now, or it still runs.)";

struct Kill {
  RedisAccess redis;
  std::string jid, outcome = "retry";
  bool json = false;
};

Kill parse_kill(const std::vector<std::string>& args) {
  Kill kill;
  CommandLine line("Ends one running job: brood kill JID [OPTIONS]", "brood kill");
  line.option("--outcome", kill.outcome, "WHAT", "Outcome of the job: retry (the default), dead or discard");
  line.flag("--json", kill.json, "Answer in JSON");
  kill.redis.add_options(line);
  line.footer(kill_footer);
  const std::vector<std::string> words = line.parse(args);
  if (words.empty()) throw UsageError("the id of the job is missing");
  if (words.size() > 1) refuse_arguments({words[1]});
  if (std::find(outcomes.begin(), outcomes.end(), kill.outcome) == outcomes.end())
    throw UsageError(fmt::format("--outcome must be retry, dead or discard, not \"{}\"", log::printable(kill.outcome)));
  kill.jid = words[0];
  return kill;
}

// The id that a word means: the word itself, unless the id of exactly one running job begins with it.  Only ids of the
// usual length may be shortened: "job1", once its job has ended, must not hit "job10".
std::string id_meant(const std::string& word) {
  std::set<std::string> begun;
  for (const WorkerStatus& worker : read_scoreboards(runtime_directory()).workers) {
    if (worker.jid == word) return word;
    if (worker.jid.size() == usual_length && worker.jid.starts_with(word)) begun.insert(worker.jid);
  }
  if (word.size() < shortest_beginning || begun.empty()) return word;
  if (begun.size() == 1) return *begun.begin();
  std::string ids;
  for (const std::string& jid : begun) ids += (ids.empty() ? "" : ", ") + log::printable(jid);
  throw UsageError(fmt::format("\"{}\" may be any of {}", log::printable(word), ids));
}

std::string what_becomes_of_it(const std::string& outcome, bool settled) {
  if (!settled) return fmt::format("Redis does not answer; once it does: {}", outcome);
  if (outcome == "retry") return "it will be retried";
  return outcome == "dead" ? "it is in the dead set" : "it is discarded";
}

std::string ended_text(const Kill& kill, const JsonObject& ended) {
  const auto ran = std::chrono::milliseconds(static_cast<std::int64_t>(ended.number("age").value_or(0) * 1000));
  return fmt::format("ended {} {} of worker {}, pid {}, after {}: {}\n",
                     log::printable(ended.string("class").value_or("")), log::printable(kill.jid),
                     ended.integer("slot").value_or(-1), ended.integer("pid").value_or(0), duration_text(ran),
                     what_becomes_of_it(kill.outcome, ended.raw("settled").value_or("true") != "false"));
}

// nullopt if no supervisor of this machine and user runs it.
std::optional<int> kill_here(const Kill& kill, const std::vector<LocalSupervisor>& supervisors) {
  const auto progress = [](const std::string& sentence) { fmt::print(stderr, "{}\n", log::printable(sentence)); };
  bool all_answered = true;
  for (const LocalSupervisor& supervisor : supervisors) {
    std::string trouble;
    try {
      const ControlAnswer answer = ask(supervisor, "kill", {kill.jid, kill.outcome}, longest_silence, progress);
      if (answer.ok && answer.text == "null") continue;  // it does not run there
      if (answer.ok) {
        const JsonObject ended = JsonObject::parse(answer.text);
        if (kill.json)
          print_json(ended.text() + "\n");
        else
          print(ended_text(kill, ended));
        return exit_status::ok;
      }
      trouble = answer.text;
    } catch (const NoAnswer& none) {
      trouble = none.what();
    } catch (const BadJson& bad) {
      trouble = bad.what();
    }
    all_answered = false;
    fmt::print(stderr, "brood kill: supervisor {}: {}\n", supervisor.pid, log::printable(trouble));
  }
  return all_answered ? std::nullopt : std::optional(exit_status::unavailable);
}

// The job runs on another machine, or here as another user.
int kill_there(const Kill& kill, Connection& redis, const RunningElsewhere& there) {
  if (!send_word(redis, there.identity, {"kill", {there.jid, kill.outcome}}))
    throw ConnectionLost(fmt::format("{} accepts no orders any more", there.identity));
  fmt::print(stderr, "ordered {} to end it\n", log::printable(there.identity));
  bool runs = true;
  for (const SteadyTime end = steady_now() + longest_look; runs && steady_now() < end;) {
    std::this_thread::sleep_for(100ms);
    const std::vector<RunningElsewhere> now = who_runs(redis, there.jid);
    runs = std::any_of(now.begin(), now.end(),
                       [&](const RunningElsewhere& one) { return one.identity == there.identity; });
  }
  if (kill.json)
    print_json(JsonWriter()
                   .text("jid", there.jid)
                   .text("class", there.job_class)
                   .text("identity", there.identity)
                   .text("outcome", kill.outcome)
                   .truth("runs", runs)
                   .object() +
               "\n");
  if (runs) {
    fmt::print(stderr, "brood kill: {} still runs there\n", log::printable(there.jid));
    return exit_status::try_again;
  }
  if (!kill.json)
    print(
        fmt::format("{} {} does not run there any more\n", log::printable(there.job_class), log::printable(there.jid)));
  return exit_status::ok;
}

std::optional<int> kill_elsewhere(const Kill& kill) {
  ShardConnections shards(kill.redis, {.connect = 3s, .command = 5s}, "brood-kill");
  std::vector<RunningElsewhere> found;
  ShardConnections::Shard* its_shard = nullptr;
  shards.each([&](ShardConnections::Shard& shard) {
    for (RunningElsewhere& one : who_runs(shard.redis, kill.jid)) {
      found.push_back(std::move(one));
      its_shard = &shard;
    }
  });
  if (found.empty()) return std::nullopt;
  if (found.size() > 1) {
    std::vector<std::string> ids;
    for (const RunningElsewhere& one : found) ids.push_back(one.jid + " of " + one.identity);
    throw UsageError(fmt::format("\"{}\" may be any of {}", log::printable(kill.jid), fmt::join(ids, ", ")));
  }
  return kill_there(kill, its_shard->redis, found.front());
}

}  // namespace

int kill_command(const std::vector<std::string>& args) {
  Kill kill = parse_kill(args);
  kill.jid = id_meant(kill.jid);
  const auto supervisors = local_supervisors(runtime_directory());
  if (const auto status = kill_here(kill, supervisors)) return *status;
  std::string no_redis;
  try {
    if (const auto status = kill_elsewhere(kill)) return *status;
  } catch (const ConnectionLost& lost) {
    no_redis = fmt::format("; other machines are not known, since Redis does not answer: {}", lost.what());
  }
  if (kill.json) print("null\n");
  if (supervisors.empty() && !no_redis.empty()) {
    fmt::print(stderr, "brood kill: no supervisor of this user runs on this machine{}\n", log::printable(no_redis));
    return exit_status::unavailable;
  }
  fmt::print(stderr, "brood kill: no worker of this machine{} runs a job {} now{}\n",
             no_redis.empty() ? ", or of another," : "", log::printable(kill.jid), log::printable(no_redis));
  return exit_status::try_again;
}

}  // namespace brood
