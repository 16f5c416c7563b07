#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace brood {

// RFC 4648, section 5, without padding.
std::string base64url_of(std::string_view bytes);

// nullopt for what base64url_of() would not have written.
std::optional<std::string> read_base64url(std::string_view text);

// The same, but also reads +, / and padding, as other programs write keys.
std::optional<std::string> read_base64_of_any_kind(std::string_view text);

}  // namespace brood
