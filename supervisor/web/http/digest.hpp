#pragma once

#include <string>
#include <string_view>

namespace brood {

// Random bytes, as hexadecimal digits, two each.  Throws std::runtime_error.
std::string random_digits(int bytes);

// SHA-256 and HMAC-SHA-256, as 64 hexadecimal digits.
std::string sha256_digits(std::string_view text);
std::string hmac_digits(std::string_view key, std::string_view text);

// Compares in constant time, whatever the texts contain.
bool are_same(std::string_view one, std::string_view other);

}  // namespace brood
