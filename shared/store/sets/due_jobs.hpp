#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/outcome.hpp"
#include "shared/store/script.hpp"

namespace brood {

// A member of `schedule` or `retry` whose time has come, and what is to be pushed for it.
struct DueJob {
  std::string_view member;      // as read
  std::string_view score_text;  // as read: a user who rescheduled it since wins
  std::string queue;            // bare name
  std::string payload_to_push;
};

// The results for the jobs of one script.
struct MoveCounts {
  std::size_t moved = 0;
  std::size_t gone = 0;   // another process moved, deleted or rescheduled it
  std::size_t stuck = 0;  // the queue's key is no list; the job stays where it is
};

inline constexpr std::size_t max_jobs_moved = 250;  // by one script: half a millisecond of Redis

// Moves jobs, at least one and at most max_jobs_moved, from `set_key` to their queues, each guarded by its score.  Jobs
// of one queue are pushed in the order given.
ScriptCall move_due(std::string_view set_key, std::vector<DueJob> jobs);

// Throws UnexpectedReply.
MoveCounts read_moved(ReplyView reply);

// Moves a due member that is too large to be sent to Redis, inside Redis.  It stays unchanged: without a new
// enqueued_at, or without the reason why it goes to dead.  Guarded by its score as read; answers as move_due does for
// one job.
ScriptCall move_due_as_it_is(std::string_view set_key, std::string_view member, std::string_view score_text,
                             std::string_view queue);
ScriptCall move_due_to_dead_as_it_is(std::string_view set_key, std::string_view member, std::string_view score_text,
                                     WallTime now, const DeadLimits& limits);

namespace scripts {
extern const Script move_due_as_it_is;
}

// Moves a due member that no queue can take from `set_key` to the dead set, as `kept`, guarded by its score as read.
// Answers as move_due does for one job; stuck if `dead` is no sorted set.
ScriptCall move_due_to_dead(std::string_view set_key, const std::string& member, const std::string& score_text,
                            const std::string& kept, WallTime now, const DeadLimits& limits);

}  // namespace brood
