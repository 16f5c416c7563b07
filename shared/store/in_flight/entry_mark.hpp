#pragma once

#include <string>
#include <string_view>

namespace brood {

// By which a script recognises an entry of a list: "=" and its bytes, or "#" and the SHA-1 of one that need not be
// sent.
std::string entry_mark(std::string_view entry);

}  // namespace brood
