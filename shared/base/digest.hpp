#pragma once

#include <string>
#include <string_view>

namespace brood {

// The SHA-1 of `text` in lower-case hex, as redis.sha1hex returns it: scripts compare it if the text itself is too
// large to send.
std::string sha1_hex(std::string_view text);

// The SHA-256 of `text` as base64url without padding: 43 characters of A-Z a-z 0-9 - _.
std::string sha256_base64url(std::string_view text);

// The HMAC of `text` by SHA-256 in lower-case hex.
std::string hmac_sha256_hex(std::string_view key, std::string_view text);

}  // namespace brood
