#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/classes/published_classes.hpp"

namespace brood {

// The classes whose options periodic rules take: as described by workers of the present generation, and until these
// have described them, by those of the previous one.  A rule that goes by its class waits for the first description:
// before, it has no queue.  Pure.
class RuleClasses {
 public:
  // `told` is the document of the present generation's workers; nullptr if they have written none yet.  If there is
  // none within `patience` from the first look, rules go on without classes.  Returns whether anything has changed for
  // the rules.
  bool look(const std::string* told, SteadyTime now, std::chrono::nanoseconds patience);

  bool are_known() const { return last_ || gave_up_; }
  PublishedClasses classes() const;

 private:
  std::optional<std::string> last_;  // document
  std::optional<SteadyTime> since_;  // the first look
  bool gave_up_ = false;
};

}  // namespace brood
