#include "shared/base/base64.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "shared/base/secret.hpp"

namespace brood {
namespace {

const unsigned char* octets(const std::string& text) { return reinterpret_cast<const unsigned char*>(text.data()); }

bool is_digit(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
}

// `digits` has no padding.  Bits at the end that make no byte are ignored.
std::string decoded(std::string digits) {
  if (digits.size() % 4 == 1) digits.pop_back();
  const std::size_t size = digits.size() * 3 / 4;
  digits.append((4 - digits.size() % 4) % 4, '=');
  std::string bytes(digits.size() / 4 * 3, '\0');
  EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()), octets(digits), static_cast<int>(digits.size()));
  bytes.resize(size);
  wipe(digits);
  return bytes;
}

}  // namespace

std::string base64_of(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL writes a 0 behind it
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::string read_base64_leniently(std::string_view text) {
  std::string digits;
  std::ranges::copy_if(text.substr(0, text.find('=')), std::back_inserter(digits), is_digit);
  return decoded(std::move(digits));
}

std::string base64url_of(std::string_view bytes) {
  std::string text = base64_of(bytes);
  while (text.ends_with('=')) text.pop_back();
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

std::optional<std::string> read_base64url(std::string_view text) {
  if (text.find_first_of("+/") != text.npos) return std::nullopt;
  std::string digits(text);
  std::ranges::replace(digits, '-', '+');
  std::ranges::replace(digits, '_', '/');
  if (!std::ranges::all_of(digits, is_digit)) return std::nullopt;
  std::string bytes = decoded(std::move(digits));
  std::string again = base64url_of(bytes);
  const bool is_same = again == text;  // else the last digit has bits that belong to no byte
  wipe(again);
  return is_same ? std::optional(std::move(bytes)) : std::nullopt;
}

std::optional<std::string> read_base64_of_any_kind(std::string_view text) {
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  std::string digits(text);
  std::ranges::replace(digits, '+', '-');
  std::ranges::replace(digits, '/', '_');
  std::optional<std::string> bytes = read_base64url(digits);
  wipe(digits);
  return bytes;
}

}  // namespace brood
