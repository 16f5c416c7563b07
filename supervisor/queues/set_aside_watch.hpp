#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/async_connection.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// A queue of jobs that were set aside for a cap, and the queue that they came from.
struct LeftAside {
  std::string aside, home;
  bool operator==(const LeftAside&) const = default;
};

// Pure.  Those of queues of ours that no cap of ours sets jobs aside for any more.
std::vector<LeftAside> left_aside(const std::vector<std::string>& asides, const std::vector<CapsuleSettings>& ours);

// Gives jobs back to their queues that wait for a place of a cap which is configured no more.
class SetAsideWatch {
 public:
  SetAsideWatch(EventLoop& loop, AsyncConnection& redis,
                std::chrono::nanoseconds between_looks_in_vain = std::chrono::seconds(30));

  // Looks now: when Redis has become usable, and when the configuration has changed.  As long as there are jobs that
  // were set aside it looks again, and some times more: workers that go by the old configuration may set more aside,
  // and Redis may refuse to tell for a while.
  void look(const std::vector<CapsuleSettings>& ours);

 private:
  void ask();
  void give_back(std::vector<LeftAside> left);

  AsyncConnection::Scope redis_;
  const std::chrono::nanoseconds between_looks_in_vain_;
  Timer next_;
  std::vector<CapsuleSettings> ours_;
  SteadyTime looks_until_{};
  bool asking_ = false;
};

}  // namespace brood
