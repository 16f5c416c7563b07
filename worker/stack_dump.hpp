#pragma once

namespace brood {

// From now on `signal` logs the native stack of what this process is doing, and the process goes on.
void dump_stack_on(int signal);

}  // namespace brood
