#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"

namespace brood {

// A StatsD server that keeps all lines it receives.
class StatsdReceiver {
 public:
  StatsdReceiver() : fd_(check("socket", ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof any;
    check("bind", ::bind(fd_.get(), reinterpret_cast<sockaddr*>(&any), size));
    check("getsockname", ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&any), &size));
    address_ = "127.0.0.1:" + std::to_string(ntohs(any.sin_port));
  }
  explicit StatsdReceiver(const std::string& path)
      : fd_(check("socket", ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))),
        address_("unix:" + path) {
    sockaddr_un local{};
    local.sun_family = AF_UNIX;
    path.copy(local.sun_path, sizeof local.sun_path - 1);
    check("bind", ::bind(fd_.get(), reinterpret_cast<sockaddr*>(&local), sizeof local));
  }

  const std::string& address() const { return address_; }

  // The sum of all values of that name, in lines whose tags contain that text.
  double sum(const std::string& name, const std::string& tags = "") {
    read();
    double sum = 0;
    for (const std::string& line : lines_) {
      if (line.starts_with(name + ":") && line.find(tags) != line.npos)
        sum += std::atof(line.c_str() + name.size() + 1);
    }
    return sum;
  }
  int lines(const std::string& name, const std::string& part = "") {
    read();
    int count = 0;
    for (const std::string& line : lines_)
      count += line.starts_with(name + ":") && line.find(part) != line.npos ? 1 : 0;
    return count;
  }
  std::string text() {
    read();
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }

 private:
  void read() {
    std::array<char, 65'536> bytes;
    for (;;) {
      const ssize_t size = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
      if (size < 0) return;
      std::istringstream datagram(std::string(bytes.data(), static_cast<std::size_t>(size)));
      for (std::string line; std::getline(datagram, line);) lines_.push_back(line);
    }
  }

  UniqueFd fd_;
  std::string address_;
  std::vector<std::string> lines_;
};

}  // namespace brood
