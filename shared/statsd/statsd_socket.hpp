#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <string>

#include "shared/base/unique_fd.hpp"

namespace brood {

// Sends datagrams without waiting: a datagram that the kernel does not take at once is lost.  The receiver may come
// and go.
class StatsdSocket {
 public:
  // "127.0.0.1:8125", "[::1]:8125" or "unix:/path".  Throws std::invalid_argument.
  explicit StatsdSocket(const std::string& address);

  // Whether the kernel has taken it.
  bool send(const std::string& datagram);

 private:
  UniqueFd fd_;
  sockaddr_storage to_{};
  socklen_t to_size_ = 0;
};

}  // namespace brood
