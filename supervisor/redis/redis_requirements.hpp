#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// What brood thinks of a Redis, from its INFO.
struct RedisFitness {
  std::string refusal;  // why it cannot be used; empty: it can
  std::string not_now;  // why it cannot be used at this time: it is a replica, or reads its data from disk still
  bool is_replica = false;
  std::string warning;  // what an operator should change
  std::string version;  // redis_version
  std::string run_id;   // of the server's process; empty: it does not say
};

// Why this server's data are not to be changed now, from its INFO or the section `replication` of it; empty: they may
// be.  A replica may take writes, which are lost with the next synchronisation.  Pure.
std::string why_no_master(std::string_view info);

enum class Topology {
  single,   // redis:// and the like
  cluster,  // cluster://
};

// Pure.  Wanted: Redis 6.2 or a server that says it is compatible, what the URL says that it is, maxmemory-policy
// noeviction.
RedisFitness judge_redis(std::string_view info, Topology topology = Topology::single);

// Where the data of a shard are: of which server, by its run_id, in which of its databases, under which keys.
struct RedisData {
  std::string shard;
  std::string run_id;  // empty: not known
  int db = 0;
  std::string key_prefix;
};

// Why `one` cannot be a shard's data beside the `others`: another shard has the same data.  Empty: it can.  Pure.
std::string why_not_beside(const RedisData& one, const std::vector<RedisData>& others);

// What may keep us from a Redis that answers.
enum class RedisTrouble {
  unfit,            // it lacks what is needed, or is set to lose jobs
  same_as_another,  // another shard has these data
  refuses_us,       // for longer than we wait for a Redis at the start
};

// The exit status of a supervisor that has never been able to use this Redis; nullopt: it goes on without.  One shard
// of several costs only its own jobs.  But a configuration that names one Redis twice is a mistake, to be mended before
// anything runs.  Pure.
std::optional<int> exit_status_for(RedisTrouble trouble, bool another_is_usable, bool at_start);

// Whether a node of a cluster is set to lose what it has confirmed, or to be away for longer than it must.  The answers
// to `ask_cluster_settings` are judged in their order; a setting for which our user may not ask is not judged.  Pure.
std::vector<Command> ask_cluster_settings();
RedisFitness judge_cluster(std::span<const ReplyView> answers);

}  // namespace brood
