#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shared/base/clock.hpp"
#include "shared/store/in_flight/worker_death.hpp"

namespace brood {

// Returns the path of a dead worker's core file, or the command that finds it ("coredumpctl info 4711").  Returns
// nullopt if the kernel wrote none, or if its place is unknown.
std::optional<std::string> core_file(const CrashFacts& facts);

// Does the same for a given core(5) pattern.  `appends_pid` is the setting kernel.core_uses_pid.
std::optional<std::string> core_file(const CrashFacts& facts, std::string_view pattern, bool appends_pid, WallTime now);

}  // namespace brood
