#include "supervisor/process/service_notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "shared/base/clock.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/base/unique_fd.hpp"

namespace brood {
namespace {

// Takes the variable out of the environment: children must neither report for the service nor act as if watched.
std::string take(const char* variable) {
  const char* const value = std::getenv(variable);
  std::string taken = value == nullptr ? "" : value;
  unsetenv(variable);
  return taken;
}

}  // namespace

ServiceNotify::ServiceNotify() {
  socket_ = take("NOTIFY_SOCKET");
  const std::string interval = take("WATCHDOG_USEC"), pid = take("WATCHDOG_PID");
  if (!pid.empty() && leading_number<long long>(pid) != getpid()) return;
  const long long usec = leading_number<long long>(interval);
  if (usec > 0) watchdog_interval_ = std::chrono::microseconds(usec) / 2;
}

void ServiceNotify::ready() { owes_ready_ = !send("READY=1"); }
void ServiceNotify::repeat() {
  if (owes_ready_) ready();
}
// This time tells systemd which message it is waiting for.
void ServiceNotify::reloading() {
  owes_ready_ = false;
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(steady_now().time_since_epoch());
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now.count()));
}
void ServiceNotify::stopping() {
  owes_ready_ = false;
  send("STOPPING=1");
}
void ServiceNotify::extend_start(std::chrono::seconds by) {
  send("EXTEND_TIMEOUT_USEC=" + std::to_string(std::chrono::microseconds(by).count()));
}
void ServiceNotify::watchdog() { send("WATCHDOG=1"); }

void ServiceNotify::status(const std::string& line) {
  if (line == last_status_) return;
  last_status_ = line;
  send("STATUS=" + line);
}

// Returns false if it may succeed later.
bool ServiceNotify::send(const std::string& state) const {
  if (socket_.empty()) return true;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof address.sun_path) return true;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_[0] == '@') address.sun_path[0] = '\0';  // an abstract name
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return false;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  // Does not wait for a service manager that does not read.
  return sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                reinterpret_cast<const sockaddr*>(&address), length) >= 0;
}

}  // namespace brood
