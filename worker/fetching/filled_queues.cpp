#include "worker/fetching/filled_queues.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/queues/queue_sizes.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t few_queues = 2 * max_queues_asked;
constexpr std::chrono::seconds longest_look(10);
constexpr int share_of_looks = 100;  // a look is followed by at least this many times its length without one
constexpr std::chrono::nanoseconds longest_between_looks = 5s;  // a slow Redis may have become fast again

}  // namespace

std::vector<std::string> FilledQueues::among(std::vector<std::string> queues) {
  if (queues.size() <= few_queues) return queues;
  const std::string rung = rung_for(record_, rings_);
  const auto until_next = std::min(share_of_looks * look_took_, longest_between_looks);
  if (rung.empty() && (looked_at_ == SteadyTime{} || steady_now() - looked_at_ >= until_next)) {
    switch (look(queues)) {
      case Looked::yes:
        break;
      case Looked::refused:
        return queues;
      case Looked::in_vain:
        return {};
    }
  }
  std::erase_if(queues, [&](const std::string& queue) { return queue != rung && !filled_.contains(queue); });
  return queues;
}

FilledQueues::Looked FilledQueues::look(const std::vector<std::string>& queues) {
  const SteadyTime begun = steady_now();
  const std::vector<std::vector<std::string>> asked = slices_to_size(queues);
  std::vector<Command> commands;
  for (const std::vector<std::string>& slice : asked) {
    commands.push_back(queue_sizes(slice).command());
  }
  filled_.clear();
  looked_at_ = {};
  try {
    const std::vector<Reply> replies = redis_.call_patiently(commands, {.longest = longest_look});
    for (std::size_t i = 0; i < replies.size(); ++i) {
      if (replies[i].view().is_error()) return Looked::refused;
      for (const QueueSizes::Filled& one : read_queue_sizes(asked[i], replies[i].view()).filled)
        filled_.insert(one.queue);
    }
  } catch (const ConnectionLost&) {  // the next settle notices it, too
    return Looked::in_vain;
  }
  looked_at_ = steady_now();
  look_took_ = looked_at_ - begun;
  return Looked::yes;
}

void FilledQueues::note_fetched(const std::vector<std::string>& queues, const std::string& found) {
  for (const std::string& queue : queues) {
    if (queue == found) return;
    filled_.erase(queue);
  }
}

}  // namespace brood
