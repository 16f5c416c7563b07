#include "supervisor/web/listener.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "shared/base/check.hpp"

namespace brood {
namespace {

constexpr int backlog = 256;

UniqueFd socket_of(int family) {
  return UniqueFd(check("socket", ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
}

UniqueFd listen_at_path(const std::string& path, mode_t mode) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const auto* const at = reinterpret_cast<const sockaddr*>(&address);
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode)) throw std::runtime_error(path + " exists already, and is not a socket");
    const UniqueFd client = socket_of(AF_UNIX);
    if (connect(client.get(), at, sizeof address) == 0 || errno == EAGAIN)
      throw std::runtime_error("another process listens at " + path + " already");
    // Only a refusal proves that no process listens; a missing right to connect proves nothing.
    if (errno != ECONNREFUSED) throw std::runtime_error(path + " may belong to another process, and cannot be checked");
    unlink(path.c_str());
  }
  UniqueFd listener = socket_of(AF_UNIX);
  const mode_t before = umask(0777);  // closed until its mode is set
  const int bound = bind(listener.get(), at, sizeof address);
  umask(before);
  check(path.c_str(), bound);
  check("listen", listen(listener.get(), backlog));
  check("chmod", chmod(path.c_str(), mode));
  return listener;
}

template <typename Address>
UniqueFd listen_by_tcp(int family, const Address& address) {
  UniqueFd listener = socket_of(family);
  const int yes = 1;
  check("setsockopt", setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
  check("bind", bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  check("listen", listen(listener.get(), backlog));
  return listener;
}

}  // namespace

UniqueFd listen_for_pages(const ListenAddress& address, mode_t mode) try {
  if (address.is_unix()) return listen_at_path(address.path, mode);
  if (address.host.find(':') != address.host.npos) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(address.port);
    inet_pton(AF_INET6, address.host.c_str(), &six.sin6_addr);
    return listen_by_tcp(AF_INET6, six);
  }
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(address.port);
  inet_pton(AF_INET, address.host.c_str(), &four.sin_addr);
  return listen_by_tcp(AF_INET, four);
} catch (const std::system_error& error) {
  throw std::runtime_error(address.text() + ": " + error.what());
}

}  // namespace brood
