#pragma once

#include <string>

#include "shared/redis/connection.hpp"

namespace brood {

// The list of processes that own something in flight, brood:processes.  Each process lists itself, with its workers and
// its heartbeats.  These functions are for the entries of others.  All throw ConnectionLost or UnexpectedReply.

// Takes `identity` off the list, unless it owns something.
void forget_process(Channel& redis, const std::string& identity);

// Finds the in-flight hashes of identities that are not listed, by one SCAN, and lists them under a record made of
// their name alone.  Then only their heartbeat decides whether they live, and the next heartbeat of a living one writes
// its own record.  Returns how many.
int list_unlisted_processes(Channel& redis);

}  // namespace brood
