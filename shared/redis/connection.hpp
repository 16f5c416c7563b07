#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/address.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// The connection ended, or the deadline passed, before the whole reply had come.  A command that was sent may or may
// not have been applied, now or later: the connection is closed, and a reply is never read twice.
class ConnectionLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// No connection came about: nothing was sent.
class NotConnected : public ConnectionLost {
 public:
  using ConnectionLost::ConnectionLost;
};

// What came is not the protocol of Redis.
class NotTheProtocol : public ConnectionLost {
 public:
  using ConnectionLost::ConnectionLost;
};

// The other end closed the connection.
class ConnectionClosed : public ConnectionLost {
 public:
  explicit ConnectionClosed(const std::string& what, bool perhaps_too_large = false)
      : ConnectionLost(what), perhaps_too_large(perhaps_too_large) {}
  const bool perhaps_too_large;  // the command: if it is, sending it again throws TooLargeForRedis
};

// The other end closed the connection before it sent a byte: it may speak TLS, or be a proxy whose server is away.
class HungUp : public ConnectionClosed {
 public:
  using ConnectionClosed::ConnectionClosed;
};

// A command that Redis refuses for its size, and always will: nothing of it was applied, nor of what was sent after it.
class TooLargeForRedis : public ConnectionLost {
 public:
  using ConnectionLost::ConnectionLost;
};

// There was no memory for the reply: to ask again would not help.
class NoMemoryForReply : public ConnectionLost {
 public:
  using ConnectionLost::ConnectionLost;
};

// No address is known for the host's name.
class HostUnknown : public NotConnected {
 public:
  using NotConnected::NotConnected;
};

// The server does not let us in: a wrong password, no such database, or it speaks TLS or is no Redis at all; or the
// kernel does not let us near it.  Only the greeting was sent, if anything, and trying again does not help.
class LoginRefused : public ConnectionLost {
 public:
  using ConnectionLost::ConnectionLost;
};

// How long to wait for a reply that may take long, and who may shorten the wait.  Once bytes of the reply come, it is
// waited for as any other.
struct Patience {
  std::chrono::milliseconds longest;
  std::chrono::milliseconds longest_connect{0};  // if it has to connect first; 0: the usual time
  int wake_fd = -1;
  // Called when `wake_fd` is readable (it must read it empty) or when a signal came.  Returns how much longer to wait
  // at most; nullopt: go on as before.
  std::function<std::optional<std::chrono::milliseconds>()> woken = {};
};

// One conversation with Redis: sends a command and waits for its reply.  The tests of the worker protocol put their
// unreliable network in its place.
class Channel {
 public:
  virtual ~Channel() = default;

  // Returns the reply, error replies included.  Throws ConnectionLost; the next call then connects anew.  After
  // TooLargeForRedis, one of its kinds, it is of no use to send that command again.
  virtual Reply call(const Command& command) = 0;

  // As call(), for a command that waits in Redis, and others that Redis is to run once that wait has ended: all are
  // sent at once.  Throws ConnectionLost when `patience` ends before the last reply.
  virtual std::vector<Reply> call_patiently(const std::vector<Command>& commands, const Patience& patience);

  // How often it has connected: another number means another connection.
  virtual std::uint64_t connections() const { return 0; }

  // What its keys begin with.
  virtual const Keyspace& keyspace() const;

  // Closes the connection; the next call connects anew.
  virtual void disconnect() = 0;
};

// A blocking connection for workers, clients and short-lived children.  Connects at the first call (AUTH, SELECT,
// CLIENT SETNAME), and again at the first call after a loss; it never sends a command twice, but for one that a node of
// a Redis Cluster has not applied since its slot is, or is on its way, elsewhere.  Each time it finds the server anew:
// see find_server.hpp.
class Connection : public Channel {
 public:
  struct Timeouts {
    std::chrono::milliseconds connect{5'000};
    // For one whole reply; extended while bytes move: a large one may take long on a slow line (see pace.hpp).
    std::chrono::milliseconds command{10'000};
    bool is_final = false;  // never extended, however the bytes move
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

  // Whether the server at the other end is the one that is found now.  Where sentinels tell, at least one has to say
  // so.
  bool is_at_master();

  // Waiting also ends, within a second, when `moves` has grown since this connection began: the server is elsewhere by
  // now, and this one may never answer.  A connection that is older than the last move is not used again.
  void follow(const std::atomic<std::uint32_t>* moves);
  // `found` is called before it connects to another server of its address than the last time.
  void on_another_server(std::function<void()> found);

  // From the next connection on adds to `count` how many bytes get through, for a process that waits for this one.
  void count_bytes_in(std::atomic<std::uint64_t>* count);

  // Waiting for a reply also ends when `fd` is at its end (EOF), so that a worker whose supervisor is gone need not
  // wait until the deadline.  Throws ConnectionLost then, now and at every later call that has to wait: a caller that
  // still has something to settle first passes -1 (not set).
  void give_up_on_eof_of(int fd);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace brood
