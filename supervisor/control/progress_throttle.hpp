#pragma once

#include <chrono>
#include <string>

#include "shared/base/clock.hpp"

namespace brood {

// Limits how often waiting clients get a progress sentence: at once when the sentence changes, otherwise every 10 s, as
// a sign that the supervisor still answers.
class ProgressThrottle {
 public:
  // Returns whether to send `sentence` now, and if so counts it as sent.
  bool is_due(const std::string& sentence, SteadyTime now) {
    if (sentence == sentence_ && now - at_ < longest_silence) return false;
    sentence_ = sentence;
    at_ = now;
    return true;
  }
  void forget() { sentence_.clear(); }  // for a new client, which has got no sentence yet

 private:
  static constexpr std::chrono::seconds longest_silence{10};

  std::string sentence_;
  SteadyTime at_{};
};

}  // namespace brood
