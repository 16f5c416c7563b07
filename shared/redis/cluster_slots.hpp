#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/redirection.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// What a Redis Cluster says of itself: which node owns which slot.  All of this is pure.

inline constexpr int cluster_slots = 16'384;

// The slot that a key lies in: computed of what stands in its first pair of braces, if anything does, else of the whole
// key.
int slot_of(std::string_view key);

// Whether this may be the name of a node's host: such a name is looked up, and logged.
bool fits_a_host(std::string_view host);

// Who owns a slot, as one node sees it.
struct SlotOwner {
  RedisSeed node;
  std::uint64_t epoch = 0;  // of the owner's claim: of two nodes that see it differently the higher one is right
  bool is_teller = false;   // the owner is the node that answered; false also where nodes do not tell who they are
  std::vector<RedisSeed> others{};  // all nodes that are known, the owner too, but no more than 1,000
};

// Asks a node who owns a slot.  nullopt: nobody owns the slot.  Throws UnexpectedReply.
std::vector<Command> ask_slot_owners();
std::optional<SlotOwner> read_slot_owner(int slot, std::span<const Reply> replies);
// Whether that node takes commands: one that sees too few of the others does not, and may be mistaken in all of this.
bool read_cluster_works(std::span<const Reply> replies);

}  // namespace brood
