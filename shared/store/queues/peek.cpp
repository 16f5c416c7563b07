#include "shared/store/queues/peek.hpp"

#include "shared/store/keys.hpp"

namespace brood {

// Tail to tail: what is there stays where it is.
Command peek(std::string_view queue, std::chrono::seconds longest) {
  const RedisKey key = keys::queue(queue);
  return {"BLMOVE", key, key, "RIGHT", "RIGHT", std::to_string(longest.count())};
}

std::string read_peek(ReplyView reply) { return reply.is_nil() ? "" : std::string(reply.text()); }

}  // namespace brood
