#include "supervisor/redis/resolver.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/clock.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_wait = 10s;
constexpr std::size_t longest_answer = 4'096;  // fits the pipe, so that the child never waits for us

int write_addresses(const std::string& host, int to) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return EXIT_FAILURE;
  std::string text;
  for (const addrinfo* address = found; address != nullptr && text.size() < longest_answer / 2;
       address = address->ai_next) {
    char numeric[NI_MAXHOST];
    if (getnameinfo(address->ai_addr, address->ai_addrlen, numeric, sizeof numeric, nullptr, 0, NI_NUMERICHOST) == 0)
      text += std::string(numeric) + "\n";
  }
  freeaddrinfo(found);
  return write(to, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

void Resolver::resolve(const std::string& host, Done done) {
  if (child_.is_running()) return;
  int ends[2];
  check("pipe2", pipe2(ends, O_CLOEXEC));
  answers_.reset(ends[0]);
  const UniqueFd to(ends[1]);
  child_ = children_.spawn(
      {.title = "brood: resolver", .keep = {to.get()}, .parent_death_signal = SIGKILL},
      Children::Deadline{steady_now() + longest_wait}, [&] { return write_addresses(host, to.get()); },
      [this](const Children::End&) { ended(); });
  done_ = std::move(done);
}

void Resolver::ended() {
  char buffer[longest_answer];
  fcntl(answers_.get(), F_SETFL, O_NONBLOCK);  // a grandchild may hold the other end open
  const ssize_t got = read(answers_.get(), buffer, sizeof buffer);
  answers_.reset();
  std::vector<std::string> addresses;
  std::istringstream lines(std::string(buffer, got > 0 ? static_cast<std::size_t>(got) : 0));
  for (std::string line; std::getline(lines, line);) addresses.push_back(line);
  if (const Done done = std::exchange(done_, nullptr)) done(std::move(addresses));
}

}  // namespace brood
