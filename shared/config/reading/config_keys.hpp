#pragma once

#include <string>
#include <vector>

namespace brood {

// The keys of the configuration file's section `kind`: "" is the top level, "capsules.*" any section of that kind.
const std::vector<std::string>& keys_of_section(const std::string& kind);

// The key that is probably meant by the unknown `key`: one of the `known` keys of its section, brood's name for a
// setting of Sidekiq, or a key of another section, with that section's name; "" if none is like it.
std::string meant_key(const std::string& key, const std::vector<std::string>& known);

}  // namespace brood
