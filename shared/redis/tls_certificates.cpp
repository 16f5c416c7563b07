#include "shared/redis/tls_certificates.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <vector>

namespace brood {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const TlsSettings::File& file, const std::string& why) {
  throw TlsError(fmt::format("{}: {} {}", file.place, file.path, why));
}

// Checks that a file can be read before OpenSSL reads it: OpenSSL's own error is long, and lacks that of the system.
void require_readable(const TlsSettings::File& file) {
  if (access(file.path.c_str(), R_OK) != 0) refuse(file, "cannot be read: " + std::generic_category().message(errno));
}

bool load_authorities(SSL_CTX* context, const std::string& path) {
  return SSL_CTX_load_verify_file(context, path.c_str()) == 1;
}

// Reads every file of the directory.  OpenSSL itself would take only files that are named by hashes.
void load_directory(SSL_CTX* context, const TlsSettings::File& ca) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(ca.path, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->is_regular_file(error)) files.push_back(entry->path());
  }
  if (error) refuse(ca, "cannot be read: " + error.message());
  std::sort(files.begin(), files.end());
  const auto loaded =
      std::count_if(files.begin(), files.end(), [&](const fs::path& file) { return load_authorities(context, file); });
  if (loaded == 0) refuse(ca, "is a directory in which no file holds a certificate");
}

void load_trust(SSL_CTX* context, const TlsSettings::File& ca) {
  if (ca.path.empty()) {
    SSL_CTX_set_default_verify_paths(context);
    return;
  }
  require_readable(ca);
  if (std::error_code error; fs::is_directory(ca.path, error))
    load_directory(context, ca);
  else if (!load_authorities(context, ca.path))
    refuse(ca, "holds no certificate");
  // Every authority in the file is trusted, an intermediate one too.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
}

void load_identity(SSL_CTX* context, const TlsSettings& settings) {
  if (settings.cert.path.empty()) {
    if (!settings.key.path.empty())
      refuse(settings.key, "is the key of a certificate that is not named: cert is missing");
    return;
  }
  require_readable(settings.cert);
  if (SSL_CTX_use_certificate_chain_file(context, settings.cert.path.c_str()) != 1)
    refuse(settings.cert, "holds no certificate");
  const TlsSettings::File& key = settings.key.path.empty() ? settings.cert : settings.key;
  require_readable(key);
  // OpenSSL would ask at the terminal for the password of the key.
  bool is_protected = false;
  SSL_CTX_set_default_passwd_cb_userdata(context, &is_protected);
  SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void* noted) {
    *static_cast<bool*>(noted) = true;
    return -1;
  });
  const bool is_loaded = SSL_CTX_use_PrivateKey_file(context, key.path.c_str(), SSL_FILETYPE_PEM) == 1;
  SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
  if (is_protected) refuse(key, "is protected by a passphrase; use a key without one");
  if (!is_loaded || SSL_CTX_check_private_key(context) != 1) {
    const bool is_another = is_loaded || ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_X509;
    refuse(key, is_another ? "is not the key of the certificate " + settings.cert.path : "holds no private key");
  }
}

}  // namespace

TlsCertificates::TlsCertificates(const TlsSettings& settings)
    : server_name_(settings.server_name), verify_(settings.verify) {
  // OpenSSL must not clean up when the process exits: static objects may still hold a session then.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr);
  context_ = std::shared_ptr<SSL_CTX>(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (!context_) throw std::bad_alloc();
  SSL_CTX* const context = context_.get();
  const bool newest = settings.min_version == TlsSettings::Version::tls_1_3;
  SSL_CTX_set_min_proto_version(context, newest ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  try {
    if (verify_.kind == TlsVerify::Kind::full)
      load_trust(context, settings.ca);
    else if (!settings.ca.path.empty())
      refuse(settings.ca, "is for verify = \"full\": no authority is asked otherwise");
    load_identity(context, settings);
  } catch (const TlsError&) {
    ERR_clear_error();
    throw;
  }
  ERR_clear_error();
}

}  // namespace brood
