#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/address.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/connection_lost.hpp"
#include "shared/redis/reply.hpp"
#include "shared/redis/script_call.hpp"

struct uv_loop_s;

namespace brood {

// The supervisor's connection, which never blocks.  It connects by itself to a numeric address or a socket, and reports
// that.  After a loss it connects again with backoff and jitter (50 ms, doubling to 5 s).  If a server answers that it
// is no master (READONLY, for example), the connection is closed: the next one may find the master.
//
// Callbacks run from the loop, never within a call to this class.  They may send, open, close or destroy the
// connection.  If one throws a std::runtime_error (an UnexpectedReply, for example), the connection is closed, and the
// error reported as the reason.
class AsyncConnection {
 public:
  class Scope;

  // An answer, or why there is none.  `error` is empty when `reply` holds the reply (which may be an error reply).
  struct Result {
    Reply reply;
    std::string error;  // connection lost, deadline passed, not connected; the command may or may not have been applied
    Loss loss = Loss::unanswered;  // of such an error: unanswered, closed (after it had served us) or too_large
    bool ok() const { return error.empty() && !reply.view().is_error(); }
    std::string why() const { return error.empty() ? std::string(reply.view().error()) : error; }
  };
  using Callback = std::function<void(Result)>;
  using AllCallback = std::function<void(std::vector<Result>)>;
  using Hear = std::function<void(ReplyView message)>;

  struct Events {
    std::function<void()> connected;                           // after AUTH, SELECT and CLIENT SETNAME were answered
    std::function<void(const std::string& why)> disconnected;  // once per loss, and once per streak of failed connects
    // Judges a new server by its INFO, before anything else is sent to it.  Throws a std::runtime_error if the server
    // must not be used (now), and ConnectionLost (login_refused) if it refuses us.  Not set: any server is used.
    std::function<void(const Result& info)> judge = {};
  };

  AsyncConnection(uv_loop_s* loop, std::string client_name, Events events);
  ~AsyncConnection();  // callbacks of unanswered commands are dropped, not called
  AsyncConnection(const AsyncConnection&) = delete;
  AsyncConnection& operator=(const AsyncConnection&) = delete;

  // Begins to connect, now and after every loss.  `address` must not need resolving.  An open connection is closed
  // first.
  void open(RedisAddress address);
  void close();  // unanswered commands get an error on the next turn; `disconnected` is not called

  bool connected() const;
  // When the oldest command that has no answer yet was sent; nullopt: there is none.
  std::optional<SteadyTime> waits_since() const;
  // The server's error (for a wrong password, for example) when it refused this connection the last time; empty: it
  // connected, or did not answer.
  const std::string& refusal() const;
  const RedisAddress& address() const;  // that open() got last

  // Sends `command` if connected.  Otherwise, or if more than 64 MB wait to be sent, answers on the next turn of the
  // loop with an error.  If the reply is not whole after `deadline`, and no bytes get through any more (see pace.hpp),
  // the connection is closed, and every unanswered command fails.  A script whose SHA Redis does not know is sent once
  // more by its text, and then answered.
  void send(Command command, std::chrono::milliseconds deadline, Callback callback);

  // As send, for several commands; the callback gets one result each, in order, once all are in.
  void send_all(std::vector<Command> commands, std::chrono::milliseconds deadline, AllCallback callback);

  // The same for scripts.
  void run_all(std::vector<ScriptCall> scripts, std::chrono::milliseconds deadline, AllCallback callback) {
    send_all(commands_of(std::move(scripts)), deadline, std::move(callback));
  }

  // Subscribes to `channel`: `subscribed` gets the answer, and if that is no error, `hear` gets each message until the
  // connection is lost.  Only PING may be sent meanwhile.
  void subscribe(std::string_view channel, std::chrono::milliseconds deadline, Callback subscribed, Hear hear);

 private:
  static std::vector<Command> commands_of(std::vector<ScriptCall> scripts);

  struct State;
  std::shared_ptr<State> state_;
};

// For a sender that may be gone when the answer comes.  Once the Scope is destroyed or cancelled, no callback of its
// commands runs.  Such a callback may destroy or cancel its Scope.  The connection must outlive the Scope.
class AsyncConnection::Scope {
 public:
  explicit Scope(AsyncConnection& connection) : connection_(connection) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Returns a function that calls `callback` while this scope is open, and does nothing afterwards.
  template <typename Function>
  auto guard(Function callback) const {
    return [open = std::weak_ptr<const Open>(open_), callback = std::move(callback)](auto&&... answers) mutable {
      if (!open.expired()) callback(std::forward<decltype(answers)>(answers)...);
    };
  }

  // As AsyncConnection::send().
  void send(Command command, std::chrono::milliseconds deadline, Callback callback) {
    connection_.send(std::move(command), deadline, guard(std::move(callback)));
  }
  void send_all(std::vector<Command> commands, std::chrono::milliseconds deadline, AllCallback callback) {
    connection_.send_all(std::move(commands), deadline, guard(std::move(callback)));
  }
  void run_all(std::vector<ScriptCall> scripts, std::chrono::milliseconds deadline, AllCallback callback) {
    connection_.run_all(std::move(scripts), deadline, guard(std::move(callback)));
  }
  bool connected() const { return connection_.connected(); }
  AsyncConnection& connection() { return connection_; }

  // Drops the answers to all commands sent so far; those to later ones still arrive.
  void cancel() { open_ = std::make_shared<Open>(); }

 private:
  struct Open {};
  AsyncConnection& connection_;
  std::shared_ptr<const Open> open_ = std::make_shared<Open>();
};

}  // namespace brood
