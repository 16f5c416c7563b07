#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"

namespace brood {

// Limits the requests of each name: so many a second in the long run, and bursts of twice as many.  Thread-safe.
class RequestRate {
 public:
  explicit RequestRate(double a_second) : a_second_(a_second) {}  // 0: any number

  // Returns nullopt if the name may make a request, and counts it; else the whole seconds until it may.
  std::optional<std::chrono::seconds> wait_of(const std::string& name, SteadyTime now);

  static constexpr std::size_t most_names = 1'000;  // remembered; beyond that, the oldest is forgotten
  std::size_t names() const;

 private:
  struct Allowance {
    double left;
    SteadyTime counted_at;
  };
  void make_room();

  const double a_second_;
  mutable std::mutex mutex_;
  std::map<std::string, Allowance> allowances_;
};

}  // namespace brood
