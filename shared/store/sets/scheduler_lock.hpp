#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// The lock that spares schedulers the same work twice.  It protects nothing: every move is guarded by the score that
// was read.
enum class SchedulerLock {
  ours,
  of_another,
  none,  // Redis refuses it (it is full, say), or the key has another type
};

// Takes the lock unless another scheduler has it.  It expires by itself.  The last reply shows whose it is then.
std::vector<Command> take_scheduler_lock(std::string_view identity, std::chrono::milliseconds lifetime);
SchedulerLock read_scheduler_lock(ReplyView last, std::string_view identity);

// Prolongs it, if it is still ours: it may have expired, and be another's by now.  The answer may be ignored.
Command keep_scheduler_lock(std::string_view identity, std::chrono::milliseconds lifetime);

// Deletes it, also if another holds it.
Command end_scheduler_lock();

}  // namespace brood
