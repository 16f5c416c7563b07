#pragma once

#include <string>
#include <string_view>

#include "shared/base/clock.hpp"
#include "shared/store/outcome.hpp"
#include "shared/store/script.hpp"

namespace brood {

// Moves a due member that no queue can take from `set_key` to the dead set, as `kept`, guarded by its score as read.
// Answers as move_due does for one job; stuck means that `dead` is no sorted set.
ScriptCall move_due_to_dead(std::string_view set_key, const std::string& member, const std::string& score_text,
                            const std::string& kept, WallTime now, const DeadLimits& limits);

}  // namespace brood
