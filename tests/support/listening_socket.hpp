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
#include "tests/support/test_loop.hpp"

namespace brood {

struct Asked {
  std::string verb;
  std::vector<std::string> arguments;
  ControlSocket::Reply reply;
};

// A control socket whose handler keeps each request, and its clients.
struct Listening : TestLoop {
  TemporaryDirectory directory;
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

  // The number of turns of the loop in that time.  A descriptor that it neither reads nor drops makes it spin.
  int turns_within(std::chrono::milliseconds duration) {
    int turns = 0;
    bool over = false;
    Timer last(loop, [&] { over = true; });
    last.start_in(duration);
    while (!over) {
      loop.run_once();
      ++turns;
    }
    return turns;
  }

  UniqueFd connect() const { return connect_to(path); }
  UniqueFd request(const std::string& text) const {
    UniqueFd client = connect();
    BOOST_TEST(send(client.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
    return client;
  }
  // Returns all that the supervisor sends until it closes, with "still open" at the end if it does not close.
  std::string conversation(const UniqueFd& client, std::chrono::milliseconds timeout = std::chrono::seconds(100)) {
    std::string text;
    const bool closed = holds_within(
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
