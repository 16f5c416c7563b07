#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace brood {

// The children of this process, zombies too, `most` at most.
std::vector<pid_t> own_children(std::size_t most);

}  // namespace brood
