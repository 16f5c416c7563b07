#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shared/job/uniqueness.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"
#include "shared/store/sets/due_jobs.hpp"

namespace brood {

// The lock that a dead job has let go of, and takes again when it is raised.
struct LockOfDead {
  std::string lock, jid;
  std::chrono::milliseconds longest{0};  // that it lives; 0: as long as the job
  bool may_wait = false;                 // it is raised where another holds it too, and begins once it is free
};
std::optional<LockOfDead> lock_of_dead(std::string_view payload);  // nullopt: it had none

// Moves such a job from the dead set to its queue.
ScriptCall raise_unique(DueJob job, const LockOfDead& lock);

struct Raised {
  enum class Kind {
    moved,
    gone,   // somebody else moved or deleted it
    stuck,  // the queue's key is no list
    held,   // another job holds its lock: it stays
  } kind = Kind::moved;
  std::string holder = {};  // the jid of that
};
Raised read_raised(ReplyView reply);  // throws UnexpectedReply

}  // namespace brood
