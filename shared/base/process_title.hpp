#pragma once

#include <string>
#include <string_view>

namespace brood {

// What `ps` and `top` show for this process from now on.  The room is that of the arguments and the environment this
// process was started with; the environment is moved away first.  Does nothing where the kernel does not tell that
// room.
void set_process_title(const std::string& wanted);

// What stands behind the title until the next call; empty: nothing.  No system call, so that it may come with each job.
void set_title_tail(std::string_view tail);

}  // namespace brood
