#pragma once

#include <string>
#include <vector>

#include "shared/redis/connection.hpp"

namespace brood {

// Which of many queues hold jobs: a worker that fetches from those alone need not ask for a few of them at a time.
class FilledQueues {
 public:
  explicit FilledQueues(Channel& redis) : redis_(redis) {}

  // Those that hold jobs now, in the same order, for one round trip.  A few are returned unasked, and so are all where
  // Redis does not tell; none where it is away.
  std::vector<std::string> among(std::vector<std::string> queues);

 private:
  Channel& redis_;
  bool script_is_known_ = true;  // Redis has that of queues' sizes
};

}  // namespace brood
