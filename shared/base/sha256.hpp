#pragma once

#include <string>
#include <string_view>

namespace brood {

// The SHA-256 of `text` as base64url without padding: 43 characters of A-Z a-z 0-9 - _.
std::string sha256_base64url(std::string_view text);

}  // namespace brood
