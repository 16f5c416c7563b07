#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

struct redisReply;

namespace brood {

// The server's answer is not of the kind that is documented for the command.
class UnexpectedReply : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Looks at a reply, or at an element of one; owns nothing.
class ReplyView {
 public:
  explicit ReplyView(const redisReply* reply) : reply_(reply) {}

  bool is_nil() const;
  bool is_error() const;
  bool is_string() const;  // bulk or status
  bool is_integer() const;
  bool is_array() const;

  // Each throws UnexpectedReply when the reply is of another kind (the text of an error reply included).
  std::string_view text() const;
  std::int64_t integer() const;  // an integer, or a string that is one
  std::size_t size() const;      // elements of an array
  ReplyView operator[](std::size_t i) const;

  // The error text ("WRONGTYPE ..."), empty for anything else.
  std::string_view error() const;

 private:
  const redisReply* reply_;
};

// Owns a whole reply.
class Reply {
 public:
  Reply() = default;
  explicit Reply(redisReply* reply);
  ReplyView view() const { return ReplyView(reply_.get()); }
  const ReplyView operator*() const { return view(); }
  explicit operator bool() const { return reply_ != nullptr; }

 private:
  struct Free {
    void operator()(redisReply*) const;
  };
  std::unique_ptr<redisReply, Free> reply_;
};

// The meaning of an error reply for the command that got it.
enum class ErrorKind {
  none,                   // no error
  not_applied_retry,      // BUSY, MISCONF, NOREPLICAS, OOM, TRYAGAIN, ASK: wait and send again
  not_applied_reconnect,  // READONLY, MASTERDOWN, LOADING, UNBLOCKED, MOVED, CLUSTERDOWN, max number of clients: the
                          // server is not the master (yet), or not of these keys; wait, reconnect, send again
  unauthorized,           // NOAUTH, WRONGPASS, NOPERM, ACL failure in a script: an operator must act
  no_script,              // NOSCRIPT
  other,                  // WRONGTYPE and everything else
};
ErrorKind classify_error(std::string_view error);

}  // namespace brood
