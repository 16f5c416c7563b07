#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/redis/address.hpp"
#include "supervisor/watch/sample.hpp"

namespace brood::watch {

// Samples Redis at an interval in a separate thread, so that a slow Redis does not hold up the screen.  Spends at most
// a tenth of the time on requests.
class RedisSampler {
 public:
  // The thread calls `locate`, which returns all shards, before each new connection; it may throw.  Block all signals
  // that this process waits for before the construction, so that the thread does not receive them.
  using Locate = std::function<std::vector<RedisAddress>()>;
  RedisSampler(Locate locate, std::chrono::milliseconds interval);
  ~RedisSampler();  // as stop()
  RedisSampler(const RedisSampler&) = delete;
  RedisSampler& operator=(const RedisSampler&) = delete;

  int fd() const;                   // readable if there is a sample to take
  std::optional<RedisLook> take();  // the latest sample, once

  // Ends the thread.  Returns false if the thread is resolving a name or connecting, which cannot be interrupted; then
  // the process should end without running destructors.
  bool stop();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace brood::watch
