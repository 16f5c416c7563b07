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

// Looks at Redis again and again in a thread of its own, so that a Redis that is slow or away does not hold up the
// screen.  At most a tenth of the time goes into asking.
class RedisEye {
 public:
  // That thread calls `locate`, which names all shards, before it connects anew; it may throw.  Before you make one,
  // block all signals that this process waits for: the thread must not get them.
  using Locate = std::function<std::vector<RedisAddress>()>;
  RedisEye(Locate locate, std::chrono::milliseconds interval);
  ~RedisEye();  // as stop()
  RedisEye(const RedisEye&) = delete;
  RedisEye& operator=(const RedisEye&) = delete;

  int fd() const;                   // readable when there is a look to take
  std::optional<RedisLook> take();  // the latest, once

  // Ends the thread.  False: the thread still looks up a name or connects, which nothing can cut short.  Then the
  // process should end without running destructors.
  bool stop();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace brood::watch
