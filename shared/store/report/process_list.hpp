#pragma once

#include <string>

#include "shared/redis/connection.hpp"

namespace brood {

// The list of those who own something in flight, brood:processes: each process enters it with its workers and its
// heartbeats.  These are for the others.  All throw ConnectionLost or UnexpectedReply.

// Takes `identity` off the list, unless it owns something.
void forget_process(Channel& redis, const std::string& identity);

// Finds the in-flight hashes of identities that are not listed, by one SCAN, and lists them under a record that says no
// more than their name does: their heartbeat alone decides whether they live, and a living one's next heartbeat puts
// its own record there.  Returns how many.
int list_unlisted_processes(Channel& redis);

}  // namespace brood
