#include "shared/statsd/statsd.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "shared/config/http_endpoint.hpp"

namespace brood {

StatsdSocket::StatsdSocket(const std::string& address) {
  const ListenAddress to = ListenAddress::parse(address);
  if (to.is_unix()) {
    sockaddr_un local{};
    local.sun_family = AF_UNIX;
    to.path.copy(local.sun_path, sizeof local.sun_path - 1);
    std::memcpy(&to_, &local, to_size_ = sizeof local);
  } else if (to.host.find(':') != to.host.npos) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(to.port);
    inet_pton(AF_INET6, to.host.c_str(), &six.sin6_addr);
    std::memcpy(&to_, &six, to_size_ = sizeof six);
  } else {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(to.port);
    inet_pton(AF_INET, to.host.c_str(), &four.sin_addr);
    std::memcpy(&to_, &four, to_size_ = sizeof four);
  }
}

// The socket is not connected.  So a receiver that was away causes no error for the next datagram, and a Unix socket
// that was made anew is found by its path.  A job may have closed the descriptor: then another one is opened.
bool StatsdSocket::send(const std::string& datagram) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!fd_) fd_ = UniqueFd(::socket(to_.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd_) return false;
    const auto* const to = reinterpret_cast<const sockaddr*>(&to_);
    if (::sendto(fd_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL, to, to_size_) >= 0)
      return true;
    if (errno != EBADF && errno != ENOTSOCK) return false;
    fd_.release();  // the number is closed, or belongs to another file
  }
  return false;
}

Statsd::Statsd(const StatsdSettings& settings, std::atomic<std::uint64_t>* dropped)
    : lines_(settings), socket_(settings.address), dropped_(dropped) {}

std::uint64_t Statsd::send() {
  if (lines_.empty()) return 0;
  std::uint64_t lost = 0;
  for (const std::string& datagram : lines_.take()) lost += socket_.send(datagram) ? 0 : 1;
  if (lost > 0 && dropped_ != nullptr) dropped_->fetch_add(lost, std::memory_order_relaxed);
  return lost;
}

}  // namespace brood
