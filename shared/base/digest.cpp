#include "shared/base/digest.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

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

std::string hex_of_bytes(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
    hex += "0123456789abcdef"[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

}  // namespace

std::string sha1_hex(std::string_view text) { return hex_of_bytes(digest(text, EVP_sha1())); }

std::string sha256_base64url(std::string_view text) { return base64url_of(digest(text, EVP_sha256())); }

std::string hmac_sha256_hex(std::string_view key, std::string_view text) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
           text.size(), bytes, &size) == nullptr)
    throw std::runtime_error("OpenSSL makes no digest");
  return hex_of_bytes({reinterpret_cast<const char*>(bytes), size});
}

}  // namespace brood
