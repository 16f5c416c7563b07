#pragma once

#include <optional>
#include <string>

#include "shared/json/json_object.hpp"
#include "supervisor/cli/access/machine_status.hpp"
#include "supervisor/cli/redis_status.hpp"
#include "supervisor/cli/status/exposition.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {

// The report of one of several shards.
struct ShardReport {
  std::string name;
  std::string address;               // without its password
  std::optional<RedisStatus> redis;  // nullopt: it did not answer, and `error` has the reason
  std::string error = {};
  bool is_drained = false;  // reported by a supervisor of this machine; if none answers, from the configuration
  // The number of jobs that keep the shard from being taken out: they wait, are in flight or in quarantine.
  std::int64_t left() const;
};

// The result of one look at everything.
struct StatusReport {
  std::string address;               // of Redis, without its password; of the first if there are several
  std::optional<RedisStatus> redis;  // of all shards that answer; nullopt: none did, and `error` has the reason
  std::string error;
  std::vector<ShardReport> shards = {};  // empty if there is only one Redis, or the user named one
  MachineStatus machine;
  std::vector<JsonObject> supervisors = {};  // of this machine, each with its own report
};

// For people.
std::string status_text(const StatusReport& report, const Style& style);
// One crash, with its whole stack.
std::string crash_text(const Crash& crash, const Style& style);

// Stable for programs: members are added, never renamed or removed.  If Redis does not answer, its members are null.
std::string status_json(const StatusReport& report);
std::string crash_json(const Crash& crash);

// For Prometheus, in its text exposition format.  Without an answer from Redis, brood_redis_up is 0.
enum class MetricsScope {
  all,             // everything
  host,            // this machine's supervisors and workers, which each machine reports itself
  redis,           // the whole Redis and all its processes: enough once in a fleet
  host_and_redis,  // both, with this machine's processes and those that have no brood to report them
};
std::string status_prometheus(const StatusReport& report, MetricsScope scope = MetricsScope::all,
                              Exposition::Format format = Exposition::Format::prometheus);

}  // namespace brood
