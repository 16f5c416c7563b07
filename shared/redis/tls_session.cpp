#include "shared/redis/tls_session.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <new>
#include <vector>

#include "shared/base/ascii.hpp"
#include "shared/redis/address.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis/tls_certificates.hpp"

namespace brood {

// Lets OpenSSL read from and write to the memory of a session.
struct TlsSession::Bio {
  static TlsSession& session(BIO* bio) { return *static_cast<TlsSession*>(BIO_get_data(bio)); }

  static int read(BIO* bio, char* bytes, int size) {
    std::span<const char>& received = session(bio).received_;
    BIO_clear_retry_flags(bio);
    const std::size_t count = std::min(received.size(), static_cast<std::size_t>(std::max(size, 0)));
    if (count == 0) {
      BIO_set_retry_read(bio);
      return -1;
    }
    std::memcpy(bytes, received.data(), count);
    received = received.subspan(count);
    return static_cast<int>(count);
  }

  static int write(BIO* bio, const char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    session(bio).wire_.append(bytes, static_cast<std::size_t>(std::max(size, 0)));
    return size;
  }

  static long control(BIO*, int verb, long, void*) { return verb == BIO_CTRL_FLUSH ? 1 : 0; }

  static const BIO_METHOD* method() {
    static const BIO_METHOD* const made = [] {
      BIO_METHOD* const method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "brood");
      if (method == nullptr) throw std::bad_alloc();
      BIO_meth_set_read(method, read);
      BIO_meth_set_write(method, write);
      BIO_meth_set_ctrl(method, control);
      BIO_meth_set_create(method, [](BIO* bio) {
        BIO_set_init(bio, 1);
        return 1;
      });
      return method;
    }();
    return made;
  }
};

namespace {

std::string text_in(BIO* memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);
  std::string text(bytes, static_cast<std::size_t>(std::max(size, 0L)));
  BIO_free(memory);
  return text;
}

std::string name_text(const X509_NAME* name) {
  BIO* const memory = BIO_new(BIO_s_mem());
  if (memory == nullptr) throw std::bad_alloc();
  X509_NAME_print_ex(memory, name, 0, XN_FLAG_RFC2253);
  return text_in(memory);
}

std::string time_text(const ASN1_TIME* time) {
  BIO* const memory = BIO_new(BIO_s_mem());
  if (memory == nullptr) throw std::bad_alloc();
  ASN1_TIME_print(memory, time);
  return text_in(memory);
}

// When a certificate ends, in seconds since the epoch; 0: there is none, or its time cannot be read.
std::int64_t end_of(const X509* certificate) {
  std::tm end{};
  if (certificate == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) != 1) return 0;
  return timegm(&end);
}

std::string address_text(const ASN1_OCTET_STRING* address) {
  char text[INET6_ADDRSTRLEN] = {};
  const int size = ASN1_STRING_length(address);
  if (size != 4 && size != 16) return "?";
  inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(address), text, sizeof text);
  return text;
}

std::string string_text(const ASN1_STRING* string) {
  std::string text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
                   static_cast<std::size_t>(ASN1_STRING_length(string)));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return !ascii::is_visible(c); }, '?');
  return text;
}

// The names that a certificate is for: its alternative names, or, if it has none, its subject.
std::string names_of(X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, void (*)(GENERAL_NAMES*)> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  std::vector<std::string> texts;
  constexpr int most = 8;
  const int count = names ? sk_GENERAL_NAME_num(names.get()) : 0;
  for (int i = 0; i < std::min(count, most); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) texts.push_back(string_text(name->d.dNSName));
    if (name->type == GEN_IPADD) texts.push_back(address_text(name->d.iPAddress));
  }
  if (count > most) texts.push_back("...");
  if (texts.empty()) return name_text(X509_get_subject_name(certificate));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// How the operator may trust a certificate that is refused.
std::string way_to_pin(const X509* leaf, const std::string& section) {
  if (leaf == nullptr) return "";
  return fmt::format(
      "; its fingerprint is {}: if that is the server's own, {} verify = \"pin:FINGERPRINT\" trusts this certificate",
      fingerprint_text(fingerprint_of(leaf)), section);
}

std::string why_refused(int error, int depth, X509* certificate, const std::string& name, const std::string& section) {
  const std::string whose =
      depth == 0 || certificate == nullptr
          ? "the server's certificate"
          : fmt::format("the certificate of the server's authority {}", name_text(X509_get_subject_name(certificate)));
  const auto of_authority = [&] {
    return certificate == nullptr ? std::string() : name_text(X509_get_issuer_name(certificate));
  };
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fmt::format("{} has expired: it was valid until {}", whose, time_text(X509_get0_notAfter(certificate)));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fmt::format("{} is not yet valid: it will be from {}; is the clock of this machine right?", whose,
                         time_text(X509_get0_notBefore(certificate)));
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return fmt::format("the server's certificate is of an unknown authority ({}); {} ca names whom to trust",
                         of_authority(), section);
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return fmt::format("{} is for {}, and not for {}; {} server_name sets another name to expect", whose,
                         names_of(certificate), name, section);
    default:
      return fmt::format("{} is refused: {}", whose, X509_verify_cert_error_string(error));
  }
}

bool is_address(const std::string& name) {
  in6_addr any;
  return inet_pton(AF_INET, name.c_str(), &any) == 1 || inet_pton(AF_INET6, name.c_str(), &any) == 1;
}

int refusal_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

// Why the other end refuses us; RFC 8446, 6.2.  OpenSSL's number for an alert is that of the alert and an offset.
std::string words_for_alert(int alert, bool shows_certificate, const std::string& section) {
  switch (alert) {
    case SSL_AD_CERTIFICATE_REQUIRED:
      return "the server requires a client certificate; " + section + " cert and key name one";
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_ACCESS_DENIED:
      return "the server refuses our client certificate";
    case SSL_AD_CERTIFICATE_REVOKED:
      return "the server refuses our client certificate: it was revoked";
    case SSL_AD_CERTIFICATE_EXPIRED:
      return "the server refuses our client certificate: it has expired";
    case SSL_AD_UNKNOWN_CA:
      return "the server refuses our client certificate: it does not know its authority";
    case SSL_AD_HANDSHAKE_FAILURE:
      return shows_certificate ? "the server refuses the TLS handshake: our certificate or our ciphers do not suit it"
                               : "the server refuses the TLS handshake; perhaps it requires a client certificate";
    case SSL_AD_PROTOCOL_VERSION:
      return "the server speaks no version of TLS that is allowed here; " + section + " min_version says which are";
    case SSL_AD_UNRECOGNIZED_NAME:
      return "the server has no certificate for the name that we ask for; " + section + " server_name says another";
    default:
      return "";
  }
}

TlsCertificates certificates_of(const RedisAddress& address) {
  try {
    return address.certificates ? *address.certificates : TlsCertificates(address.tls.value_or(TlsSettings{}));
  } catch (const TlsError& unusable) {
    throw ConnectionLost(Loss::login_refused, unusable.what());
  }
}

constexpr unsigned char first_of_handshake = 22, first_of_alert = 21;  // the types of a TLS record

}  // namespace

TlsSession::TlsSession(const RedisAddress& address) : TlsSession(certificates_of(address), {.host = address.host}) {}

TlsSession::TlsSession(const TlsCertificates& certificates, TlsPeer peer)
    : context_(certificates.context()),
      ends_(certificates.noted_ends()),
      peer_(std::move(peer)),
      verify_(certificates.verify()) {
  name_ = certificates.server_name().empty() ? peer_.host.substr(0, peer_.host.find('%')) : certificates.server_name();
  shows_certificate_ = SSL_CTX_get0_certificate(context_.get()) != nullptr;
  ssl_.reset(SSL_new(context_.get()));
  BIO* const bio = ssl_ ? BIO_new(Bio::method()) : nullptr;
  if (bio == nullptr) throw std::bad_alloc();
  BIO_set_data(bio, this);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_connect_state(ssl_.get());
  SSL_set_ex_data(ssl_.get(), refusal_index(), this);
  expect_name();
  if (verify_.kind == TlsVerify::Kind::full)
    require_trusted();
  else
    require_pinned();
  read(nullptr, 0);  // begins the handshake: the client speaks first
}

// Sets the name that is sent to the server, and that its certificate must be for.
void TlsSession::expect_name() {
  if (is_address(name_)) {
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), name_.c_str()) != 1)
      throw ConnectionLost(Loss::login_refused, "no certificate can be for the address " + name_);
  } else {
    SSL_set_hostflags(ssl_.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (SSL_set1_host(ssl_.get(), name_.c_str()) != 1 || SSL_set_tlsext_host_name(ssl_.get(), name_.c_str()) != 1)
      throw ConnectionLost(Loss::login_refused, "no certificate can be for the name " + name_);
  }
}

void TlsSession::require_trusted() {
  SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER, [](int is_well, X509_STORE_CTX* chain) {
    if (is_well == 1) return 1;
    const auto* const ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto& session = *static_cast<TlsSession*>(SSL_get_ex_data(ssl, refusal_index()));
    session.refusal_ =
        brood::why_refused(X509_STORE_CTX_get_error(chain), X509_STORE_CTX_get_error_depth(chain),
                           X509_STORE_CTX_get_current_cert(chain), session.name_, session.peer_.section) +
        way_to_pin(X509_STORE_CTX_get0_cert(chain), session.peer_.section);
    return 0;
  });
}

// Accepts only a pinned certificate.  Its fingerprint alone decides: OpenSSL's checks of its authority, name and dates
// are overruled.
void TlsSession::require_pinned() {
  SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER, [](int, X509_STORE_CTX* chain) {
    const auto* const ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto& session = *static_cast<TlsSession*>(SSL_get_ex_data(ssl, refusal_index()));
    if (!session.accepts(X509_STORE_CTX_get0_cert(chain))) return 0;
    X509_STORE_CTX_set_error(chain, X509_V_OK);
    return 1;
  });
}

bool TlsSession::accepts(const X509* certificate) {
  if (certificate == nullptr) return false;
  const Fingerprint shown = fingerprint_of(certificate);
  if (verify_.accepts(shown)) return true;
  refusal_ = fmt::format("the server's certificate has the fingerprint {}, which {} verify does not pin",
                         fingerprint_text(shown), peer_.section);
  return false;
}

// Sends no farewell alert, so that a forked child can drop its copy of the parent's session without ending that.
TlsSession::~TlsSession() = default;

void TlsSession::Free::operator()(ssl_st* ssl) const { SSL_free(ssl); }

void TlsSession::receive(std::span<const char> wire) {
  if (wire.empty()) return;
  const auto first = static_cast<unsigned char>(wire.front());
  if (!heard_ && first != first_of_handshake && first != first_of_alert)
    throw ConnectionLost(Loss::login_refused, "the server answers, but does not speak TLS; " + peer_.plain_scheme +
                                                  " is the address without");
  heard_ = true;
  received_ = wire;
}

std::size_t TlsSession::read(char* bytes, std::size_t size) {
  ERR_clear_error();
  if (!is_established_) {
    if (const int result = SSL_do_handshake(ssl_.get()); result != 1) {
      if (SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_READ) fail();
      return 0;
    }
    // OpenSSL should have called the callback of require_pinned() by now.  Compare the pin here too, to be sure.
    if (verify_.kind == TlsVerify::Kind::pin && !accepts(SSL_get0_peer_certificate(ssl_.get()))) fail();
    is_established_ = true;
    note_ends();
  }
  std::size_t count = 0;
  if (size == 0 || is_closed_) return 0;
  const int result = SSL_read_ex(ssl_.get(), bytes, size, &count);
  if (result == 1) return count;
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_ZERO_RETURN)
    is_closed_ = true;
  else if (error != SSL_ERROR_WANT_READ)
    fail();
  return 0;
}

void TlsSession::send(std::string_view bytes) {
  ERR_clear_error();
  std::size_t count = 0;
  if (!bytes.empty() && SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count) != 1) fail();
}

std::string TlsSession::why_refused(unsigned long error) const {
  if (!refusal_.empty()) return refusal_;
  const int reason = ERR_GET_REASON(error);
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return "";
  if (reason == SSL_R_UNSUPPORTED_PROTOCOL || reason == SSL_R_UNKNOWN_SSL_VERSION)
    return words_for_alert(SSL_AD_PROTOCOL_VERSION, shows_certificate_, peer_.section);
  return words_for_alert(reason - SSL_AD_REASON_OFFSET, shows_certificate_, peer_.section);
}

void TlsSession::fail() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  received_ = {};
  if (const std::string why = why_refused(error); !why.empty()) throw ConnectionLost(Loss::login_refused, why);
  const char* const words = ERR_reason_error_string(error);
  const std::string what = words != nullptr ? words : "the TLS session failed";
  if (!is_established_) throw ConnectionLost(Loss::login_refused, "no TLS handshake: " + what);
  throw ConnectionLost("TLS: " + what);
}

void TlsSession::note_ends() {
  ends_->server = end_of(SSL_get0_peer_certificate(ssl_.get()));
  ends_->client = end_of(SSL_get_certificate(ssl_.get()));
}

}  // namespace brood
