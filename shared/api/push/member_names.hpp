#pragma once

#include <brood/push.hpp>

namespace brood {

// Checks a push that a person or a program has written as JSON, where a misspelt member would be ignored silently.
// Throws std::invalid_argument if the job has a member that neither brood nor Sidekiq knows; the message names the
// member that may have been meant.  Sources: the payload's members in Sidekiq 6 to 8, and those of brood.toml(5) and
// <brood/options.hpp>.
void check_member_names(const Push& job);

}  // namespace brood
