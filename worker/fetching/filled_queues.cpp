#include "worker/fetching/filled_queues.hpp"

#include <chrono>
#include <cstddef>

#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/queues/queue_sizes.hpp"

namespace brood {
namespace {

constexpr std::size_t few_queues = 2 * max_queues_asked;
constexpr std::chrono::seconds longest_look(10);

}  // namespace

std::vector<std::string> FilledQueues::among(std::vector<std::string> queues) {
  if (queues.size() <= few_queues) return queues;
  const std::vector<std::vector<std::string>> asked = slices_to_size(queues);
  std::vector<Command> commands;
  for (const std::vector<std::string>& slice : asked) {
    const ScriptCall call = queue_sizes(slice);
    commands.push_back(script_is_known_ ? call.evalsha() : call.eval());
  }
  try {
    const std::vector<Reply> replies = redis_.call_patiently(commands, {.longest = longest_look});
    std::vector<std::string> filled;
    for (std::size_t i = 0; i < replies.size(); ++i) {
      script_is_known_ = replies[i].view().error().empty();
      if (!script_is_known_) return queues;
      for (const QueueSizes::Filled& one : read_queue_sizes(asked[i], replies[i].view()).filled)
        filled.push_back(one.queue);
    }
    return filled;
  } catch (const ConnectionLost&) {  // the settle that follows finds it away too
    return {};
  }
}

}  // namespace brood
