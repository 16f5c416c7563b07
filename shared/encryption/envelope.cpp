#include "shared/encryption/envelope.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <charconv>
#include <climits>
#include <cstddef>
#include <memory>

#include "shared/base/base64.hpp"

namespace brood {
namespace {

constexpr std::string_view envelope_prefix = "brood1.";
constexpr std::size_t nonce_size = 12, tag_size = 16;

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

void require_openssl(bool holds) {
  if (!holds) throw std::runtime_error("OpenSSL cannot encrypt by AES-256-GCM here");
}

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string additional_data(const EnvelopeOwner& owner) { return fmt::format("{}\n{}", owner.job_class, owner.jid); }

int checked_size(std::string_view text) {
  if (text.size() > static_cast<std::size_t>(INT_MAX) - 64) throw DecryptionError("it is too large");
  return static_cast<int>(text.size());
}

struct EnvelopeParts {
  int version = 0;
  std::string_view body;
};

std::optional<EnvelopeParts> parts_of(std::string_view text) {
  if (!text.starts_with(envelope_prefix)) return std::nullopt;
  text.remove_prefix(envelope_prefix.size());
  EnvelopeParts parts;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parts.version);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || parts.version < 1 || parts.version > latest_key_version || text.front() == '0')
    return std::nullopt;
  if (digits == text.size() || text[digits] != '.') return std::nullopt;
  parts.body = text.substr(digits + 1);
  return parts;
}

}  // namespace

std::string seal(const KeyRing& keys, std::string_view clear, const EnvelopeOwner& owner) {
  const Secret* const key = keys.find(keys.active());
  if (key == nullptr) throw KeyError("there is no key to encrypt by: [encryption.keys] has none");
  const std::string aad = additional_data(owner);
  std::string sealed(nonce_size + clear.size() + tag_size, '\0');
  unsigned char* const nonce = bytes_of(sealed);
  unsigned char* const body = nonce + nonce_size;
  require_openssl(RAND_bytes(nonce, nonce_size) == 1);
  const CipherContext context(EVP_CIPHER_CTX_new());
  int size = 0, rest = 0;
  require_openssl(context &&
                  EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key->view()), nonce) == 1 &&
                  EVP_EncryptUpdate(context.get(), nullptr, &size, bytes_of(aad), checked_size(aad)) == 1 &&
                  EVP_EncryptUpdate(context.get(), body, &size, bytes_of(clear), checked_size(clear)) == 1 &&
                  EVP_EncryptFinal_ex(context.get(), body + size, &rest) == 1 &&
                  EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, tag_size, body + clear.size()) == 1);
  return fmt::format("{}{}.{}", envelope_prefix, keys.active(), base64url_of(sealed));
}

bool is_envelope(std::string_view text) {
  const auto parts = parts_of(text);
  const auto bytes = parts ? read_base64url(parts->body) : std::nullopt;
  return bytes && bytes->size() > nonce_size + tag_size;
}

std::optional<int> envelope_version(std::string_view text) {
  const auto parts = parts_of(text);
  return parts ? std::optional(parts->version) : std::nullopt;
}

void open_envelope(const KeyRing& keys, std::string_view envelope, const EnvelopeOwner& owner, std::string& into) {
  const auto parts = parts_of(envelope);
  if (!parts) throw DecryptionError("it is no envelope of brood");
  const Secret* const key = keys.find(parts->version);
  if (key == nullptr) throw DecryptionError(fmt::format("there is no key of version {}", parts->version));
  const std::optional<std::string> sealed = read_base64url(parts->body);
  if (!sealed || sealed->size() < nonce_size + tag_size) throw DecryptionError("its envelope is damaged");

  const std::string aad = additional_data(owner);
  const std::string_view nonce = std::string_view(*sealed).substr(0, nonce_size);
  const std::string_view body = std::string_view(*sealed).substr(nonce_size, sealed->size() - nonce_size - tag_size);
  std::string tag(sealed->substr(sealed->size() - tag_size));
  const std::size_t begin = into.size();
  if (into.capacity() < begin + body.size()) {
    std::string larger;
    larger.reserve(begin + body.size());
    larger = into;
    wipe(into);
    into = std::move(larger);
  }
  into.resize(begin + body.size());
  unsigned char* const clear = bytes_of(into) + begin;
  const CipherContext context(EVP_CIPHER_CTX_new());
  int size = 0, rest = 0;
  require_openssl(context && EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key->view()),
                                                bytes_of(nonce)) == 1);
  const bool authentic = EVP_DecryptUpdate(context.get(), nullptr, &size, bytes_of(aad), checked_size(aad)) == 1 &&
                         EVP_DecryptUpdate(context.get(), clear, &size, bytes_of(body), checked_size(body)) == 1 &&
                         EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, tag_size, tag.data()) == 1 &&
                         EVP_DecryptFinal_ex(context.get(), clear + size, &rest) == 1;
  if (authentic) return;
  explicit_bzero(clear, body.size());  // unverified, and perhaps another owner's
  into.resize(begin);
  throw DecryptionError(
      fmt::format("it is not what was encrypted by the key of version {} for this class and jid", parts->version));
}

}  // namespace brood
