#pragma once

#include <boost/test/unit_test.hpp>

#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "supervisor/control/control_socket.hpp"
#include "tests/support/temporary_directory.hpp"

namespace brood {

struct Asked {
  std::string verb;
  std::vector<std::string> arguments;
  ControlSocket::Reply reply;
};

// A socket on a loop, whose handler keeps every request; and what the test sends it.
struct Listening {
  TemporaryDirectory directory;
  EventLoop loop;
  std::deque<Asked> asked;
  std::string path = control_socket_path(directory.path(), "host:1:abcdefabcdef");
  std::optional<ControlSocket> socket;

  Listening() { open(); }
  void open() {
    signal(SIGPIPE, SIG_IGN);
    socket.emplace(loop, path, [this](const std::string& verb, const auto& arguments, ControlSocket::Reply reply) {
      if (verb == "throw") throw std::runtime_error("this verb throws");
      if (verb == "at_once") return reply.ok(R"({"done":true})");
      asked.push_back({verb, arguments, reply});
    });
  }

  template <typename Predicate>
  bool run_until(Predicate holds, std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    Timer again(loop, [] {});
    while (!holds()) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      again.start_in(std::chrono::milliseconds(3));
      loop.run_once();
    }
    return true;
  }
  // What the loop did in that time besides waiting: a descriptor that it neither reads nor drops makes it spin.
  int turns_within(std::chrono::milliseconds duration) {
    int turns = 0;
    const auto end = std::chrono::steady_clock::now() + duration;
    bool over = false;
    Timer last(loop, [&] { over = true; });
    last.start_in(duration);
    for (; !over && std::chrono::steady_clock::now() < end; ++turns) loop.run_once();
    return turns;
  }

  UniqueFd connect() const { return connect_to(path); }
  UniqueFd request(const std::string& text) const {
    UniqueFd client = connect();
    BOOST_TEST(send(client.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
    return client;
  }
  // All that the supervisor sends until it closes; "still open" at the end when it does not.
  std::string conversation(const UniqueFd& client, std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    std::string text;
    const bool closed = run_until(
        [&] {
          char bytes[4096];
          const ssize_t size = recv(client.get(), bytes, sizeof bytes, MSG_DONTWAIT);
          if (size > 0) text.append(bytes, static_cast<std::size_t>(size));
          return size == 0 || (size < 0 && errno != EAGAIN);
        },
        timeout);
    return closed ? text : text + "still open";
  }
  bool answers() { return conversation(request("1 at_once []\n")) == "ok {\"done\":true}\n"; }
};

}  // namespace brood
