#include "shared/store/report/signals.hpp"

#include "shared/store/keys.hpp"

namespace brood {
namespace {

constexpr std::string_view seconds_to_be_followed = "60";

}  // namespace

std::vector<Command> leave_signal(std::string_view identity, std::string_view signal) {
  const RedisKey key = keys::signals(identity);
  return {{"LPUSH", key, signal}, {"EXPIRE", key, seconds_to_be_followed}};
}

bool read_was_left(ReplyView first_reply) { return first_reply.is_integer(); }

}  // namespace brood
