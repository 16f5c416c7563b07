#pragma once

#include <random>
#include <string>
#include <vector>

#include "shared/clock.hpp"
#include "shared/config.hpp"
#include "shared/redis/connection.hpp"

namespace brood {

// The order in which each fetch of a worker asks its capsule's queues.  A capsule of queue "*" asks every queue that
// Redis knows, shuffled, and looks every few seconds which those are.
class QueueDraw {
 public:
  QueueDraw(const CapsuleSettings& capsule, Channel& redis);
  std::vector<std::string> next();
  bool may_grow() const { return capsule_.follows_all_queues; }  // queues may come that the next draw has

  // The queue that the capsule's worker `number` (0: the first) waits on when it is idle: they spread over all of them,
  // the first on the first.  Empty: no queue is known.
  std::string wait_queue(int number) const;

 private:
  void look_for_queues();

  const CapsuleSettings& capsule_;
  Channel& redis_;
  const std::vector<std::string> names_;
  std::mt19937_64 random_;
  std::vector<std::string> known_, sorted_;  // of a capsule that asks them all
  SteadyTime looked_{};
};

}  // namespace brood
