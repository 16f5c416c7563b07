#pragma once

#include <string>
#include <string_view>

namespace brood {

// Sets what `ps` and `top` show for this process.  The title is written over the arguments and the environment that the
// process was started with; the environment is copied away first.  If the kernel does not tell where these lie, only
// the short name (PR_SET_NAME) changes.
void set_process_title(const std::string& wanted);

// Sets the text after the title, until the next call; empty: none.  It makes no system call, so each job can have one.
void set_title_tail(std::string_view tail);

}  // namespace brood
