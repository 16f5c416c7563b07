#pragma once

#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/address.hpp"

namespace brood {

// A sentinel that answered, or a node of a cluster.
struct Teller {
  RedisSeed seed;      // by name: a certificate may be for that name
  std::string number;  // the numeric address at which it answered; empty: unknown
  bool operator==(const Teller&) const = default;
};

// Where the server is now, and the sentinels or nodes that reported it.
struct FoundServer {
  RedisAddress server;          // host and port, or socket; never sentinels.  A host's name is resolved
  std::vector<Teller> tellers;  // none if none had to be asked
};

// The server's place, with its numeric address.
RedisSeed place_of(const RedisAddress& server);

// Finds the server behind `address`.  The address of an ordinary server is returned as it is.
//
// Sentinels are asked all at once: those of the address and, if needed, those that these know of.  The server that most
// of them name is connected to.  It is the master only if its own ROLE confirms that; else the next one named is tried.
// If no sentinel answers, the last master that this process knew is tried in the same way.  In a cluster the server is
// the node that owns the shard's slot: see find_slot_owner.hpp.
//
// Blocks until `deadline` at most; the system's resolver may take longer.  Throws ConnectionLost if there is no master:
// login_refused if sentinels or server refuse us or do not know the master's name, host_unknown if no sentinel's name
// is known.
FoundServer find_server(const RedisAddress& address, SteadyTime deadline);

// The address of one of the sentinels of `address`, with our user there.
RedisAddress sentinel_address(const RedisAddress& address, const Teller& sentinel);

// Lets this process, and its children to come, know what another process has found.
void remember_server(const RedisAddress& address, const FoundServer& found);

}  // namespace brood
