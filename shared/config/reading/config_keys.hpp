#pragma once

#include <string>
#include <vector>

namespace brood {

// The keys of the configuration file's section `kind`: "" is the top level, "capsules.*" any section of that kind.
const std::vector<std::string>& keys_of_section(const std::string& kind);

// The one of the `known` keys of a section that `key` may be a slip for; "" if none is like it.
std::string meant_key(const std::string& key, const std::vector<std::string>& known);

}  // namespace brood
