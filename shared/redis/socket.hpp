#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "shared/redis/address.hpp"

namespace brood {

// An address that a socket can connect to, without any further lookup.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
};

enum class Lookup {
  numeric_only,  // never asks a name server
  blocking,      // may wait for one, as long as the system's resolver does
};

// The endpoints of `address`, at least one, in the order to try them.  Throws ConnectionLost when there is none.
std::vector<Endpoint> endpoints_of(const RedisAddress& address, Lookup lookup);

// The numeric host of an endpoint, as text.
std::string numeric_host(const Endpoint& endpoint);

// Begins to connect a non-blocking socket.  Once it is writable, check_connected() reports the result.  Returns an
// empty descriptor if the listener of a Unix socket has too many waiting connections: poll() cannot wait for that, so
// try again later.  Throws as check_connected() if the connection is refused at once.
UniqueFd begin_connect(const Endpoint& endpoint);

// Throws std::system_error unless the socket is connected, and ConnectionLost (login_refused) if this user or this
// machine may not connect there.
void check_connected(int fd);

}  // namespace brood
