#include "supervisor/web/page/failed_guesses.hpp"

namespace brood {

using namespace std::chrono_literals;

void FailedGuesses::note(const std::string& name, SteadyTime now) {
  const std::lock_guard lock(mutex_);
  if (is_over(now)) {
    begun_ = now;
    in_all_ = 0;
    of_name_.clear();
  }
  ++in_all_;
  ++of_name_[name];
}

bool FailedGuesses::are_too_many(const std::string& name, SteadyTime now) const {
  const std::lock_guard lock(mutex_);
  if (is_over(now)) return false;
  const auto found = of_name_.find(name);
  return in_all_ >= most_in_all || (found != of_name_.end() && found->second >= most_of_name);
}

bool FailedGuesses::is_over(SteadyTime now) const { return in_all_ == 0 || now - begun_ >= 1min; }

}  // namespace brood
