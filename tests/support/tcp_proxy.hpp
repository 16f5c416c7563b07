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

  // The target is a socket's path, or a loopback port as a number.
  explicit TcpProxy(std::string target_socket, Listen listen = Listen::unix_socket);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  RedisAddress address() const;  // without a password; the port or socket that clients connect to
  std::string url() const;

  void delay(std::chrono::milliseconds each_way);  // from now on, bytes arrive so much later
  void split_into(std::size_t bytes);              // no more bytes than that at a time; 0: as they come

  // Lets so many bytes a second through each way on each connection, like a slow line.  The proxy does not read the
  // rest, so the sender's buffers fill.  0: no limit.
  void limit_rate(std::size_t bytes_per_second);

  // Connections that are opened from now on reach another server, as with a name or an address that moves; the open
  // ones stay where they are.
  void point_at(std::string target_socket);

  // Takes bytes in, but passes none on until it is released: the other side waits without any sign.
  void stall_requests(bool stalled = true);
  void stall_replies(bool stalled = true);

  // Passes that many further bytes on, of all connections together, then resets the connection that sent the next one
  // (with 0: the next byte of any).  Happens once; later connections are well again.
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
