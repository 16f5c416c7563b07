#pragma once

#include <string>
#include <string_view>

#include "shared/store/script.hpp"

namespace brood {

// How a script recognises an entry of a list: "=" and its bytes, or "#" and the SHA-1 of an entry too large to be sent.
std::string entry_mark(std::string_view entry);

// Counts how often one payload came back from workers whose end no supervisor saw, within 72 h.  The scripts that give
// the payload back also count it, so no return stays uncounted when a recovery is cut short.
inline constexpr int returns_before_death = 3;

ScriptCall orphan_return_count(const std::string& payload);  // answers the count

}  // namespace brood
