#include "shared/redis/socket.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "shared/base/check.hpp"
#include "shared/redis/connection.hpp"

namespace brood {

namespace {

Endpoint socket_endpoint(const std::string& path) {
  Endpoint endpoint;
  auto& unix_address = reinterpret_cast<sockaddr_un&>(endpoint.address);
  if (path.size() >= sizeof unix_address.sun_path) throw ConnectionLost(path + ": the path is too long for a socket");
  unix_address.sun_family = AF_UNIX;
  std::memcpy(unix_address.sun_path, path.c_str(), path.size() + 1);
  endpoint.length = sizeof unix_address;
  return endpoint;
}

void add_tcp_endpoints(const std::string& host, std::uint16_t port, int flags, std::vector<Endpoint>& endpoints) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) throw ConnectionLost(Loss::host_unknown, fmt::format("{}: {}", host, gai_strerror(error)));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    Endpoint endpoint;
    std::memcpy(&endpoint.address, info->ai_addr, info->ai_addrlen);
    endpoint.length = info->ai_addrlen;
    endpoints.push_back(endpoint);
  }
}

void set_option(int fd, int level, int option, int value) {
  check("setsockopt", setsockopt(fd, level, option, &value, sizeof value));
}

void set_tcp_options(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  // A host that disappears without closing the connection is noticed within 30 s, with unacknowledged bytes or without.
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
}

// If no process listens on a local port of the ephemeral range, the kernel may give the connecting socket that very
// port, and it is then connected to itself: our own commands would come back as replies.
bool connected_to_itself(int fd) {
  sockaddr_storage ours{}, theirs{};
  socklen_t our_length = sizeof ours, their_length = sizeof theirs;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&ours), &our_length) != 0) return false;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&theirs), &their_length) != 0) return false;
  if (ours.ss_family == AF_UNIX) return false;
  return our_length == their_length && std::memcmp(&ours, &theirs, our_length) == 0;
}

// If the kernel forbids the connection, waiting does not help, as with a wrong password.
[[noreturn]] void throw_connect_error(int error, bool is_unix) {
  if (error != EACCES && error != EPERM) throw std::system_error(error, std::generic_category(), "connect");
  throw ConnectionLost(
      Loss::login_refused,
      fmt::format(
          "connect: {}: {}", std::strerror(error),
          is_unix
              ? "this user may not write to the socket, or not enter a directory above it; add it to the socket's "
                "group "
                "(unixsocketperm 770 in redis.conf), or change the rights"
              : "a rule of this machine forbids it: its firewall, IPAddressDeny= of the unit, SELinux or AppArmor"));
}

}  // namespace

std::vector<Endpoint> endpoints_of(const RedisAddress& address, Lookup lookup) {
  if (!address.socket_path.empty()) return {socket_endpoint(address.socket_path)};
  std::vector<Endpoint> endpoints;
  for (const std::string& host : address.numeric_hosts)
    add_tcp_endpoints(host, address.port, AI_NUMERICHOST, endpoints);
  if (endpoints.empty())
    add_tcp_endpoints(address.host, address.port, lookup == Lookup::blocking ? 0 : AI_NUMERICHOST, endpoints);
  return endpoints;
}

std::string numeric_host(const Endpoint& endpoint) {
  char text[NI_MAXHOST];
  const int error = getnameinfo(reinterpret_cast<const sockaddr*>(&endpoint.address), endpoint.length, text,
                                sizeof text, nullptr, 0, NI_NUMERICHOST);
  if (error != 0) throw ConnectionLost(fmt::format("no number of an address: {}", gai_strerror(error)));
  return text;
}

UniqueFd begin_connect(const Endpoint& endpoint) {
  const int family = endpoint.address.ss_family;
  UniqueFd socket(check("socket", ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)));
  if (family != AF_UNIX) set_tcp_options(socket.get());
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&endpoint.address), endpoint.length) == 0) return socket;
  if (errno == EINPROGRESS || errno == EINTR) return socket;
  if (errno == EAGAIN && family == AF_UNIX) return UniqueFd();
  throw_connect_error(errno, family == AF_UNIX);
}

void check_connected(int fd) {
  int error = 0, domain = 0;
  socklen_t length = sizeof error;
  check("getsockopt", getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length));
  if (error == 0 && connected_to_itself(fd)) error = ECONNREFUSED;
  if (error == 0) return;
  length = sizeof domain;
  check("getsockopt", getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length));
  throw_connect_error(error, domain == AF_UNIX);
}

}  // namespace brood
