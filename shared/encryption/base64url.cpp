#include "shared/encryption/base64url.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include "shared/base/secret.hpp"

namespace brood {
namespace {

constexpr std::string_view url_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::int8_t no_digit = -1;

constexpr auto url_values = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(no_digit);
  for (std::size_t i = 0; i < url_digits.size(); ++i)
    values[static_cast<unsigned char>(url_digits[i])] = static_cast<std::int8_t>(i);
  return values;
}();

}  // namespace

std::string base64url_of(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : bytes) {
    group = group << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) text.push_back(url_digits[group >> (bits - 6) & 63]);
    group &= 63;
  }
  if (bits > 0) text.push_back(url_digits[group << (6 - bits) & 63]);
  return text;
}

std::optional<std::string> read_base64url(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    const std::int8_t value = url_values[static_cast<unsigned char>(c)];
    if (value == no_digit) return std::nullopt;
    group = (group << 6 | static_cast<std::uint32_t>(value)) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<char>(group >> bits & 0xff));
  }
  if ((group & ((1U << bits) - 1)) != 0) return std::nullopt;  // bits that no byte has
  return bytes;
}

std::optional<std::string> read_base64_of_any_kind(std::string_view text) {
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  std::string digits(text);
  for (char& c : digits) c = c == '+' ? '-' : c == '/' ? '_' : c;
  std::optional<std::string> bytes = read_base64url(digits);
  wipe(digits);
  return bytes;
}

}  // namespace brood
