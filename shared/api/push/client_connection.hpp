#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <brood/client.hpp>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/script.hpp"

namespace brood {

// A ConnectionLost, as the library throws it.
class RedisLost : public RedisError {
 public:
  RedisLost(Loss why, const std::string& what) : RedisError(what), why(why) {}
  bool nothing_was_sent() const { return ConnectionLost(why, what()).nothing_was_sent(); }

  const Loss why;
};

// Whether Redis is away, and refused neither us nor the command: it may serve us later.
inline bool is_away(const RedisError& error) {
  const auto* const lost = dynamic_cast<const RedisLost*>(&error);
  return lost != nullptr && lost->why != Loss::login_refused && lost->why != Loss::too_large;
}

// The one connection of a program that uses the library.  Every failure is thrown as RedisError, with the address.  An
// idle connection is checked before anything is risked on it, and what a former master refuses is sent once more on a
// new connection, as Sidekiq's client does.
class ClientConnection {
 public:
  explicit ClientConnection(const RedisAddress& address);

  const std::string& name() const { return name_; }  // of the Redis, for messages; never with the password

  // Sends all at once and returns as many replies, error replies included.
  std::vector<Reply> pipeline(const std::vector<Command>& commands);

  // The same for commands that push.  If the address asks for it, waits until replicas confirm them.  Throws
  // NotConfirmed if all were applied and too few replicas have them.
  std::vector<Reply> push(std::vector<Command> commands);
  // The same for a push with more to follow: stores NotConfirmed in `unconfirmed` instead of throwing it.  If that is
  // set, does not wait for replicas.
  std::vector<Reply> push(std::vector<Command> commands, std::optional<NotConfirmed>& unconfirmed);
  // Returns whether replicas confirm the last push.  Sends no push.
  bool is_confirmed();
  // How often it has connected.
  std::uint64_t connections() const { return connection_.connections(); }
  // Returns whether this is still that connection, and replicas have all that was pushed on it.
  bool has_all_confirmed_on(std::uint64_t connection);

  // One command, or one script.  Throws RedisError for an error reply.
  Reply call(const Command& command);
  Reply run(ScriptCall call);
  Reply try_to_run(ScriptCall call);  // returns an error reply

  // Reads Redis's clock for redis_now(), unless it was read a moment ago.  It is no error when Redis is away or
  // refuses.
  void ask_time();

  // Returns once Redis has answered, within a second or two, or at once if it answered a moment ago.  So what is sent
  // next is not risked on a server that hangs.  Throws a RedisLost by which nothing was sent.
  void prove_that_it_answers();

  void set_timeouts(Connection::Timeouts timeouts);
  void disconnect() { connection_.disconnect(); }
  void leave_to_parent() { disconnect(); }  // in a forked child: see PerProcess

  // All or none of them, as MULTI does it.  Throws RedisError when one is refused.
  void transaction(std::vector<Command> commands);

  // Throws RedisError with the error reply to a command about `key`.
  [[noreturn]] void refuse(std::string_view key, std::string_view error) const;
  [[noreturn]] void refuse(const Command& command, std::string_view error) const;

 private:
  [[noreturn]] void raise(Loss why, std::string_view what) const;
  void check_rested_connection();
  std::vector<Reply> ask_again(const std::vector<Command>& refused);

  std::string name_;
  ReplicaWait wait_;
  Connection connection_;
  Connection::Timeouts timeouts_;
  SteadyTime last_used_{};
};

}  // namespace brood
