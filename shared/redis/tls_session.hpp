#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "shared/redis/tls_certificates.hpp"

struct ssl_st;
struct ssl_ctx_st;

namespace brood {

class TlsCertificates;
struct RedisAddress;

// The other side of a TlsSession.
struct TlsPeer {
  std::string host;  // its certificate must be for this name, unless our certificates expect another one
  // For errors: where TLS is set, and what an address without it begins with.
  std::string section = "[redis.tls]", plain_scheme = "redis://";
};

// The client's side of one TLS connection: turns bytes of the wire into bytes of the protocol and back.  It has no
// socket: its owner carries the bytes, and waits for them.
class TlsSession {
 public:
  // Throws a ConnectionLost of Loss::login_refused when no certificate can be for the name of `peer`.
  TlsSession(const TlsCertificates& certificates, TlsPeer peer);
  // A session with the Redis at `address`, whose certificates are read first if they are not yet.  Throws a
  // ConnectionLost of Loss::login_refused if they cannot be.
  explicit TlsSession(const RedisAddress& address);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Whether the handshake is done, and the server's certificate accepted.  Before that, nothing may be sent.
  bool is_established() const { return is_established_; }

  // Whether the server has closed its side.
  bool is_closed() const { return is_closed_; }

  // Takes bytes from the wire.  Call read() until it returns 0 before `wire` goes away.
  void receive(std::span<const char> wire);

  // Reads the next decrypted bytes.  Returns 0 if there are none, or the handshake is not done.  Throws a
  // ConnectionLost of Loss::login_refused if the handshake fails, which says which side refuses whose certificate and
  // why, and ConnectionLost if later bytes are no TLS.
  std::size_t read(char* bytes, std::size_t size);

  // Encrypts `bytes`.  Throws ConnectionLost.
  void send(std::string_view bytes);

  // The bytes to be sent on the wire: of the handshake, of send(), and of the protocol itself.  The owner takes them
  // from here.
  std::string& wire() { return wire_; }
  const std::string& wire() const { return wire_; }

 private:
  struct Bio;
  struct Free {
    void operator()(ssl_st*) const;
  };
  [[noreturn]] void fail();
  void expect_name();
  void require_trusted();
  void require_pinned();
  bool accepts(const x509_st* certificate);
  void note_ends();
  std::string why_refused(unsigned long error) const;

  std::shared_ptr<ssl_ctx_st> context_;
  std::shared_ptr<NotedCertificateEnds> ends_;  // where they are noted
  TlsPeer peer_;
  std::string name_;  // that the server's certificate must be for
  TlsVerify verify_;
  bool shows_certificate_;
  std::unique_ptr<ssl_st, Free> ssl_;
  std::span<const char> received_;
  std::string wire_;
  std::string refusal_;  // why the server's certificate is refused
  bool heard_ = false, is_established_ = false, is_closed_ = false;
};

}  // namespace brood
