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

 private:
  void look_for_queues();

  const CapsuleSettings& capsule_;
  Channel& redis_;
  std::mt19937_64 random_;
  std::vector<std::string> known_;
  SteadyTime looked_{};
};

}  // namespace brood
