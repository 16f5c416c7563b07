#pragma once

#include <memory>

#include "shared/api/push/push_receiver.hpp"

namespace brood {

// `brood perform` and `brood replay` set this variable to BROOD_PUSHES=show.  Then clients in the job, and in
// processes that it starts, show their pushes and send none.
inline constexpr const char* pushes_variable = "BROOD_PUSHES";
inline constexpr const char* shows_pushes = "show";

// Writes each push to standard error, and sends none.  Null if the environment does not ask for it.
std::shared_ptr<PushReceiver> shown_pushes_if_told();

}  // namespace brood
