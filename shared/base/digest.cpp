#include "shared/base/digest.hpp"

#include <openssl/evp.h>

#include <stdexcept>

#include "shared/base/base64.hpp"

namespace brood {
namespace {

std::string digest(std::string_view text, const EVP_MD* kind) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), bytes, &size, kind, nullptr) != 1)
    throw std::runtime_error("OpenSSL makes no digest");
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

std::string sha1_hex(std::string_view text) {
  std::string hex;
  for (const unsigned char byte : digest(text, EVP_sha1())) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

std::string sha256_base64url(std::string_view text) { return base64url_of(digest(text, EVP_sha256())); }

}  // namespace brood
