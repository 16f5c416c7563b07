#pragma once

#include <string>
#include <string_view>

#include "shared/base/clock.hpp"
#include "shared/store/outcome.hpp"
#include "shared/store/script.hpp"

namespace brood {

// Moves a due member that is too large for Redis to take from us, inside Redis: unchanged, so without a new
// enqueued_at, or without the reason why it goes to dead.  Guarded by its score as read; each answers as move_due does
// for one job.
ScriptCall move_due_as_it_is(std::string_view set_key, std::string_view member, std::string_view score_text,
                             std::string_view queue);
ScriptCall move_due_to_dead_as_it_is(std::string_view set_key, std::string_view member, std::string_view score_text,
                                     WallTime now, const DeadLimits& limits);

namespace scripts {
extern const Script move_due_as_it_is;
}

}  // namespace brood
