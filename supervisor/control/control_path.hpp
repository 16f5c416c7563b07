#pragma once

#include <string>

#include "shared/base/unique_fd.hpp"

namespace brood {

// `<directory>/<identity with ':' and '/' as '_'>.control`, beside the scoreboard.
std::string control_socket_path(const std::string& directory, const std::string& identity);

// Both functions work with paths longer than a sockaddr_un.  They do not wait, and the descriptors that they return are
// non-blocking.

// A stream socket of mode 0600 that listens at `path`.  It replaces a socket there on which nobody listens.  Throws
// std::system_error, or std::runtime_error when somebody listens there or the file is no socket.
UniqueFd listen_at(const std::string& path, int backlog);

// EAGAIN means that the listener's queue is full.  Throws std::system_error.
UniqueFd connect_to(const std::string& path);

}  // namespace brood
