#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "shared/redis/address.hpp"

namespace brood {

// One place that a socket can connect to, with nothing left to look up.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
};

enum class Lookup {
  numeric_only,  // never asks a name server
  blocking,      // may wait for one, as long as the system's resolver does
};

// The places behind `address`, in the order to try them, at least one.  Throws ConnectionLost when there is none.
std::vector<Endpoint> endpoints_of(const RedisAddress& address, Lookup lookup);

// The number of a place on the network, as text.
std::string numeric_host(const Endpoint& endpoint);

// Begins to connect a non-blocking socket.  Once it is writable, check_connected() reports the result.  Returns an
// empty one if a Unix socket's listener has too many waiting already: poll() cannot wait for that, so try again later.
// Throws as check_connected() if it is refused at once.
UniqueFd begin_connect(const Endpoint& endpoint);

// Throws std::system_error unless the socket is connected, and ConnectionLost (login_refused) where this user, or
// this machine, may not connect there.
void check_connected(int fd);

}  // namespace brood
