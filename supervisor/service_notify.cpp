#include "supervisor/service_notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "shared/clock.hpp"
#include "shared/unique_fd.hpp"

namespace brood {

ServiceNotify::ServiceNotify() {
  if (const char* socket = std::getenv("NOTIFY_SOCKET")) socket_ = socket;
  // Children are not the service: they must not speak for it.
  unsetenv("NOTIFY_SOCKET");
  const char* const interval = std::getenv("WATCHDOG_USEC");
  const char* const pid = std::getenv("WATCHDOG_PID");
  if (interval == nullptr || (pid != nullptr && std::atoll(pid) != getpid())) return;
  const long long usec = std::atoll(interval);
  if (usec > 0) watchdog_interval_ = std::chrono::microseconds(usec) / 2;
}

void ServiceNotify::ready() { send("READY=1"); }
// systemd takes the one that it waits for by its time.
void ServiceNotify::reloading() {
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(steady_now().time_since_epoch());
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now.count()));
}
void ServiceNotify::stopping() { send("STOPPING=1"); }
void ServiceNotify::watchdog() { send("WATCHDOG=1"); }

void ServiceNotify::status(const std::string& line) {
  if (line == last_status_) return;
  last_status_ = line;
  send("STATUS=" + line);
}

void ServiceNotify::send(const std::string& state) const {
  if (socket_.empty()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_[0] == '@') address.sun_path[0] = '\0';  // an abstract name
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  // A service manager that does not read is not waited for.
  sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&address),
         length);
}

}  // namespace brood
