#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// Finds out which of many queues hold jobs, so that a worker fetches only from those.  To look at all of them costs
// Redis time.  So a worker spends at most a hundredth of its own time on looks.  Between them it uses the result of the
// last look and the queue for which its supervisor has freed it.
class FilledQueues {
 public:
  FilledQueues(Channel& redis, const SlotRecord& record) : redis_(redis), record_(record) {}

  // Those of `queues` that held jobs at the last look, and the one for which the worker was freed, in the same order.
  // Returns all of them if they are few, or if Redis refuses; none if Redis is away.
  std::vector<std::string> among(std::vector<std::string> queues);

  // Notes that a fetch from these queues, in their order, has brought jobs of `found`; empty: none.
  void note_fetched(const std::vector<std::string>& queues, const std::string& found);

  // Call it when the worker has gone to another shard.
  void forget() {
    looked_at_ = {};
    filled_.clear();
  }

 private:
  enum class Looked { yes, refused, in_vain };
  Looked look(const std::vector<std::string>& queues);

  Channel& redis_;
  const SlotRecord& record_;
  std::uint32_t rings_ = 0;
  std::unordered_set<std::string> filled_;
  SteadyTime looked_at_{};
  std::chrono::nanoseconds look_took_{};
};

}  // namespace brood
