#include "tests/support/scripted_server.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "shared/base/check.hpp"

namespace brood {

ScriptedServer::ScriptedServer(std::string speech, Manners manners) : speech_(std::move(speech)), manners_(manners) {
  listener_.reset(check("socket", socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  std::strncpy(local.sun_path, address().socket_path.c_str(), sizeof local.sun_path - 1);
  check("bind", bind(listener_.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local));
  check("listen", listen(listener_.get(), 16));
  thread_ = std::thread([this] { run(); });
}

ScriptedServer::~ScriptedServer() {
  stopping_ = true;
  thread_.join();
}

RedisAddress ScriptedServer::address() const {
  RedisAddress address;
  address.socket_path = directory_ / "scripted.sock";
  return address;
}

void ScriptedServer::run() {
  while (!stopping_) {
    pollfd listening{listener_.get(), POLLIN, 0};
    if (poll(&listening, 1, 10) <= 0) continue;
    const UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ++accepted_;
    speak_to(client.get());
  }
}

void ScriptedServer::speak_to(int client) {
  bool spoken = false;
  bool asked = !manners_.wait_for_request;
  while (!stopping_) {
    if (asked && (!spoken || manners_.forever)) {
      if (send(client, speech_.data(), speech_.size(), MSG_NOSIGNAL) < 0) return;
      spoken = true;
      if (manners_.hang_up) return;
    }
    pollfd reading{client, POLLIN, 0};
    if (poll(&reading, 1, manners_.forever && spoken ? 1 : 10) <= 0) continue;
    char request[4096];
    if (recv(client, request, sizeof request, MSG_DONTWAIT) <= 0) return;
    asked = true;
  }
}

}  // namespace brood
