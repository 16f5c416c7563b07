#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis/keyspace.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// The schedules of the gem sidekiq-cron, releases 1 and 2: each is a hash, named by a set.  A tick is claimed as the
// gem claims it, so Ruby's pollers and brood's push one job between them.  Reading throws UnexpectedReply.

// The sets that name schedules: release 1 has one, release 2 one for each namespace, "cron_jobs:NAMESPACE".
// usual_gem_sets() has the one of release 1 and that of the default namespace.  find_gem_sets() finds those of all
// namespaces by a scan of all keys, page by page.
std::set<std::string> usual_gem_sets();
Command find_gem_sets(std::string_view position);
struct GemSets {
  std::string next;  // the position of the next page; scan_begins: this was the last
  std::vector<std::string> found;
};
GemSets read_gem_sets(ReplyView reply, const Keyspace& keyspace);

// All of them in a shard, page by page; perhaps not all if the shard has very many keys.  Throws ConnectionLost.
std::set<std::string> gem_sets_of(Channel& redis);

// The names of the schedules, one command for each set.
std::vector<Command> ask_gem_schedules(const std::set<std::string>& sets);
std::vector<std::string> read_gem_schedules(ReplyView reply);

Command ask_gem_schedule(std::string_view name);
std::map<std::string, std::string> read_gem_schedule(ReplyView reply);

struct GemTick {
  std::string schedule;
  std::chrono::sys_seconds tick{};
  std::string queue, payload, jid;
  std::string last_push;  // of the schedule, as read
  std::chrono::sys_seconds now{};
};
ScriptCall claim_gem_tick(const GemTick& tick);
bool read_gem_claim(ReplyView reply);

// "2026-11-24 03:00:00 +0000", as the gem writes times; nullopt for anything else.
std::string gem_time(std::chrono::sys_seconds moment);
std::optional<std::chrono::sys_seconds> parse_gem_time(std::string_view text);

// The argument that date_as_argument adds: Ruby's Time.now.to_f, to the microsecond.
std::string gem_date(WallTime now);

}  // namespace brood
