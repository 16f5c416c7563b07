#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "shared/redis/async_connection.hpp"
#include "supervisor/report/metrics.hpp"

namespace brood {

// Tells Redis what the classes have done, a few at a time and the next when those are answered.  What Redis refuses is
// kept and sent again later, and logged once.
class MetricsFlush : public std::enable_shared_from_this<MetricsFlush> {
 public:
  explicit MetricsFlush(AsyncConnection& redis) : redis_(redis) {}

  Metrics& metrics() { return metrics_; }

  // `done` is called once: when all is told, or when no more can be told now.
  void begin(std::chrono::milliseconds deadline, std::function<void()> done);

 private:
  void go_on(std::chrono::milliseconds deadline, const std::function<void()>& done);
  bool settle(const std::vector<ClassUsage>& told, const AsyncConnection::Result& answer);

  AsyncConnection& redis_;
  Metrics metrics_;
  bool refused_ = false;
  std::int64_t keys_refused_ = 0;
};

}  // namespace brood
