#pragma once

#include <string>
#include <unordered_set>
#include <vector>

namespace brood {

// Queues that held nothing when they were looked at, and have not changed since, where every change is told.  Pure.
class EmptyQueues {
 public:
  bool has(const std::string& queue) const { return empty_.contains(queue); }

  // What is told from now on may come before the answer to this look, though it happened later.
  void begin_look() { changed_.clear(); }
  // The look has found all of these empty but `others`.
  void note_empty(const std::vector<std::string>& looked_at, const std::unordered_set<std::string>& others);
  // True: it counted as empty, and is to be looked at.
  bool note_change(const std::string& queue);
  // Nothing is known any more: changes may have been missed.
  void forget();

 private:
  std::unordered_set<std::string> empty_;
  std::unordered_set<std::string> changed_;  // since the last look began
};

}  // namespace brood
