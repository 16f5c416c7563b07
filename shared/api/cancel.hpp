#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "shared/api/push/client_connection.hpp"

namespace brood {

// Removes the job from `schedule`; false when it was not there.  Each page is read in a `conversation` of its own, so
// that others can use the connection in between.
using Question = std::function<bool(ClientConnection&)>;
bool cancel_scheduled(std::string_view jid, const std::function<bool(const Question&)>& conversation);

// The same for a job scheduled at exactly this time, in epoch seconds.
bool cancel_scheduled_at(ClientConnection& redis, std::string_view jid, double time);

}  // namespace brood
