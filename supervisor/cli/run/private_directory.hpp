#pragma once

#include <string>

namespace brood {

// Makes the directory for our user's supervisors, closed to others, if it is missing.  Throws std::system_error, and
// std::runtime_error if it is another user's.
void make_private_directory(const std::string& path);

}  // namespace brood
