#include "supervisor/cli/run/check_page.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "shared/base/ascii.hpp"
#include "shared/base/paths.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/config/http_endpoint.hpp"
#include "shared/config/password_files.hpp"
#include "supervisor/cli/run/check_names.hpp"

namespace brood {
namespace {

// An errno; 0 if it can be bound.
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
  return 0;  // it may have a zone: the page itself will find out
}

bool is_user(const std::string& name) {
  return std::all_of(name.begin(), name.end(), ascii::is_digit) || getpwnam(name.c_str()) != nullptr;
}

void look_at_users(const WebSettings& web, Findings& found) {
  require_readable("web.users", web.users, found);
  if (!web.proxy_user.empty() && !is_user(web.proxy_user))
    found.refusals.push_back("web.proxy_user: there is no user " + web.proxy_user);
  if (web.users.empty() || geteuid() == 0) return;
  if (const std::string changeable = changeable_part_of(credential_path(web.users), geteuid()); !changeable.empty())
    found.refusals.push_back(
        "web.users: " + changeable +
        " can be changed by the user of the page and all jobs, so a job could let itself in: give it to root");
}

}  // namespace

Findings check_page(const Config& config) {
  Findings found;
  if (config.web.listen.empty()) return found;
  look_at_users(config.web, found);
  const int error = why_no_listening(ListenAddress::parse(config.web.listen));
  if (error == 0) return found;
  // systemd makes a unit's directories at its start.
  (error == ENOENT ? found.warnings : found.refusals)
      .push_back("web.listen: the page cannot listen at " + config.web.listen + ": " +
                 std::generic_category().message(error));
  return found;
}

}  // namespace brood
