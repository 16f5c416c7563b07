#include "supervisor/redis/redis_requirements.hpp"

#include <sysexits.h>

#include <map>

#include "shared/base/plain_number.hpp"

namespace brood {
namespace {

std::string line_of(std::string_view info, std::string_view name) {
  std::size_t at = 0;
  while (at < info.size()) {
    const std::size_t end = std::min(info.find('\n', at), info.size());
    std::string_view line = info.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.size() > name.size() && line.substr(0, name.size()) == name && line[name.size()] == ':')
      return std::string(line.substr(name.size() + 1));
    at = end + 1;
  }
  return "";
}

// "a; b"
void add(std::string& sentences, const std::string& one) { sentences += (sentences.empty() ? "" : "; ") + one; }

// Reads the reply of CONFIG GET.
std::map<std::string, std::string> read_settings(ReplyView reply) {
  std::map<std::string, std::string> settings;
  for (std::size_t i = 0; reply.is_array() && i + 1 < reply.size(); i += 2)
    settings[std::string(reply[i].text())] = reply[i + 1].text();
  return settings;
}

bool is_replica(std::string_view info) { return line_of(info, "role") == "slave"; }

}  // namespace

std::string why_no_master(std::string_view info) {
  if (is_replica(info)) {
    const std::string host = line_of(info, "master_host");
    const std::string master = host.empty() ? "" : " of " + host + " port " + line_of(info, "master_port");
    return "this Redis is a replica" + master + ", not the master";
  }
  if (line_of(info, "loading") == "1") return "this Redis is loading its data";
  return "";
}

RedisFitness judge_redis(std::string_view info, Topology topology) {
  RedisFitness fitness;
  fitness.version = line_of(info, "redis_version");
  fitness.run_id = line_of(info, "run_id");
  const std::string_view version = fitness.version;
  const int major = leading_number<int>(version);
  const std::size_t point = version.find('.');
  const int minor = point == version.npos ? 0 : leading_number<int>(version.substr(point + 1));
  // An INFO without a version (a proxy, or a renamed command) counts as recent, as in Sidekiq.
  if (major > 0 && (major < 6 || (major == 6 && minor < 2)))
    fitness.refusal = "this is Redis " + fitness.version + "; brood needs 6.2 or later";
  fitness.knows_set_info = major > 7 || (major == 7 && minor >= 2);
  // Valkey reports which Redis it is compatible with, and has its own names for itself and its mode.
  const std::string valkey = line_of(info, "valkey_version");
  fitness.server = valkey.empty() ? fitness.version : "Valkey " + valkey;
  std::string mode = line_of(info, "redis_mode");
  if (mode.empty()) mode = line_of(info, "server_mode");
  if (mode == "cluster" && topology == Topology::single)
    fitness.refusal =
        "this Redis is a node of a cluster, where Sidekiq's keys, which are used together, lie in different slots; use "
        "cluster:// instead of redis://: then brood's keys begin with the name of a shard, which keeps them together";
  if (mode == "standalone" && topology == Topology::cluster)
    fitness.refusal = "this Redis is no node of a cluster; use redis:// instead of cluster://";
  fitness.not_now = why_no_master(info);
  fitness.is_replica = is_replica(info);
  const std::string policy = line_of(info, "maxmemory_policy");
  if (!policy.empty() && policy != "noeviction") {
    std::string& word = topology == Topology::cluster && fitness.refusal.empty() ? fitness.refusal : fitness.warning;
    word = "maxmemory-policy is " + policy + ": Redis may evict jobs; set it to noeviction";
  }
  if (topology == Topology::cluster && line_of(info, "role") == "master" && line_of(info, "connected_slaves") == "0")
    add(fitness.warning, "this node of the cluster has no replica: its keys are away whenever it is");
  return fitness;
}

std::string why_not_beside(const RedisData& one, const std::vector<RedisData>& others) {
  for (const RedisData& other : others) {
    if (one.run_id.empty() || one.run_id != other.run_id || one.db != other.db || one.key_prefix != other.key_prefix)
      continue;
    return "the shards " + other.shard + " and " + one.shard +
           " are the same Redis under two addresses; each needs a server, or a database, of its own";
  }
  return "";
}

std::optional<int> exit_status_for(RedisTrouble trouble, bool another_is_usable, bool at_start) {
  const bool is_a_mistake = trouble == RedisTrouble::same_as_another && at_start;
  if (another_is_usable && !is_a_mistake) return std::nullopt;
  return trouble == RedisTrouble::refuses_us ? EX_TEMPFAIL : EX_CONFIG;
}

// CONFIG GET takes several names since Redis 7.
std::vector<Command> ask_cluster_settings() {
  return {
      {"CONFIG", "GET", "cluster-*"}, {"CONFIG", "GET", "appendonly"}, {"CONFIG", "GET", "save"}, {"CLUSTER", "INFO"}};
}

RedisFitness judge_cluster(std::span<const ReplyView> answers) {
  RedisFitness fitness;
  if (answers.size() != 4) return fitness;
  std::map<std::string, std::string> settings = read_settings(answers[0]);
  settings.merge(read_settings(answers[1]));
  settings.merge(read_settings(answers[2]));
  const auto is = [&](const char* name, std::string_view value) {
    const auto setting = settings.find(name);
    return setting != settings.end() && setting->second == value;
  };
  // A node that returns before the others have noticed its absence is still the master, with only the data on its disk.
  // Its replicas, which had everything, then copy that.
  if (is("appendonly", "no") && is("save", ""))
    add(fitness.refusal,
        "appendonly is no and save is empty: a node that restarts comes back empty, and its replicas empty themselves; "
        "set appendonly to yes");
  else if (is("appendonly", "no"))
    add(fitness.warning,
        "appendonly is no: a node that restarts, and its replicas with it, lose what came after its last snapshot; set "
        "it to yes");
  if (is("cluster-replica-validity-factor", "0"))
    add(fitness.refusal,
        "cluster-replica-validity-factor is 0: a replica may become the master however long it had heard nothing, and "
        "all that was confirmed meanwhile is lost; set it to 10, as it is by default");
  if (is("cluster-require-full-coverage", "yes"))
    add(fitness.warning,
        "cluster-require-full-coverage is yes: while one node and its replicas are away, no other serves its shards "
        "either; set it to no");
  if (answers[3].is_string()) {
    const std::string masters = line_of(answers[3].text(), "cluster_size");
    if (!masters.empty() && leading_number<int>(masters) < 3)
      add(fitness.warning, "the cluster has " + masters + " master" + (masters == "1" ? "" : "s") +
                               ": with fewer than three there is no majority to promote the replica of a dead one");
  }
  return fitness;
}

}  // namespace brood
