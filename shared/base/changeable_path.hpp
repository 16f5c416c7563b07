#pragma once

#include <sys/types.h>

#include <string>

namespace brood {

// The part of an absolute or relative `path` that `user` may change, so that something else is found there: the file
// itself or a directory above it, which is its owner's or open to this process for writing.  Empty: none, or there is
// no such file.  What lies in a mount that is read-only here cannot be changed.
std::string changeable_part_of(const std::string& path, uid_t user);

}  // namespace brood
