#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// The lock by which schedulers spare each other the same work.  It guards nothing: every move is guarded by the score
// that was read.
enum class SchedulerLock {
  ours,
  of_another,
  none,  // Redis refuses it (it is full, say), or the key is somebody else's
};

// Takes it, unless another has it; it expires by itself.  The last reply says whose it is then.
std::vector<Command> take_scheduler_lock(std::string_view identity, std::chrono::milliseconds lifetime);
SchedulerLock read_scheduler_lock(ReplyView last, std::string_view identity);

// Lets it live for that long again, if it is still ours: it may have expired, and be another's by now.  Whatever is
// answered may be ignored.
Command keep_scheduler_lock(std::string_view identity, std::chrono::milliseconds lifetime);

// Ends it, whosever it is.
Command end_scheduler_lock();

}  // namespace brood
