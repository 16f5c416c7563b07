#pragma once

#include <string>

#include "shared/base/unique_fd.hpp"

namespace brood {

// `<directory>/<identity with ':' and '/' as '_'>.control`, beside the scoreboard.
std::string control_socket_path(const std::string& directory, const std::string& identity);

// Both functions accept paths longer than a sockaddr_un.  They do not wait, and return non-blocking descriptors.

// Returns a stream socket of mode 0600 that listens at `path`.  Replaces a socket there that has no listener.  Throws
// std::system_error; throws std::runtime_error if the socket there has a listener or the file is no socket.
UniqueFd listen_at(const std::string& path, int backlog);

// Throws std::system_error; EAGAIN means that the listener's queue is full.
UniqueFd connect_to(const std::string& path);

}  // namespace brood
