#pragma once

#include <string>

namespace brood {

// Makes the directory of what only supervisors of our user share, closed to others, if it is not there.
// Throws std::system_error, and std::runtime_error where it is another user's.
void make_private_directory(const std::string& path);

}  // namespace brood
