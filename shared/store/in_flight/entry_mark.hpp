#pragma once

#include <string>
#include <string_view>

namespace brood {

// How a script recognises an entry of a list: "=" and its bytes, or "#" and the SHA-1 of an entry too large to be sent.
std::string entry_mark(std::string_view entry);

}  // namespace brood
