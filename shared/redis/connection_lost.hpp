#pragma once

#include <stdexcept>
#include <string>

namespace brood {

// Why a command has no reply.
enum class Loss {
  unanswered,        // no whole reply came within the deadline, or the connection broke
  closed,            // the other end closed the connection
  closed_on_large,   // it did so in answer to a large command: if it is too large, sending it again ends in too_large
  hung_up,           // it did so before it sent a byte: it may speak TLS, or be a proxy whose server is away
  not_the_protocol,  // what came is not the protocol of Redis
  no_memory,         // there was no memory for the reply: asking again would not help
  too_large,         // Redis refuses a command of this size, now and always: neither it nor what followed was applied
  not_connected,     // no connection came about: nothing was sent
  host_unknown,      // likewise, since no address is known for the host's name
  // The server does not let us in: a wrong password, no such database, or it speaks TLS or is no Redis at all; or the
  // kernel does not let us near it.  At most the greeting was sent, and trying again does not help.
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
