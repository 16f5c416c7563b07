#pragma once

#include <string_view>

namespace brood {

// The rights of a user.  Each includes those before it.
enum class Role {
  read = 1,  // look
  operate,   // what can be undone, or does no harm: retry, pause, recycle
  admin,     // delete, kill, end a running job, send a process a signal
};

std::string_view name_of(Role role);

}  // namespace brood
