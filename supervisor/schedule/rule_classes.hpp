#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/classes/published_classes.hpp"

namespace brood {

// The classes whose options periodic rules take: those that workers of the present generation have told, until then
// those of the generation before.  Before any worker has told them, a rule that goes by its class has no queue, so it
// waits.  Pure.
class RuleClasses {
 public:
  // `told` is the document of the present generation's workers; nullptr: they have told nothing yet.  If none has told
  // anything within `patience` from the first look, rules go on without classes.  Returns whether anything has changed
  // for the rules.
  bool look(const std::string* told, SteadyTime now, std::chrono::nanoseconds patience);

  bool are_known() const { return last_ || gave_up_; }
  PublishedClasses classes() const;

 private:
  std::optional<std::string> last_;  // document
  std::optional<SteadyTime> since_;  // the first look
  bool gave_up_ = false;
};

}  // namespace brood
