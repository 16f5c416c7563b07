#pragma once

#include <chrono>
#include <string>

#include "shared/base/clock.hpp"

namespace brood {

// Limits how often waiting clients hear how something goes on: at once when the sentence changes, and otherwise every
// 10 s, so that they see that the supervisor still answers.
class ProgressThrottle {
 public:
  // Returns whether to send `sentence` now; then it counts as sent.
  bool is_due(const std::string& sentence, SteadyTime now) {
    if (sentence == sentence_ && now - at_ < longest_silence) return false;
    sentence_ = sentence;
    at_ = now;
    return true;
  }
  void forget() { sentence_.clear(); }  // another client waits, which has heard nothing yet

 private:
  static constexpr std::chrono::seconds longest_silence{10};

  std::string sentence_;
  SteadyTime at_{};
};

}  // namespace brood
