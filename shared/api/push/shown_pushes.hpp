#pragma once

#include <memory>

#include "shared/api/push/push_receiver.hpp"

namespace brood {

// By this variable `brood perform` and `brood replay` tell the clients of the job, and of what it starts, to show their
// pushes and to send none: BROOD_PUSHES=show.
inline constexpr const char* pushes_variable = "BROOD_PUSHES";
inline constexpr const char* shows_pushes = "show";

// Writes each push to standard error, and sends none.  Null if the environment does not ask for it.
std::shared_ptr<PushReceiver> shown_pushes_if_told();

}  // namespace brood
