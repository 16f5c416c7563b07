#pragma once

#include <string>

#include "shared/base/unique_fd.hpp"

namespace brood {

// `<directory>/<identity with ':' and '/' as '_'>.control`, beside the scoreboard.
std::string control_socket_path(const std::string& directory, const std::string& identity);

// Both work with paths longer than a sockaddr_un, do not wait, and return descriptors that do not either.

// A stream socket of mode 0600 that listens at `path`, in the place of a socket there that nobody listens on.  Throws
// std::system_error, or std::runtime_error when somebody does or the file is something else.
UniqueFd listen_at(const std::string& path, int backlog);

// EAGAIN means that the queue of whoever listens is full.  Throws std::system_error.
UniqueFd connect_to(const std::string& path);

}  // namespace brood
