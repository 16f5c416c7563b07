#pragma once

#include <poll.h>

#include <optional>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/errors/error_answer.hpp"

namespace brood {

// One try to hand a report to a service or a program.  It never waits by itself.
class ReportAttempt {
 public:
  virtual ~ReportAttempt() = default;

  // Adds the descriptors to poll.
  virtual void watch(std::vector<pollfd>& fds) const = 0;
  // When to call go_on() even if none of them is ready.
  virtual SteadyTime next_look(SteadyTime now) const = 0;
  // Goes on as far as it can.  Returns the verdict once there is one.
  virtual std::optional<ErrorVerdict> go_on(SteadyTime now) = 0;
};

}  // namespace brood
