#pragma once

#include <string>
#include <string_view>

namespace brood {

// The SHA-1 of `text` in lower-case hex, as redis.sha1hex gives it: a script compares it where the text itself would be
// too large to send.
std::string sha1_hex(std::string_view text);

}  // namespace brood
