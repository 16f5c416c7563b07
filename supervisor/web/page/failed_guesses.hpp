#pragma once

#include <map>
#include <mutex>
#include <string>

#include "shared/base/clock.hpp"

namespace brood {

// How often wrong passwords were brought in the minute that runs: after so many of a name, or in all, none is looked at
// until it is over.  Used by several threads.
class FailedGuesses {
 public:
  static constexpr int most_of_name = 10, most_in_all = 100;

  void note(const std::string& name, SteadyTime now);
  bool are_too_many(const std::string& name, SteadyTime now) const;

 private:
  bool is_over(SteadyTime now) const;

  mutable std::mutex mutex_;
  SteadyTime begun_{};
  int in_all_ = 0;
  std::map<std::string, int> of_name_;  // as many names as guesses at most
};

}  // namespace brood
