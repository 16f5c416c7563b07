#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "shared/base/identity.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/paths.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/base/units.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/store/in_flight/census.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/arguments/confirmation.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/terminal/terminal.hpp"
#include "supervisor/recovery/liveness.hpp"
#include "supervisor/recovery/workers_left.hpp"
#include "worker/recovery/charge_and_return_jobs.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

// A living supervisor sends a heartbeat every ten seconds.
constexpr auto usual_wait = 15s;
// By then each living supervisor has reconnected to a restarted Redis.
constexpr auto youth_of_redis = 60s;

constexpr const char* recover_footer =
    R"(A running supervisor does this by itself: at once for the dead of its own machine, two minutes after their last
heartbeat for those of another.  Use this if none runs.  "brood status --json" shows each IDENTITY; a unique
beginning is enough.

No job is charged.  A living supervisor is never touched.  On this machine the processes themselves are checked.  On
another one only the heartbeat is seen: a supervisor without one may be cut off from Redis and still at work, and its
running job would run twice.  So --all watches those for 15 seconds first, and by naming one you confirm that it is dead.

Exit status: 0 all is given back; 69 Redis is not available; 75 a supervisor is not yet dead, or was refused.)";

struct RecoverOptions {
  RedisAccess redis;
  std::vector<std::string> names;
  bool all = false, dry_run = false, yes = false, json = false;
  std::optional<std::chrono::milliseconds> wait;
};

// One supervisor, and the result of its recovery.
struct Candidate {
  InFlightHolder holder;
  ShardConnections::Shard* shard = nullptr;  // where it holds jobs
  Liveness liveness = Liveness::lives;
  std::string scoreboard = {};  // of a dead supervisor of this host, if it is readable
  std::vector<WorkerDeath> known = {};
  bool recovered = false;
  RecoveryResult result = {};
  std::string trouble = {};

  bool can_be_recovered() const { return liveness == Liveness::dead || liveness == Liveness::silent; }
};

RecoverOptions parse_recover(const std::vector<std::string>& args) {
  RecoverOptions options;
  std::string wait;
  CommandLine line("Returns the jobs in flight of dead supervisors: brood recover IDENTITY...|--all [OPTIONS]",
                   "brood recover");
  line.flag("--all", options.all, "All that are dead");
  line.flag("--dry-run", options.dry_run, "Show what would be given back, and change nothing");
  line.flag("--yes", options.yes, "Do not ask");
  line.option("--wait", wait, "DURATION", "How long --all watches other machines' for a sign of life (default: 15s)");
  line.flag("--json", options.json, "Answer in JSON, for programs");
  options.redis.add_options(line);
  line.footer(recover_footer);
  options.names = line.parse(args);
  if (!wait.empty()) {
    options.wait = parse_duration(wait);
    if (!options.wait)
      throw UsageError("--wait must be a duration such as \"15s\", not \"" + log::printable(wait) + "\"");
  }
  if (options.all == !options.names.empty())
    throw UsageError(options.all ? "--all and identities exclude each other" : "give an IDENTITY, or --all");
  return options;
}

Candidate judge(InFlightHolder holder) {
  static const Identity own = Identity::of_this_process();
  Candidate candidate{.holder = std::move(holder)};
  const WorkersLive workers_live = [&](const Identity& dead) -> std::optional<bool> {
    try {
      if (!has_left_files(dead, candidate.holder.beat_token, runtime_directory())) return std::nullopt;
      const std::string path = scoreboard_of(dead, runtime_directory());
      WorkersLeft left = read_workers_left(path, dead);
      candidate.scoreboard = path;
      candidate.known = std::move(left.dead);
      return !left.living.empty();
    } catch (const std::exception&) {
      return std::nullopt;
    }
  };
  candidate.liveness = liveness_of(candidate.holder, own, workers_live);
  return candidate;
}

std::vector<Candidate> look(ShardConnections& shards) {
  std::vector<Candidate> all;
  shards.each([&](ShardConnections::Shard& shard) {
    for (InFlightHolder& holder : thorough_in_flight_census(shard.redis)) {
      // A supervisor that stopped in order has left no record and holds nothing; only tombstones keep its name for an
      // hour.
      if (!holder.identity && holder.lists.empty()) continue;
      all.push_back(judge(std::move(holder)));
      all.back().shard = &shard;
    }
  });
  return all;
}

std::vector<Candidate> named(std::vector<Candidate> all, const std::vector<std::string>& names) {
  std::set<std::string> meant;
  for (const std::string& name : names) {
    std::vector<std::string> found;
    for (const Candidate& one : all) {
      if (one.holder.name == name) found = {name};
      if (found == std::vector{name} || !one.holder.name.starts_with(name)) continue;
      // A supervisor may hold jobs in several shards.
      if (std::find(found.begin(), found.end(), one.holder.name) == found.end()) found.push_back(one.holder.name);
    }
    if (found.empty())
      throw UsageError(fmt::format("no supervisor \"{}\" is known to hold jobs", log::printable(name)));
    if (found.size() > 1)
      throw UsageError(fmt::format("\"{}\" may be {}", log::printable(name),
                                   log::printable(fmt::format("{}", fmt::join(found, " or ")))));
    meant.insert(found.front());
  }
  std::erase_if(all, [&](const Candidate& one) { return !meant.contains(one.holder.name); });
  return all;
}

std::chrono::seconds age_of_server(Connection& redis) {
  const Reply info = redis.call({"INFO", "server"});
  const std::string_view text = info.view().text(), name = "uptime_in_seconds:";
  const std::size_t at = text.find(name);
  return std::chrono::seconds(
      at == text.npos ? 0 : leading_number<std::int64_t>(std::string_view(text).substr(at + name.size())));
}

std::chrono::seconds age_of(ShardConnections& shards) {
  std::chrono::seconds youngest = std::chrono::seconds::max();
  shards.each([&](ShardConnections::Shard& shard) { youngest = std::min(youngest, age_of_server(shard.redis)); });
  return youngest;
}

bool beats(Connection& redis, const std::string& identity) {
  const Reply reply = redis.call(ask_whether_beats(identity));
  const auto beats = read_whether_beats(reply.view());
  if (!beats) throw UnexpectedReply(std::string(reply.view().error()));
  return *beats;
}

// Counts the supervisors that are not proven dead.
std::ptrdiff_t silent_among(const std::vector<Candidate>& candidates) {
  return std::count_if(candidates.begin(), candidates.end(),
                       [](const Candidate& one) { return one.liveness == Liveness::silent; });
}

// Waits `patience` for heartbeats of supervisors of other hosts: a supervisor that sends one lives.
void watch(std::vector<Candidate>& candidates, std::chrono::milliseconds patience) {
  const std::ptrdiff_t silent = silent_among(candidates);
  if (silent == 0 || patience <= 0ms) return;
  fmt::print(stderr, "Watching {} of other machines for {}, for a sign of life ...\n", silent, duration_text(patience));
  for (const SteadyTime end = steady_now() + patience; steady_now() < end && silent_among(candidates) > 0;) {
    std::this_thread::sleep_for(std::min<SteadyTime::duration>(500ms, end - steady_now()));
    for (Candidate& one : candidates) {
      if (one.liveness == Liveness::silent && beats(one.shard->redis, one.holder.name)) one.liveness = Liveness::lives;
    }
  }
}

void recover(const Config& config, Candidate& candidate) try {
  const std::string& name = candidate.holder.name;
  Connection& redis = candidate.shard->redis;
  if (candidate.liveness == Liveness::silent && beats(redis, name)) {
    candidate.liveness = Liveness::lives;
    return;
  }
  candidate.result = recover_orphaned_jobs({name, candidate.known, candidate.liveness == Liveness::silent}, config,
                                           candidate.shard->address);
  if (candidate.result.owner_lives) {
    candidate.liveness = Liveness::lives;
    return;
  }
  for (const InFlightHolder::List& list : candidate.holder.lists) {
    if (!list.has_field) candidate.result.given_back += give_back_list_without_field(redis, list.key);
  }
  candidate.recovered = true;
} catch (const UnexpectedReply& refused) {
  candidate.trouble = refused.what();
}

// Removes the files of supervisors that are recovered in every shard.
void remove_files_of_recovered(const std::vector<Candidate>& candidates) {
  for (const Candidate& one : candidates) {
    const bool whole = std::all_of(candidates.begin(), candidates.end(), [&](const Candidate& other) {
      return other.holder.name != one.holder.name || other.recovered;
    });
    while (whole && !one.scoreboard.empty() && !remove_runtime_files(one.scoreboard)) {
    }
  }
}

std::string jobs_text(std::int64_t jobs) { return fmt::format("{} {}", jobs, jobs == 1 ? "job" : "jobs"); }

const char* liveness_text(Liveness liveness) {
  switch (liveness) {
    case Liveness::lives:
      return "lives";
    case Liveness::finishing:
      return "dead, its workers may be finishing";
    case Liveness::dead:
      return "dead";
    case Liveness::silent:
      break;
  }
  return "another machine's, without a heartbeat";
}

void show(const std::vector<Candidate>& candidates) {
  const bool has_shards = std::any_of(candidates.begin(), candidates.end(),
                                      [](const Candidate& one) { return !one.shard->address.shard.empty(); });
  std::vector<Table::Column> columns = {{"IDENTITY"}, {"IN FLIGHT", Table::Align::right}, {"STANDING"}};
  if (has_shards) columns.insert(columns.begin(), {"SHARD"});
  Table table(std::move(columns));
  for (const Candidate& one : candidates) {
    std::vector<std::string> row = {one.holder.name, jobs_text(one.holder.jobs()), liveness_text(one.liveness)};
    if (has_shards) row.insert(row.begin(), one.shard->address.shard);
    table.add(std::move(row));
  }
  print(table.empty() ? "No supervisor holds jobs in flight.\n" : table.text(Style::of_standard_output()));
}

std::string outcome_text(const Candidate& one) {
  const std::string& shard = one.shard->address.shard;
  const std::string name = log::printable(one.holder.name) + (shard.empty() ? "" : ", shard " + log::printable(shard));
  if (one.liveness == Liveness::lives) return name + ": lives, and keeps its jobs\n";
  if (one.liveness == Liveness::finishing)
    return name + ": workers of it may still finish their jobs; try again in a minute\n";
  if (!one.trouble.empty()) return fmt::format("{}: refused: {}\n", name, log::printable(one.trouble));
  std::string text = fmt::format("{}: {} given back", name, jobs_text(one.result.given_back));
  if (one.result.acknowledged > 0) text += fmt::format(", {} had succeeded", one.result.acknowledged);
  if (one.result.orphaned + one.result.charged > 0)
    text += fmt::format(", {} to dead: it came back too often", one.result.orphaned + one.result.charged);
  return text + "\n";
}

std::string json_of(const Candidate& one) {
  const auto& identity = one.holder.identity;
  JsonWriter json;
  json.text("identity", one.holder.name);
  if (identity) {
    json.text("hostname", identity->hostname).number("pid", identity->pid);
  } else {
    json.null("hostname").null("pid");
  }
  if (!one.shard->address.shard.empty()) json.text("shard", one.shard->address.shard);
  return json.text("standing", text_of(one.liveness))
      .number("in_flight", one.holder.jobs())
      .truth("recovered", one.recovered)
      .number("given_back", one.result.given_back)
      .number("acknowledged", one.result.acknowledged)
      .number("moved_to_dead", one.result.orphaned + one.result.charged)
      .text_or_null("error", one.trouble)
      .object();
}

void report(const std::vector<Candidate>& candidates, const RecoverOptions& options) {
  if (options.json) {
    print_json(JsonWriter().truth("dry_run", options.dry_run).each("identities", candidates, json_of).object() + "\n");
  } else if (!options.dry_run) {
    for (const Candidate& one : candidates) {
      if (!options.all || one.liveness != Liveness::lives) print(outcome_text(one));
    }
  }
}

// "gives back 3 jobs of 2 dead supervisors", with the consequence for supervisors of other hosts.
std::string intention(const std::vector<Candidate>& candidates) {
  std::int64_t jobs = 0;
  int dead = 0;
  for (const Candidate& one : candidates) {
    if (!one.can_be_recovered()) continue;
    jobs += one.holder.jobs();
    ++dead;
  }
  std::string sentence =
      fmt::format("gives back {} of {} dead {}", jobs_text(jobs), dead, dead == 1 ? "supervisor" : "supervisors");
  if (const std::ptrdiff_t silent = silent_among(candidates); silent > 0)
    sentence += fmt::format(
        ", {} of them on other machines: if one of these is only cut off from Redis, its running job runs twice",
        silent);
  return sentence;
}

}  // namespace

int recover_command(const std::vector<std::string>& args) {
  const RecoverOptions options = parse_recover(args);
  const Config config = options.redis.configuration();
  ShardConnections shards(options.redis, {.connect = 3s, .command = 60s}, "brood-recover");

  std::vector<Candidate> candidates = look(shards);
  if (!options.all) candidates = named(std::move(candidates), options.names);
  if (options.all && !options.dry_run) {
    const auto until_grown_up = std::chrono::duration_cast<std::chrono::milliseconds>(youth_of_redis - age_of(shards));
    watch(candidates, options.wait.value_or(std::max<std::chrono::milliseconds>(usual_wait, until_grown_up)));
  }
  if (!options.json) show(candidates);
  const bool any =
      std::any_of(candidates.begin(), candidates.end(), [](const Candidate& one) { return one.can_be_recovered(); });
  if (any && !options.dry_run) {
    const bool asks_nothing = options.yes || silent_among(candidates) == 0;
    if (!confirmed(intention(candidates), asks_nothing)) return exit_status::try_again;
    for (Candidate& one : candidates) {
      if (one.can_be_recovered()) recover(config, one);
    }
    remove_files_of_recovered(candidates);
  }
  report(candidates, options);
  const bool all_done = std::all_of(candidates.begin(), candidates.end(), [&](const Candidate& one) {
    return one.recovered || (options.all && one.liveness == Liveness::lives);
  });
  return all_done || options.dry_run ? exit_status::ok : exit_status::try_again;
}

}  // namespace brood
