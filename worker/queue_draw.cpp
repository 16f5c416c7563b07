#include "worker/queue_draw.hpp"

#include <algorithm>

#include "shared/store/keys.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto look_again_after = 5s;

}  // namespace

QueueDraw::QueueDraw(const CapsuleSettings& capsule, Channel& redis)
    : capsule_(capsule), redis_(redis), names_(capsule.queues.names()), random_(std::random_device{}()) {}

std::vector<std::string> QueueDraw::next() {
  if (!capsule_.follows_all_queues) return capsule_.queues.draw(random_);
  if (looked_ == SteadyTime{} || steady_now() - looked_ > look_again_after) look_for_queues();
  std::shuffle(known_.begin(), known_.end(), random_);
  return known_;
}

std::string QueueDraw::wait_queue(int number) const {
  const std::vector<std::string>& queues = capsule_.follows_all_queues ? sorted_ : names_;
  if (queues.empty()) return "";
  return queues[static_cast<std::size_t>(number) % queues.size()];
}

void QueueDraw::look_for_queues() {
  try {
    const Reply reply = redis_.call({"SMEMBERS", keys::queues});
    if (!reply.view().is_array()) return;
    known_.clear();
    for (std::size_t i = 0; i < reply.view().size(); ++i) {
      const std::string_view name = reply.view()[i].text();
      // The in-flight hash says "no queue" with an empty name: what came from such a queue would not be seen again.
      if (!name.empty()) known_.emplace_back(name);
    }
    sorted_ = known_;
    std::sort(sorted_.begin(), sorted_.end());
    looked_ = steady_now();
  } catch (const ConnectionLost&) {
    // The fetch that follows finds Redis away too, and says so.
  }
}

}  // namespace brood
