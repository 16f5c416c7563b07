#pragma once

#include <stdexcept>
#include <string>

namespace brood {

// Why a command has no reply.
enum class Loss {
  unanswered,        // no whole reply came within the deadline, or the connection broke
  closed,            // the other end closed the connection
  closed_on_large,   // as closed, in answer to a large command; sent again it ends in too_large, if it is too large
  hung_up,           // as closed, before it sent a byte: it may speak TLS, or be a proxy whose server is away
  not_the_protocol,  // what came is not the protocol of Redis
  no_memory,         // there was no memory for the reply: asking again would not help
  too_large,         // Redis refuses a command of this size, now and always: neither it nor what followed was applied
  not_connected,     // no connection could be made: nothing was sent
  host_unknown,      // as not_connected: the host's name cannot be resolved
  // The server refuses us: the password is wrong, the database does not exist, it speaks TLS, or it is no Redis at all.
  // Or the kernel forbids the connection.  At most the greeting was sent, and trying again does not help.
  login_refused,
};

// The connection ended, or the deadline passed, before the whole reply had come.  A command that was sent may or may
// not have been applied, now or later: the connection is closed, and a reply is never read twice.
class ConnectionLost : public std::runtime_error {
 public:
  explicit ConnectionLost(const std::string& what) : std::runtime_error(what) {}
  ConnectionLost(Loss why, const std::string& what) : std::runtime_error(what), why(why) {}

  bool nothing_was_sent() const {
    return why == Loss::not_connected || why == Loss::host_unknown || why == Loss::login_refused;
  }
  // For a caller that had sent other commands before: those may have been applied.
  ConnectionLost after_others() const { return {nothing_was_sent() ? Loss::unanswered : why, what()}; }

  const Loss why = Loss::unanswered;
};

}  // namespace brood
