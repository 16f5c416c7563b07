#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace brood {

// RFC 4648, section 4: with padding and without line breaks.
std::string base64_of(std::string_view bytes);
// As Ruby's unpack("m"): skips characters that are no digits, and ends at padding.
std::string read_base64_leniently(std::string_view text);

// RFC 4648, section 5: - and _ for + and /, without padding.
std::string base64url_of(std::string_view bytes);
// Returns nullopt for what base64url_of() would not have written.
std::optional<std::string> read_base64url(std::string_view text);
// As read_base64url(), but accepts also +, / and padding, as other programs write keys.
std::optional<std::string> read_base64_of_any_kind(std::string_view text);

}  // namespace brood
