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

// The set-aside queues of our queues that no cap of ours uses any more.  `ours` are the capsules of every generation
// whose workers fetch.  Pure.
std::vector<LeftAside> left_aside(const std::vector<std::string>& asides, const std::vector<CapsuleSettings>& ours);

// Returns jobs that were set aside for a cap to their queues, once no configuration has that cap.
class SetAsideWatch {
 public:
  // The pause between two looks.
  struct Pace {
    std::chrono::nanoseconds in_vain = std::chrono::seconds(30);  // while no queue is known
    std::chrono::nanoseconds soon_for =
        std::chrono::minutes(10);  // after a change; a rolling restart may take its time
    std::chrono::nanoseconds later = std::chrono::seconds(60);
  };
  SetAsideWatch(EventLoop& loop, AsyncConnection& redis, Pace pace);
  SetAsideWatch(EventLoop& loop, AsyncConnection& redis) : SetAsideWatch(loop, redis, Pace()) {}

  // Looks now.  Call it when Redis has become usable, and when the workers' configuration has changed.
  //
  // For some minutes it looks again soon: workers under the old configuration may set more jobs aside, and Redis may
  // not answer for a while.  Then it looks once a minute: a worker's recovery may give back jobs hours later.
  void look(const std::vector<CapsuleSettings>& ours);

 private:
  void ask();
  void give_back(std::vector<LeftAside> left);

  AsyncConnection::Scope redis_;
  const Pace pace_;
  Timer next_;
  std::vector<CapsuleSettings> ours_;
  SteadyTime looks_soon_until_{};
  bool asking_ = false;
};

}  // namespace brood
