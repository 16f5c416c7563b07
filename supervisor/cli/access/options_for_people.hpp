#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace brood {

// A word as a POSIX shell takes it for itself, quoted where it needs that.
std::string shell_word(std::string_view word);

// The options by which a command that a person types in a shell finds this configuration, these job libraries and this
// Redis: "-C /etc/brood.toml", say.  `libraries` are those that were named beside the file.  A URL that may hold a
// password is left out.
std::string options_for_people(const std::string& config, const std::vector<std::string>& libraries,
                               const std::string& redis_url);

}  // namespace brood
