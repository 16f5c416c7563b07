#include "supervisor/restart/added_shards.hpp"

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {
namespace {

constexpr std::size_t most_places = max_shards;

bool is_same_shard(const ShardSettings& a, const ShardSettings& b) {
  return a.name == b.name && a.url == b.url && a.user == b.user && a.password_file == b.password_file;
}

// A name that was derived from the place in the file changes when an earlier shard is removed.
std::string why_renamed(const std::vector<ShardSettings>& shards, const ShardSettings& wanted) {
  for (const ShardSettings& shard : shards) {
    if (!shard.is_empty_place && shard.url == wanted.url && shard.name != wanted.name)
      return "the shard " + shard.name + " would be called " + wanted.name + ": give it name = \"" + shard.name + "\"";
  }
  return "";
}

}  // namespace

std::string why_not_served(const RedisSettings& now, const RedisSettings& wanted) {
  const std::string elsewhere = "the address of Redis cannot change while brood runs: stop it and start it again";
  if (now.url != wanted.url || now.user != wanted.user || now.password_file != wanted.password_file) return elsewhere;
  if (wanted.shards > now.shards && now.empty_places > 0)
    return "a cluster's shards that were taken out while brood runs come back with a stop and a start";
  if (now.shard_list.empty() != wanted.shard_list.empty()) return elsewhere;
  if (wanted.shard_list.size() > most_places)
    return "so many shards were added and taken out that no place is left: stop brood and start it again";
  for (std::size_t i = 0; i < wanted.shard_list.size(); ++i) {
    const ShardSettings& becomes = wanted.shard_list[i];
    if (becomes.is_empty_place) continue;
    if (const std::string why = why_renamed(now.shard_list, becomes); !why.empty()) return why;
    if (i >= now.shard_list.size()) continue;
    const ShardSettings& is = now.shard_list[i];
    if (is.name != becomes.name) return "a new shard comes after those that are there, and these keep their order";
    if (!is_same_shard(is, becomes)) return elsewhere;
  }
  if (wanted.shard_list.size() < now.shard_list.size())
    return "a new shard comes after those that are there, and these keep their order";
  return "";
}

}  // namespace brood
