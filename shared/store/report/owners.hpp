#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/identity.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/connection.hpp"

namespace brood {

// The list of brood's processes that own something in flight, brood:processes.  Each process lists itself: when a
// worker registers, and by its heartbeats.

// All of these processes with their records.  Reading throws UnexpectedReply.
struct OwnerRecord {
  std::string name;
  std::optional<Identity> identity;  // nullopt: its record cannot be read
};
Command ask_owner_records();
std::vector<OwnerRecord> read_owner_records(ReplyView reply);

// These functions change the entries of others.  All throw ConnectionLost or UnexpectedReply.

// Takes `identity` off the list, unless it owns something.
void forget_process(Channel& redis, const std::string& identity);

// Finds the in-flight hashes of unlisted identities by one SCAN, and lists them under a record made of their name
// alone.  Then only their heartbeat decides whether they live, and the next heartbeat of a living one writes its own
// record.  Returns how many.
int list_unlisted_processes(Channel& redis);

}  // namespace brood
