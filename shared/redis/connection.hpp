#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/address.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/connection_lost.hpp"
#include "shared/redis/reply.hpp"
#include "shared/redis/script_call.hpp"

namespace brood {

// How long to wait for a reply that may take long, and how the wait may be shortened.  Once bytes of the reply come,
// the usual timeouts apply.
struct Patience {
  std::chrono::milliseconds longest;
  std::chrono::milliseconds longest_connect{0};  // if it has to connect first; 0: the usual time
  int wake_fd = -1;                              // ends the wait when it is readable; -1: none
  // Called when `wake_fd` is readable, or when a signal has come.  It must read `wake_fd` empty.  Returns how much
  // longer to wait at most; nullopt: go on as before.
  std::function<std::optional<std::chrono::milliseconds>()> woken = {};
};

// Sends a command to Redis and waits for its reply.  The tests of the worker protocol replace it with an unreliable
// network.
class Channel {
 public:
  virtual ~Channel() = default;

  // Returns the reply, error replies included.  Throws ConnectionLost; the next call then connects anew.
  virtual Reply call(const Command& command) = 0;

  // The same for a script.
  Reply run(ScriptCall script) { return call(std::move(script).command()); }

  // As call(), for a command that waits in Redis, and others that Redis is to run once that wait has ended: all are
  // sent at once.  Throws ConnectionLost when `patience` ends before the last reply.
  virtual std::vector<Reply> call_patiently(const std::vector<Command>& commands, const Patience& patience);

  // How often it has connected: another number means another connection.
  virtual std::uint64_t connections() const { return 0; }

  // The prefix of its keys.
  virtual const Keyspace& keyspace() const;

  // Closes the connection; the next call connects anew.
  virtual void disconnect() = 0;
};

// A blocking connection for workers, clients and short-lived children.  It connects at the first call (AUTH, SELECT,
// CLIENT SETNAME), and again at the first call after a loss.  Each time it finds the server anew: see find_server.hpp.
// It sends a command again only if Redis has not applied it: by its text, a script whose SHA Redis does not know; and
// to another node, a command that a node of a Redis Cluster has redirected.
class Connection : public Channel {
 public:
  struct Timeouts {
    std::chrono::milliseconds connect{5'000};
    // For one whole reply; extended while bytes move: a large one may take long on a slow line (see pace.hpp).
    std::chrono::milliseconds command{10'000};
    bool is_final = false;  // never extended, even while bytes arrive
  };
  Connection(RedisAddress address, Timeouts timeouts, std::string client_name = "");
  Connection(RedisAddress address) : Connection(std::move(address), Timeouts{}) {}
  ~Connection() override;
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;

  Reply call(const Command& command) override;
  std::vector<Reply> call_patiently(const std::vector<Command>& commands, const Patience& patience) override;
  std::uint64_t connections() const override;
  const Keyspace& keyspace() const override;
  // Sends all commands at once and returns as many replies.  One deadline for all of them, as for one.
  std::vector<Reply> pipeline(const std::vector<Command>& commands);
  void disconnect() override;
  // Closes the connection; the next call connects to `address`.
  void move_to(RedisAddress address);
  bool connected() const;
  void set_timeouts(Timeouts timeouts);  // from the next call on

  // Whether a search now would find the server at the other end.  With sentinels, at least one has to confirm that.
  bool is_at_master();

  // Lets each wait end, within a second, when `moves` has grown since this connection began: the address has another
  // server by now, and this one may never answer.  A connection that is older than the last move is not used again.
  void follow(const std::atomic<std::uint32_t>* moves);
  // Sets a function that is called before it connects to another server of its address than the last time.
  void on_another_server(std::function<void()> found);

  // From the next connection on adds to `count` how many bytes get through, for a process that waits for this one.
  void count_bytes_in(std::atomic<std::uint64_t>* count);

  // Lets each wait for a reply end when `fd` is at its end (EOF), so that a worker whose supervisor is gone need not
  // wait until the deadline.  From then on each call that has to wait throws ConnectionLost.  A caller that still has
  // something to settle passes -1 first, which turns this off.
  void give_up_on_eof_of(int fd);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace brood
