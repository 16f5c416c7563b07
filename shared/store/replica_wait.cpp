#include "shared/store/replica_wait.hpp"

#include <string>

#include "shared/store/keys.hpp"

namespace brood {

Command mark_for_wait() {
  // HDEL changes nothing, and a full Redis lets the rest through.
  constexpr const char* write =
      "redis.call('HDEL', KEYS[1], '~') redis.call('HSET', KEYS[1], 'at', 1) return redis.call('EXPIRE', KEYS[1], 60)";
  return {"EVAL", write, "1", keys::wait_mark};
}

Command wait_for(const ReplicaWait& wait) {
  return {"WAIT", std::to_string(wait.replicas), std::to_string(wait.timeout.count())};
}

std::int64_t confirmed_by(ReplyView reply) { return reply.is_integer() ? reply.integer() : 0; }

}  // namespace brood
