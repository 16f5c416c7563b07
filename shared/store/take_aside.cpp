#include "shared/store/take_aside.hpp"

#include "shared/store/keys.hpp"

namespace brood {

namespace scripts {
extern const Script take_aside;
}

std::string queue_aside(std::string_view queue) { return std::string(queue) + " (cleared)"; }
std::string set_aside_for_clearing(std::string_view set_key) { return "brood:cleared:" + std::string(set_key); }

ScriptCall take_queue_aside(std::string_view queue) {
  return {
      &scripts::take_aside, {keys::queue(queue), keys::queue(queue_aside(queue)), keys::queues}, {std::string(queue)}};
}

ScriptCall take_set_aside(std::string_view set_key) {
  return {&scripts::take_aside, {RedisKey(set_key), RedisKey(set_aside_for_clearing(set_key))}, {}};
}

TakenAside read_taken_aside(ReplyView reply) {
  return {reply[0].integer() == 1, static_cast<std::size_t>(reply[1].integer())};
}

}  // namespace brood
