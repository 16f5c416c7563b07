#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "shared/redis/address.hpp"

namespace brood {

// An unreliable network between a client and a server on a Unix socket: a thread that passes bytes on, late, in pieces,
// in part or not at all.  Everything may be changed while connections are open.
class TcpProxy {
 public:
  enum class Listen { unix_socket, tcp };

  // The target is the path of a socket, or the number of a loopback port.
  explicit TcpProxy(std::string target_socket, Listen listen = Listen::unix_socket);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  RedisAddress address() const;  // without a password; for clients
  std::string url() const;

  void delay(std::chrono::milliseconds each_way);  // from now on, bytes arrive later by this
  void split_into(std::size_t bytes);              // at most so many bytes at a time; 0: as they come

  // Passes at most so many bytes a second in each direction of each connection, like a slow line.  Does not read the
  // rest, so the sender's buffers fill.  0: no limit.
  void limit_rate(std::size_t bytes_per_second);

  // Connections that are opened from now on reach another server, as with a name or an address that moves.  Open
  // connections stay where they are.
  void point_at(std::string target_socket);

  // Takes requests in, but passes none on until it is released: the client waits without any sign.
  void stall_requests(bool stalled = true);
  void stall_replies(bool stalled = true);

  // Passes that many further bytes of requests on, of all connections together.  Then resets the connection that sends
  // the next byte.  Happens once; later connections work again.
  void cut_requests_after(std::size_t bytes);
  void cut_replies_after(std::size_t bytes);

  // Resets every open connection, whatever is under way.
  void reset_connections();

  std::size_t accepted() const;       // connections so far
  std::size_t request_bytes() const;  // passed on to the server so far
  std::size_t reply_bytes() const;    // passed on to clients so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace brood
