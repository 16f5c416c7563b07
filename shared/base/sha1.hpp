#pragma once

#include <string>
#include <string_view>

namespace brood {

// The SHA-1 of `text` in lower-case hex, as redis.sha1hex says it: by it a script knows a text that is too large to be
// sent.
std::string sha1_hex(std::string_view text);

}  // namespace brood
