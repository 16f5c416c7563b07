#pragma once

#include <cstddef>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/scoreboard/class_usage.hpp"
#include "shared/store/script.hpp"

namespace brood {

// So many classes hold up Redis for less than a millisecond.
inline constexpr std::size_t most_classes_a_call = 16;

// Adds what classes have done and used, at most most_classes_a_call of them, to the metrics of Sidekiq 7 and 8 (wire
// specification, section 5.7) and to the day's usage.  The reply is how many keys refused; an error reply says that
// nothing was added.
ScriptCall count_runs(const std::vector<ClassUsage>& classes, WallTime now);

}  // namespace brood
