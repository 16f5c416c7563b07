#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace brood {

// A word as a POSIX shell needs it, quoted if necessary.
std::string shell_word(std::string_view word);

// The options that make a command in a shell use this configuration, these job libraries and this Redis, such as "-C
// /etc/brood.toml".  `libraries` are those named in addition to the file.  A URL that may hold a password is left out.
std::string options_for_people(const std::string& config, const std::vector<std::string>& libraries,
                               const std::string& redis_url);

}  // namespace brood
