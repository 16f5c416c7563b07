#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shared/base/secret.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/redis/tls_session.hpp"

struct redisReader;

namespace brood {

// A connected socket with hiredis' reader behind it and, with TLS, a TlsSession between: commands go out, whole replies
// come in.  Only read_patiently() waits; the owner polls the socket and keeps the deadlines.
class Stream {
 public:
  explicit Stream(UniqueFd socket, std::unique_ptr<TlsSession> tls = nullptr);
  ~Stream();

  // Whether the TLS handshake is under way: write_some() and read_some() carry it on.  Commands wait until it is done.
  bool shakes_hands() const { return tls_ && !tls_->is_established(); }
  // Finds out whether a server that has sent nothing yet is a Redis without TLS.  That one takes the handshake for the
  // beginning of a command, and answers that it is too long once it has got enough bytes.  Call it only before giving
  // up: it spoils the handshake.
  void ask_whether_plain();

  int fd() const { return socket_.get(); }

  // Queues `command`, with the prefix in front of its keys; write_some() sends it.  Throws std::length_error when Redis
  // would refuse it for its size.
  void append(const Command& command, std::string_view key_prefix = {});
  // Adds `last` as its last argument, of which no copy is left in our memory once it is sent.
  void append_secret(const Command& command, const Secret& last);
  std::size_t unsent() const { return tls_ ? unsent_by_tls() : output_.size() - sent_; }

  // Sends what the socket takes.  A failed write shows as the end of the stream in read_some(), after the last words of
  // the server ("max number of clients reached").
  void write_some();

  // How many bytes were written to the socket and read from it.  through() leaves out those that the other end has not
  // acknowledged yet, which it asks the kernel for.
  std::uint64_t moved() const { return moved_; }
  std::uint64_t through() const;

  // Reads once, up to 64 KB; returns false if nothing was there.  Throws ConnectionLost at the end of the stream:
  // closed, or hung_up if no byte had come.
  bool read_some();

  // Lets read_patiently() wait at most so long: puts the socket in blocking mode.  Otherwise that is as read_some().
  void set_patience(std::chrono::milliseconds longest);
  bool read_patiently();
  // Whether anything has come yet.
  bool heard() const { return heard_; }

  // For a server that sends no large replies and may not be trusted.  Otherwise the limit is 1 GB.
  void set_longest_reply(std::size_t bytes) { longest_reply_ = bytes; }

  // The next whole reply; an empty one when there is none yet.  Throws ConnectionLost when the server does not speak
  // the protocol, or sends more than a reply may hold.
  Reply next_reply();

  // Whether the server is silent, as it must be when it owes no reply: neither a byte nor the end of the stream.
  bool silent();

 private:
  struct Free {
    void operator()(redisReader*) const;
  };
  bool read(int flags);
  void decrypt(const char* bytes, std::size_t count);
  void feed(const char* bytes, std::size_t count);
  void encrypt_and_write();
  bool write_from(const std::string& bytes, std::size_t& sent);
  std::size_t unsent_by_tls() const;
  void append_length(char kind, std::size_t length);
  void append_argument(std::string_view first, std::string_view second = {});
  void append_prefixed(const Command& command, std::string_view key_prefix);
  void make_room(std::size_t size);

  UniqueFd socket_;
  std::unique_ptr<redisReader, Free> reader_;
  std::string output_;
  std::size_t sent_ = 0;  // bytes of `output_` that are sent, or with TLS encrypted
  std::unique_ptr<TlsSession> tls_;
  std::size_t wire_sent_ = 0;    // bytes of tls_->wire() that are sent
  std::size_t reply_bytes_ = 0;  // read since the last whole reply
  std::size_t longest_reply_ = std::size_t{1} << 30;
  std::uint64_t moved_ = 0;
  bool heard_ = false;
  bool holds_secret_ = false;  // `output_`
  bool asked_whether_plain_ = false;
  int write_error_ = 0;
};

// The error for a handshake that took too long.
std::string no_handshake(const Stream& stream);

// How many bytes `command` takes on the wire, or a few more.
std::size_t wire_size(const Command& command, std::string_view key_prefix = {});

}  // namespace brood
