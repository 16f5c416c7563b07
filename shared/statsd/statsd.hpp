#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "shared/base/unique_fd.hpp"
#include "shared/statsd/statsd_lines.hpp"

namespace brood {

// Sends datagrams without waiting: a datagram that the kernel does not take at once is lost.  The receiver may come and
// go.
class StatsdSocket {
 public:
  // "127.0.0.1:8125", "[::1]:8125" or "unix:/path".  Throws std::invalid_argument.
  explicit StatsdSocket(const std::string& address);

  // Returns whether the kernel has taken the datagram.
  bool send(const std::string& datagram);

 private:
  UniqueFd fd_;
  sockaddr_storage to_{};
  socklen_t to_size_ = 0;
};

// Reports the ends of jobs to a StatsD server.
class Statsd {
 public:
  // `settings` must have an address.  `dropped` counts lost datagrams; may be nullptr.
  Statsd(const StatsdSettings& settings, std::atomic<std::uint64_t>* dropped);

  // The lines to be sent next.
  StatsdLines& lines() { return lines_; }
  // Sends all lines without waiting.  Returns the number of lost datagrams.
  std::uint64_t send();

 private:
  StatsdLines lines_;
  StatsdSocket socket_;
  std::atomic<std::uint64_t>* dropped_;
};

}  // namespace brood
