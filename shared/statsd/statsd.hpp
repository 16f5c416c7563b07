#pragma once

#include <atomic>
#include <cstdint>

#include "shared/statsd/statsd_lines.hpp"
#include "shared/statsd/statsd_socket.hpp"

namespace brood {

// Tells a StatsD server what becomes of jobs.
class Statsd {
 public:
  // `settings` name an address.  `dropped` counts datagrams that are lost; nullptr: nobody counts.
  Statsd(const StatsdSettings& settings, std::atomic<std::uint64_t>* dropped);

  // What is to be sent next.
  StatsdLines& lines() { return lines_; }
  // Sends all of it and waits for nobody.  Returns how many datagrams were lost.
  std::uint64_t send();

 private:
  StatsdLines lines_;
  StatsdSocket socket_;
  std::atomic<std::uint64_t>* dropped_;
};

}  // namespace brood
