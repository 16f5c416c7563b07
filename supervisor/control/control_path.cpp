#include "supervisor/control/control_path.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "shared/base/check.hpp"
#include "shared/base/clock.hpp"

namespace brood {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::length_error("too long for a socket address: " + path);
  path.copy(address.sun_path, path.size());
  return address;
}

UniqueFd stream_socket() {
  return UniqueFd(check("socket", ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
}

bool somebody_listens(const std::string& path) {
  try {
    connect_to(path);
    return true;
  } catch (const std::system_error& error) {
    if (error.code().value() == ECONNREFUSED) return false;
    if (error.code().value() == EAGAIN) return true;
    throw;
  }
}

void refuse_to_replace_what_is_in_use(const std::string& path) {
  struct stat there {};
  if (lstat(path.c_str(), &there) != 0) {
    if (errno == ENOENT) return;
    throw std::system_error(errno, std::generic_category(), path);
  }
  if (!S_ISSOCK(there.st_mode)) throw std::runtime_error(path + " is there already, and is no socket");
  if (somebody_listens(path)) throw std::runtime_error("another supervisor listens at " + path);
}

}  // namespace

std::string control_socket_path(const std::string& directory, const std::string& identity) {
  std::string name = identity;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '/'; }, '_');
  return directory + "/" + name + ".control";
}

// A sockaddr_un holds 107 bytes, and a runtime directory with an identity may be longer.  So this binds the socket
// under a short name, by way of the directory's descriptor.  It gives the socket its real name once it listens and only
// its own user may open it.
UniqueFd listen_at(const std::string& path, int backlog) {
  refuse_to_replace_what_is_in_use(path);
  const UniqueFd directory(check("open of the runtime directory",
                                 open(path.substr(0, path.rfind('/') + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
  const std::string short_path =
      fmt::format("/proc/self/fd/{}/.{}.{:x}", directory.get(), getpid(), steady_now().time_since_epoch().count());
  UniqueFd listener = stream_socket();
  const sockaddr_un address = address_of(short_path);
  check("bind of the control socket",
        bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  try {
    check("chmod of the control socket", chmod(short_path.c_str(), 0600));
    check("listen on the control socket", listen(listener.get(), backlog));
    check("rename of the control socket", rename(short_path.c_str(), path.c_str()));
  } catch (...) {
    unlink(short_path.c_str());
    throw;
  }
  return listener;
}

UniqueFd connect_to(const std::string& path) {
  const UniqueFd file(check("open of the control socket", open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)));
  UniqueFd connection = stream_socket();
  const sockaddr_un address = address_of(fmt::format("/proc/self/fd/{}", file.get()));
  check("connect to the control socket",
        connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  return connection;
}

}  // namespace brood
