#include "supervisor/cli/run/check_page.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>

#include "shared/base/changeable_path.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/config/credential.hpp"
#include "shared/config/listen_address.hpp"

namespace brood {
namespace {

// An errno; 0: it can.
int why_not_bound(const sockaddr* address, socklen_t size) {
  const UniqueFd socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno;
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return bind(socket.get(), address, size) == 0 || errno == EADDRINUSE ? 0 : errno;
}

int why_no_listening(const ListenAddress& at) {
  if (at.is_unix()) {
    const std::string directory = std::filesystem::path(at.path).parent_path();
    return access(directory.empty() ? "." : directory.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(at.port);
  if (inet_pton(AF_INET, at.host.c_str(), &v4.sin_addr) == 1)
    return why_not_bound(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(at.port);
  if (inet_pton(AF_INET6, at.host.c_str(), &v6.sin6_addr) == 1)
    return why_not_bound(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
  return 0;  // with a zone, say: the page itself finds out
}

// A page whose users each job could change does not start.  Empty: it does.
std::string why_not_by_users(const WebSettings& web) {
  if (web.users.empty() || geteuid() == 0) return "";
  const std::string changeable = changeable_part_of(credential_path(web.users), geteuid());
  if (changeable.empty()) return "";
  return "page: " + log::printable(changeable) +
         " can be changed by the user that the page and all jobs run as, so that each job could let itself in by users "
         "in [web]: give it to root";
}

}  // namespace

int check_page(const Config& config) {
  if (config.web.listen.empty()) return EX_OK;
  if (const std::string why = why_not_by_users(config.web); !why.empty()) {
    std::cerr << "brood: " << why << std::endl;
    return EX_CONFIG;
  }
  const int error = why_no_listening(ListenAddress::parse(config.web.listen));
  if (error == 0) return EX_OK;
  const std::string text = "the page cannot listen at " + log::printable(config.web.listen) +
                           " in [web]: " + std::generic_category().message(error);
  if (error == ENOENT) {  // systemd makes the directories of a unit at its start
    std::cout << "warning: " << text << std::endl;
    return EX_OK;
  }
  std::cerr << "brood: " << text << std::endl;
  return EX_CONFIG;
}

}  // namespace brood
