#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// A member of `schedule` or `retry` whose time has come, and what is to be pushed for it.
struct DueJob {
  std::string member;      // as read
  std::string score_text;  // as read: a user who rescheduled it since wins
  std::string queue;       // bare name
  std::string payload_to_push;
};

enum class MoveResult {
  moved,
  gone,       // somebody else moved, deleted or rescheduled it
  bad_queue,  // the queue's key is no list; the job stays where it is
};

inline constexpr std::size_t max_jobs_moved = 100;  // by one script, so that it does not hold up Redis

// Moves up to max_jobs_moved jobs from `set_key` to their queues, each guarded by its score.
ScriptCall move_due(std::string_view set_key, const std::vector<DueJob>& jobs);

// One result for each job, in order.  Throws UnexpectedReply.
std::vector<MoveResult> read_moved(ReplyView reply);

}  // namespace brood
