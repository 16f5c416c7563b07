#pragma once

#include <string_view>

namespace brood {

// The rights of a user.  Each role includes the ones before it.
enum class Role {
  read = 1,  // look
  operate,   // actions that can be undone, or do no harm: retry, pause, recycle
  admin,     // delete, kill, end a running job, send a process a signal
};

std::string_view name_of(Role role);

}  // namespace brood
