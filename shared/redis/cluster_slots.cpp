#include "shared/redis/cluster_slots.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace brood {
namespace {

// CRC-16/XMODEM, by which Redis Cluster spreads its keys.
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

constexpr std::size_t most_nodes = 1'000;  // as Redis Cluster has at most
constexpr std::size_t longest_host = 255;  // as DNS has at most

// host, port, id, ...
RedisSeed read_node(ReplyView node) {
  const std::int64_t port = node[1].integer();
  if (port < 1 || port > 65'535) throw UnexpectedReply("a node of the cluster has no port");
  // A node may not know its own host, or not tell it.
  const bool is_known = node[0].is_string() && node[0].text() != "?";
  if (is_known && !fits_a_host(node[0].text())) throw UnexpectedReply("a node of the cluster has no host's name");
  return {is_known ? std::string(node[0].text()) : "", static_cast<std::uint16_t>(port)};
}

// Of a node, by the third and the seventh word of its line in CLUSTER NODES: whether it is the one that answers, and
// how young its claim to its slots is; 0: not told.
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
    // Where a user may not ask for the nodes, there is no epoch, and the node that answers first is believed.
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
