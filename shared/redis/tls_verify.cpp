#include "shared/redis/tls_verify.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <string_view>

namespace brood {
namespace {

constexpr std::string_view pin_mark = "pin:";
constexpr std::size_t most_pins = 256;

Fingerprint fingerprint_in(std::string_view text) {
  std::string digits(text);
  std::erase_if(digits, [](char c) { return c == ':' || c == ' '; });
  Fingerprint fingerprint{};
  bool is_hex = digits.size() == 2 * fingerprint.size();
  for (std::size_t i = 0; is_hex && i < fingerprint.size(); ++i) {
    const char* const begin = digits.data() + 2 * i;
    is_hex = std::from_chars(begin, begin + 2, fingerprint[i], 16).ptr == begin + 2;
  }
  if (!is_hex)
    throw std::invalid_argument(
        "must have a SHA-256 of 64 hexadecimal digits after \"pin:\", as `openssl x509 -noout -fingerprint -sha256` "
        "prints it");
  return fingerprint;
}

}  // namespace

Fingerprint fingerprint_of(const x509_st* certificate) {
  Fingerprint fingerprint{};
  if (X509_digest(certificate, EVP_sha256(), fingerprint.data(), nullptr) != 1) throw std::bad_alloc();
  return fingerprint;
}

std::string fingerprint_text(const Fingerprint& fingerprint) {
  return fmt::format("{:02X}", fmt::join(fingerprint, ":"));
}

TlsVerify TlsVerify::parse(const std::string& text) {
  if (text == "full") return {};
  if (text == "none") return {.kind = Kind::none};
  if (!text.starts_with(pin_mark))
    throw std::invalid_argument("must be \"full\", \"pin:SHA256\" or \"none\", not \"" + text + "\"");
  TlsVerify verify{.kind = Kind::pin};
  std::string_view rest = std::string_view(text).substr(pin_mark.size());
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = rest.find(',');
    is_last = comma == rest.npos;
    verify.pins.push_back(fingerprint_in(rest.substr(0, comma)));
    if (!is_last) rest.remove_prefix(comma + 1);
    if (verify.pins.size() > most_pins)
      throw std::invalid_argument(fmt::format("may have {} fingerprints at most", most_pins));
  }
  return verify;
}

std::string TlsVerify::text() const {
  if (kind == Kind::full) return "full";
  if (kind == Kind::none) return "none";
  std::string all;
  for (const Fingerprint& one : pins) all += (all.empty() ? pin_mark.data() : ",") + fingerprint_text(one);
  return all;
}

bool TlsVerify::accepts(const Fingerprint& fingerprint) const {
  return kind == Kind::none || (kind == Kind::pin && std::ranges::find(pins, fingerprint) != pins.end());
}

}  // namespace brood
