#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// Whether brood can use a Redis, according to its INFO.
struct RedisFitness {
  std::string refusal;  // why it cannot be used; empty if it can
  std::string not_now;  // why it cannot be used yet: it is a replica, or is loading its data from disk
  bool is_replica = false;
  std::string warning;          // what an operator should change
  std::string version;          // redis_version
  std::string server;           // for people: its version, behind its name if it is no Redis
  std::string run_id;           // of the server's process; empty if INFO lacks it
  bool knows_set_info = false;  // the command CLIENT SETINFO, of Redis 7.2 and Valkey
};

// Why this server's data must not be changed now, from its INFO or its section `replication`; empty if they may be
// changed.  A replica may accept writes, but loses them at the next synchronisation.  Pure.
std::string why_no_master(std::string_view info);

enum class Topology {
  single,   // redis:// and the like
  cluster,  // cluster://
};

// Requires Redis 6.2 or a compatible server, the topology of the URL, and maxmemory-policy noeviction.  Pure.
RedisFitness judge_redis(std::string_view info, Topology topology = Topology::single);

// The location of a shard's data: the server, by its run_id, the database in it, and the prefix of the keys.
struct RedisData {
  std::string shard;
  std::string run_id;  // empty if not known
  int db = 0;
  std::string key_prefix;
};

// Why `one` cannot be a shard beside the `others`: another shard has the same data.  Empty if it can.  Pure.
std::string why_not_beside(const RedisData& one, const std::vector<RedisData>& others);

// Reasons why a Redis that answers cannot be used.
enum class RedisTrouble {
  unfit,            // it lacks a requirement, or is configured to lose jobs
  same_as_another,  // another shard has these data
  refuses_us,       // for longer than we wait for Redis at the start
};

// The exit status of a supervisor that has never been able to use this Redis; nullopt if it goes on without it.  Pure.
//
// If there are several shards, one that cannot be used costs only its own jobs.  But a configuration that names one
// Redis twice is a mistake that must be corrected before anything runs.
std::optional<int> exit_status_for(RedisTrouble trouble, bool another_is_usable, bool at_start);

// Judges whether a cluster node is configured to lose what it has confirmed, or to be away longer than necessary.
// Takes the answers to `ask_cluster_settings` in their order.  Ignores a setting that our user may not read.  Pure.
std::vector<Command> ask_cluster_settings();
RedisFitness judge_cluster(std::span<const ReplyView> answers);

}  // namespace brood
