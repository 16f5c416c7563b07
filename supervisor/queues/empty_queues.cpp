#include "supervisor/queues/empty_queues.hpp"

namespace brood {

void EmptyQueues::note_empty(const std::vector<std::string>& looked_at, const std::unordered_set<std::string>& others) {
  for (const std::string& queue : looked_at) {
    if (!others.contains(queue) && !changed_.contains(queue)) empty_.insert(queue);
  }
}

bool EmptyQueues::note_change(const std::string& queue) {
  changed_.insert(queue);
  return empty_.erase(queue) > 0;
}

void EmptyQueues::forget() {
  empty_.clear();
  changed_.clear();
}

}  // namespace brood
