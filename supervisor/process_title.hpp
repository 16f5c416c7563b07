#pragma once

#include <string>

namespace brood {

// What `ps` and `top` show for this process from now on.  The room is that of the arguments and the environment this
// process was started with; the environment is moved away first.  Does nothing where the kernel does not tell that
// room.
void set_process_title(const std::string& title);

}  // namespace brood
