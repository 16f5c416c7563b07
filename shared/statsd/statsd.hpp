#pragma once

#include <atomic>
#include <cstdint>

#include "shared/statsd/statsd_lines.hpp"
#include "shared/statsd/statsd_socket.hpp"

namespace brood {

// Sends counters and times of jobs to a StatsD server.
class Statsd {
 public:
  // `settings` must have an address.  `dropped` counts lost datagrams; may be nullptr.
  Statsd(const StatsdSettings& settings, std::atomic<std::uint64_t>* dropped);

  // The lines to be sent next.
  StatsdLines& lines() { return lines_; }
  // Sends all lines without waiting.  Returns how many datagrams were lost.
  std::uint64_t send();

 private:
  StatsdLines lines_;
  StatsdSocket socket_;
  std::atomic<std::uint64_t>* dropped_;
};

}  // namespace brood
