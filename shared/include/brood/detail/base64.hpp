#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Bytes as text: base64 of RFC 4648, section 4.
#pragma GCC visibility push(hidden)
namespace brood::detail {

inline constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Returns the text with padding and without line breaks.
template <typename Bytes>
std::string base64_of(const Bytes& bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t here = bytes.size() - i < 3 ? bytes.size() - i : 3;
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < here ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) text.push_back(k <= here ? base64_digits[group >> (18 - 6 * k) & 63] : '=');
  }
  return text;
}

// Reads base64.  Returns false if `text` is not valid.  Ignores line breaks, which some writers add.
inline bool read_base64(std::string_view text, std::vector<std::byte>& bytes) {
  bytes.clear();
  std::uint32_t group = 0;
  std::size_t digits = 0, padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const std::size_t digit = base64_digits.find(c);
    if (c == '=' ? ++padding > 2 : digit == std::string_view::npos || padding > 0) return false;
    group = group << 6 | (c == '=' ? 0 : static_cast<std::uint32_t>(digit));
    if (++digits % 4 != 0) continue;
    if (group & ((1U << 8 * padding) - 1)) return false;  // bits beyond the last byte must be 0
    for (std::size_t k = 0; k < 3 - padding; ++k) bytes.push_back(static_cast<std::byte>(group >> (16 - 8 * k)));
    group = 0;
  }
  return digits % 4 == 0;
}

}  // namespace brood::detail
#pragma GCC visibility pop
