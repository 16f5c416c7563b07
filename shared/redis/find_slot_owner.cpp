#include "shared/redis/find_slot_owner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "shared/redis/connection.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// The time for one node: it may never answer while another would.
constexpr milliseconds shortest_question = 200ms, longest_question = 1'000ms;

struct NodeMemory {
  std::mutex mutex;
  std::map<std::string, std::vector<RedisSeed>>
      nodes;  // by the cluster's address; the one that answered last comes first
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

// Why the nodes did not answer.
struct Failures {
  std::string refusal, unknown, others;

  // Prefers a refusal, since all nodes of a cluster should have the same users.
  [[noreturn]] void raise() const {
    if (!refusal.empty()) throw ConnectionLost(Loss::login_refused, refusal);
    if (others.empty() && !unknown.empty()) throw ConnectionLost(Loss::host_unknown, unknown);
    throw ConnectionLost("no node of the cluster answers: " + others + unknown);
  }
};

// The owner that the first working node names which is not the owner itself; empty if none answered in time.
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

// Only tries the lock: a child may have been forked while another thread of its parent held it, and this knowledge is
// optional.
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

namespace {

// CRC-16/XMODEM, by which Redis Cluster assigns keys to slots.
constexpr std::array<std::uint16_t, 256> crc_table = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1;
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

std::uint16_t crc16(std::string_view text) {
  unsigned crc = 0;
  for (const char c : text) crc = (crc << 8 ^ crc_table[(crc >> 8 ^ static_cast<unsigned char>(c)) & 0xff]) & 0xffff;
  return static_cast<std::uint16_t>(crc);
}

constexpr std::size_t most_nodes = 1'000;  // the most that Redis Cluster can have
constexpr std::size_t longest_host = 255;  // the longest name of DNS

// host, port, id, ...
RedisSeed read_node(ReplyView node) {
  const std::int64_t port = node[1].integer();
  if (port < 1 || port > 65'535) throw UnexpectedReply("a node of the cluster has no port");
  // A node may not know its own host, or be configured to hide it.
  const bool is_known = node[0].is_string() && node[0].text() != "?";
  if (is_known && !fits_a_host(node[0].text())) throw UnexpectedReply("a node of the cluster has no host's name");
  return {is_known ? std::string(node[0].text()) : "", static_cast<std::uint16_t>(port)};
}

// From the third and seventh word of a node in CLUSTER NODES: whether it is the node that answers, and the epoch of its
// claim to its slots; 0: unknown.
struct NodeLine {
  bool is_teller = false;
  std::uint64_t epoch = 0;
};
NodeLine line_of(std::string_view id, std::string_view nodes) {
  while (!nodes.empty()) {
    const std::size_t end = std::min(nodes.find('\n'), nodes.size());
    std::string_view line = nodes.substr(0, end);
    nodes.remove_prefix(std::min(end + 1, nodes.size()));
    if (!line.starts_with(id)) continue;
    NodeLine node;
    for (int word = 0; word < 6; ++word) {
      const std::size_t space = std::min(line.find(' '), line.size());
      if (word == 2) node.is_teller = line.substr(0, space).find("myself") != line.npos;
      line.remove_prefix(std::min(space + 1, line.size()));
    }
    std::from_chars(line.data(), line.data() + line.size(), node.epoch);
    return node;
  }
  return {};
}

}  // namespace

bool fits_a_host(std::string_view host) {
  return host.size() <= longest_host &&
         std::none_of(host.begin(), host.end(), [](unsigned char c) { return c <= ' ' || c == 0x7f; });
}

int slot_of(std::string_view key) {
  if (const std::size_t open = key.find('{'); open != key.npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != key.npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  }
  return crc16(key) % cluster_slots;
}

std::vector<Command> ask_slot_owners() { return {{"CLUSTER", "SLOTS"}, {"CLUSTER", "NODES"}, {"CLUSTER", "INFO"}}; }

std::optional<SlotOwner> read_slot_owner(int slot, std::span<const Reply> replies) {
  const ReplyView slots = replies[0].view(), nodes = replies[1].view();
  std::optional<SlotOwner> owner;
  std::vector<RedisSeed> others;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const ReplyView range = slots[i];
    for (std::size_t member = 2; member < range.size(); ++member) {
      RedisSeed node = read_node(range[member]);
      if (others.size() < most_nodes && std::find(others.begin(), others.end(), node) == others.end())
        others.push_back(std::move(node));
    }
    if (owner || slot < range[0].integer() || slot > range[1].integer() || range.size() < 3) continue;
    owner = SlotOwner{.node = read_node(range[2])};
    // If our user may not ask for the nodes, there is no epoch, and the node that answers first is believed.
    if (nodes.is_string() && range[2].size() > 2) {
      const NodeLine line = line_of(range[2][2].text(), nodes.text());
      owner->epoch = line.epoch;
      owner->is_teller = line.is_teller;
    }
  }
  if (owner) owner->others = std::move(others);
  return owner;
}

bool read_cluster_works(std::span<const Reply> replies) {
  const ReplyView info = replies[2].view();
  return info.is_string() && info.text().find("cluster_state:ok") != std::string_view::npos;
}

}  // namespace brood
