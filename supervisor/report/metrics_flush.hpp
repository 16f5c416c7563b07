#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "shared/redis/async_connection.hpp"
#include "supervisor/report/metrics.hpp"

namespace brood {

// Sends the metrics of job classes to Redis, a few classes at a time.  Metrics that Redis refuses are kept for later,
// and the refusal is logged once.
class MetricsFlush {
 public:
  MetricsFlush(AsyncConnection& redis, Metrics& metrics) : redis_(redis), metrics_(metrics) {}

  // `done` is called once: when all is sent, or no more can be sent now.
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
