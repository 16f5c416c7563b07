#include "supervisor/restart/added_shards.hpp"

#include <algorithm>

namespace brood {
namespace {

bool is_same_shard(const ShardSettings& a, const ShardSettings& b) {
  return a.name == b.name && a.url == b.url && a.user == b.user && a.password_file == b.password_file;
}

bool has_name(const std::vector<ShardSettings>& shards, const std::string& name) {
  return std::any_of(shards.begin(), shards.end(), [&](const ShardSettings& shard) { return shard.name == name; });
}

}  // namespace

std::string why_not_served(const RedisSettings& now, const RedisSettings& wanted) {
  const std::string elsewhere = "where Redis is cannot change while brood runs: stop it and start it again";
  if (now.url != wanted.url || now.user != wanted.user || now.password_file != wanted.password_file) return elsewhere;
  if (wanted.shards < now.shards) return "a cluster's shards cannot become fewer: their jobs would be served no more";
  if (now.shard_list.empty() != wanted.shard_list.empty()) return elsewhere;
  for (const ShardSettings& shard : now.shard_list) {
    if (!has_name(wanted.shard_list, shard.name))
      return "the shard " + shard.name +
             " cannot be taken out while brood runs: when `brood queues`, `brood scheduled` " +
             "and `brood retries` with --shard " + shard.name + " show nothing, stop brood and start it again";
  }
  for (std::size_t i = 0; i < now.shard_list.size(); ++i) {
    const ShardSettings &is = now.shard_list[i], &becomes = wanted.shard_list[i];
    if (is.name != becomes.name) return "a new shard comes after those that are there, and these keep their order";
    if (!is_same_shard(is, becomes)) return elsewhere;
  }
  return "";
}

}  // namespace brood
