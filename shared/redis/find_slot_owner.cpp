#include "shared/redis/find_slot_owner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "shared/redis/cluster_slots.hpp"
#include "shared/redis/connection.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// For one node: another may answer while this one swallows what it is sent.
constexpr milliseconds shortest_question = 200ms, longest_question = 1'000ms;

struct NodeMemory {
  std::mutex mutex;
  std::map<std::string, std::vector<RedisSeed>> nodes;  // by the cluster's address; who answered last comes first
};
NodeMemory& node_memory() {
  static NodeMemory memory;
  return memory;
}

struct Told {
  SlotOwner owner;
  bool works = false;
};

Told ask_node(const RedisAddress& shard, const RedisSeed& node, milliseconds left) {
  const auto longest = std::min(left, std::clamp(left / 4, shortest_question, longest_question));
  const int slot = slot_of(shard.key_prefix);
  Connection connection(node_address(shard, node, ""), {.connect = longest, .command = longest, .is_final = true}, "");
  const std::vector<Reply> replies = connection.pipeline(ask_slot_owners());
  const std::string_view refusal = replies.front().view().error();
  if (classify_error(refusal) == ErrorKind::unauthorized)
    throw ConnectionLost(Loss::login_refused, std::string(refusal));
  if (refusal.find("cluster support disabled") != refusal.npos)
    throw ConnectionLost(Loss::login_refused, "this Redis is no node of a cluster; use redis:// instead of cluster://");
  try {
    std::optional<SlotOwner> owner = read_slot_owner(slot, replies);
    if (!owner) throw ConnectionLost(fmt::format("no node owns slot {} of the cluster", slot));
    if (owner->node.host.empty()) owner->node.host = node.host;
    return {std::move(*owner), read_cluster_works(replies)};
  } catch (const UnexpectedReply& rubbish) {
    throw ConnectionLost(rubbish.what());
  }
}

std::vector<RedisSeed> nodes_to_ask(const RedisAddress& shard) {
  std::vector<RedisSeed> nodes = known_nodes(shard);
  for (const RedisSeed& seed : shard.seeds) {
    if (std::find(nodes.begin(), nodes.end(), seed) == nodes.end()) nodes.push_back(seed);
  }
  return nodes;
}

// What kept the nodes from answering.
struct Failures {
  std::string refusal, unknown, others;

  // A refusal says most: the nodes of a cluster have the same users.
  [[noreturn]] void raise() const {
    if (!refusal.empty()) throw ConnectionLost(Loss::login_refused, refusal);
    if (others.empty() && !unknown.empty()) throw ConnectionLost(Loss::host_unknown, unknown);
    throw ConnectionLost("no node of the cluster answers: " + others + unknown);
  }
};

// Whom the first node names that works and is not the owner; nobody: none answered in time.
struct OthersWord {
  std::optional<RedisSeed> named;
  bool there_are_others = false;
};

OthersWord ask_others(const RedisAddress& shard, const RedisSeed& owner, SteadyTime deadline) {
  OthersWord word;
  for (const RedisSeed& node : nodes_to_ask(shard)) {
    if (node == owner) continue;
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_now());
    if (left <= 0ms) return {.named = {}, .there_are_others = true};
    try {
      const Told told = ask_node(shard, node, left);
      if (told.owner.is_teller && told.owner.node == owner) continue;  // the owner under another name
      word.there_are_others = true;
      if (!told.works) continue;
      word.named = told.owner.node;
      return word;
    } catch (const ConnectionLost&) {
      word.there_are_others = true;
    }
  }
  return word;
}

}  // namespace

RedisAddress node_address(const RedisAddress& shard, const RedisSeed& node, const std::string& teller) {
  RedisAddress address = shard;
  address.host = node.host.empty() ? teller : node.host;
  address.port = node.port;
  address.seeds.clear();
  return address;
}

// Only tries: a child may have been forked while another thread of its parent held the lock, and none of this is
// needed.
void remember_nodes(const RedisAddress& shard, const std::vector<RedisSeed>& nodes) {
  const std::unique_lock lock(node_memory().mutex, std::try_to_lock);
  if (lock) node_memory().nodes[shard.without_password()] = nodes;
}

std::vector<RedisSeed> known_nodes(const RedisAddress& shard) {
  const std::unique_lock lock(node_memory().mutex, std::try_to_lock);
  return lock ? node_memory().nodes[shard.without_password()] : std::vector<RedisSeed>();
}

RedisAddress find_slot_owner(const RedisAddress& shard, SteadyTime deadline) {
  std::optional<SlotOwner> best;
  Failures failures;
  for (const RedisSeed& node : nodes_to_ask(shard)) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_now());
    if (left <= 0ms) break;
    try {
      Told told = ask_node(shard, node, left);
      const bool is_younger = !best || told.owner.epoch > best->epoch;
      if (!told.works && !is_younger) continue;
      best = std::move(told.owner);
      std::vector<RedisSeed> known{node};
      for (RedisSeed& other : best->others) {
        if (other.host.empty()) other.host = node.host;
        if (other != node) known.push_back(std::move(other));
      }
      remember_nodes(shard, known);
      if (told.works) break;
    } catch (const ConnectionLost& lost) {
      if (lost.why == Loss::login_refused)
        failures.refusal = lost.what();
      else if (lost.why == Loss::host_unknown)
        failures.unknown = lost.what();
      else
        failures.others += std::string(failures.others.empty() ? "" : "; ") + lost.what();
    }
  }
  if (!best) failures.raise();
  return node_address(shard, best->node, "");
}

bool others_name_owner(const RedisAddress& shard, const RedisSeed& owner, SteadyTime deadline) {
  const OthersWord word = ask_others(shard, owner, deadline);
  return word.named ? *word.named == owner : !word.there_are_others;
}

bool others_name_another(const RedisAddress& shard, const RedisSeed& owner, SteadyTime deadline) {
  const OthersWord word = ask_others(shard, owner, deadline);
  return word.named && *word.named != owner;
}

}  // namespace brood
