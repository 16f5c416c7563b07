#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "shared/base/clock.hpp"

namespace brood {

// When the certificates of a TLS conversation end; nullopt: that side shows none.
struct CertificateEnds {
  std::optional<WallTime> server, client;
};

// The same as sessions of any thread note it: seconds since the epoch; 0: none.
struct NotedCertificateEnds {
  std::atomic<std::int64_t> server = 0, client = 0;

  CertificateEnds read() const { return {time_of(server.load()), time_of(client.load())}; }

 private:
  static std::optional<WallTime> time_of(std::int64_t seconds) {
    if (seconds == 0) return std::nullopt;
    return WallTime(std::chrono::seconds(seconds));
  }
};

}  // namespace brood
