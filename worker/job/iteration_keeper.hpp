#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/iteration.hpp"

namespace brood {

// Keeps the states of iterable jobs in Redis, over the worker's own connection, which is idle while a job runs.  If
// Redis did not take a state, the latest one of each job is kept here, and sent again before the jobs are settled.  So
// the next run of a job goes on where the last one stopped.
class IterationKeeper {
 public:
  explicit IterationKeeper(Channel& redis);

  // Loads the state of a job.  While Redis is away it asks again after each pause, until `pause` returns false; then it
  // returns nullopt.  Throws UnexpectedReply if the key holds no state.
  std::optional<IterationState> load(const std::string& jid,
                                     const std::function<bool(std::chrono::milliseconds)>& pause);

  // Saves a state.  Returns true if the job was cancelled.  Blocks for about a second at most; if Redis has not
  // answered then, it is not asked again for a few seconds.  If Redis refuses a state for its size, the earlier one
  // stays.
  bool save(const std::string& jid, const IterationState& state);

  // Deletes the state of a job.  Call it when the job is done and the scoreboard shows that: after a crash between the
  // two the job would run from its beginning.
  void drop(const std::string& jid);

  // Whether the cursor of some job is not in Redis yet.  The cursor of a job that is done does not count: it expires by
  // itself.
  bool has_unsaved_cursor() const;
  // Sends the states that Redis has not taken yet.  Call it before a settle.  `pause` throws to give up.
  void deliver(const std::function<void(std::chrono::milliseconds)>& pause);

 private:
  struct Write {
    std::string jid;
    Command command;
    bool saves_cursor = false;
  };
  enum class Sent { applied, cancelled, refused, too_large, not_now };

  Reply ask(const Command& command, const Patience& patience);
  Sent send(Write& write, const Patience& patience);
  bool is_cancelled(const std::string& jid);
  Sent write_or_keep(Write write);

  Channel& redis_;
  std::vector<Write> unsaved_;
  SteadyTime ask_again_{};
  std::size_t refused_bytes_;  // of the smallest cursor of this job that Redis has refused
};

}  // namespace brood
