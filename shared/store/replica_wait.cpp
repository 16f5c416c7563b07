#include "shared/store/replica_wait.hpp"

#include <string>

namespace brood {

Command wait_for(const ReplicaWait& wait) {
  return {"WAIT", std::to_string(wait.replicas), std::to_string(wait.timeout.count())};
}

std::int64_t confirmed_by(ReplyView reply) { return reply.is_integer() ? reply.integer() : 0; }

}  // namespace brood
