#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "shared/redis/async_connection.hpp"
#include "supervisor/report/metrics.hpp"

namespace brood {

// Tells Redis what the classes have done, a few at a time and the next when those are answered.  What Redis refuses is
// kept for another time, and said once.
class MetricsFlush {
 public:
  MetricsFlush(AsyncConnection& redis, Metrics& metrics) : redis_(redis), metrics_(metrics) {}

  // `done` is called once: when all is told, or when no more can be told now.
  void begin(std::chrono::milliseconds deadline, std::function<void()> done);

 private:
  void go_on(std::chrono::milliseconds deadline, const std::function<void()>& done);
  bool settle(const std::vector<ClassUsage>& told, const AsyncConnection::Result& answer);

  AsyncConnection::Scope redis_;
  Metrics& metrics_;
  bool refused_ = false;
  std::int64_t keys_refused_ = 0;
};

}  // namespace brood
