#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// Which of many queues hold jobs: a worker that fetches from those alone need not ask for a few of them at a time.
// Looking at all of them costs Redis time.  So a worker looks for a hundredth of its own time at most, and meanwhile
// goes by what it saw and by what its supervisor rings for.
class FilledQueues {
 public:
  FilledQueues(Channel& redis, const SlotRecord& record) : redis_(redis), record_(record) {}

  // Those that held jobs at the last look, and the one for which the worker was freed, in the same order.  A few are
  // returned unasked, and so are all where Redis does not tell; none where it is away.
  std::vector<std::string> among(std::vector<std::string> queues);

  // A fetch from these in their order has brought jobs of `found`; empty: none.
  void note_fetched(const std::vector<std::string>& queues, const std::string& found);

  // The worker has gone to another shard.
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
