#pragma once

#include <string>
#include <string_view>

#include "shared/base/clock.hpp"
#include "shared/base/time_unit.hpp"

namespace brood {

// The record in `dead` of a text that is no job; `reason` is a sentence.
//
//   an object                             with error members, which the Web UI shows
//   other JSON, such as [1], 5 or null    an object with these members, the value as its only argument, and `jid`:
//                                         Sidekiq's page and API fail at a dead job that is such a value
//   a string, or no JSON                  the text itself, as Sidekiq keeps it
//
// The time is in the payload's own unit, or in `otherwise`.
std::string record_of_unreadable(std::string_view text, const std::string& reason, const std::string& jid, WallTime now,
                                 TimeUnit otherwise);

}  // namespace brood
