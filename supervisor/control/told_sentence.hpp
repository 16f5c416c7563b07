#pragma once

#include <chrono>
#include <string>

#include "shared/base/clock.hpp"

namespace brood {

// What clients that wait for something were told last.  They hear a sentence when it is another one, and again every
// 10 s, so that they see that somebody is there.
class ToldSentence {
 public:
  // Whether `sentence` is to be told now; then it counts as told.
  bool is_due(const std::string& sentence, SteadyTime now) {
    if (sentence == sentence_ && now - at_ < longest_silence) return false;
    sentence_ = sentence;
    at_ = now;
    return true;
  }
  void forget() { sentence_.clear(); }  // other clients wait

 private:
  static constexpr std::chrono::seconds longest_silence{10};

  std::string sentence_;
  SteadyTime at_{};
};

}  // namespace brood
