#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/config/config.hpp"
#include "shared/config/periodic_settings.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/periodic/periodic_jobs.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {

// A periodic job, as Redis or the configuration has it.
struct ListedPeriodic {
  std::string name;
  std::string cron, zone = "UTC", job_class, args = "[]", queue = "default", retry = "true", overlap = "allow";
  std::string members;  // additional members of its payload, each after a comma
  KnownPeriodic known = {};
  bool served = false;
  bool of_gem = false;      // a schedule of sidekiq-cron, named by its key; its rule is as fugit reads it
  std::string broken = {};  // why its rule in Redis cannot be used; empty: it can

  // Where its rule is written: "configuration", "library", "redis" or "sidekiq-cron".
  std::string_view origin() const;
  // The same for people: "run time" for Redis.
  std::string_view shown_origin() const;
  // Whether a command or the configuration keeps its ticks from pushing.
  bool is_paused() const { return known.has_no_ticks(); }

  // The next ticks, at most `how_many`.  None if this program does not know the rule or the zone.
  std::vector<std::chrono::sys_seconds> next_ticks(int how_many) const;
  // The time in its zone: "2026-11-25 03:00:00 +01:00".
  std::string local_text(std::chrono::sys_seconds tick) const;
  // Unless all arguments are shown, `args` is null or has null for each value.
  std::string json(ShowArgs shows = ShowArgs::all) const;
};
ListedPeriodic listed_periodic(const std::string& name, const PeriodicSettings& settings);

// The periodic jobs of the configuration and of all shards, by name.  Throws ConnectionLost.
std::vector<ListedPeriodic> list_periodic(const Config& config, ShardConnections& shards);

// Calls `visit` for the job in the shard that has it.  Returns false if no shard has it.
bool visit_periodic(ShardConnections& shards, const std::string& name,
                    const std::function<void(Connection&, const ListedPeriodic&)>& visit);

// A past tick, or a run by hand.
struct PastTick {
  std::optional<WallTime> tick, at;  // when it was due; when it was claimed
  std::string jid;                   // empty: it made no job
  std::string json;                  // as Redis has it
};
// Newest first.
std::vector<PastTick> history_of_periodic(Connection& redis, const std::string& name);

// Enqueues its job now, apart from its ticks, in the name of `who`.  Returns the jid; nullopt if the previous job has
// not ended.
std::optional<std::string> run_periodic_now(Connection& redis, const ListedPeriodic& one, std::string_view who);

PausedPeriodic pause_periodic_of(ShardConnections& shards, const std::string& name, bool pauses);
// A sentence for people: the configuration pauses it, and where.
std::string paused_by_configuration(const std::string& name, const std::string& where);

}  // namespace brood
