#include "supervisor/redis/server_finder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis/socket.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;
using Reason = ServerSearch::Reason;

constexpr auto longest_wait = 10s;
constexpr auto longest_search = 4s;            // for the sentinels; a name server may take longer
constexpr std::size_t longest_answer = 4'096;  // fits the pipe, so that the child never waits for us
constexpr std::size_t longest_reason = 1'024;

ServerSearch unknown_host(const RedisAddress& address) {
  return {
      .found = std::nullopt, .why = "no address is known for the host " + address.host, .reason = Reason::host_unknown};
}

ServerSearch search(const RedisAddress& address) {
  try {
    FoundServer found = find_server(address, steady_now() + longest_search);
    if (found.server.needs_resolving()) {
      for (const Endpoint& endpoint : endpoints_of(found.server, Lookup::blocking))
        found.server.numeric_hosts.push_back(numeric_host(endpoint));
    }
    return {.found = std::move(found)};
  } catch (const ConnectionLost& lost) {
    const bool is_unknown = lost.why == Loss::host_unknown;
    if (is_unknown && !address.must_be_found()) return unknown_host(address);
    const Reason others = lost.why == Loss::login_refused ? Reason::refused : Reason::away;
    return {.found = std::nullopt, .why = lost.what(), .reason = is_unknown ? Reason::host_unknown : others};
  } catch (const std::runtime_error& error) {
    return {.found = std::nullopt, .why = error.what(), .reason = Reason::away};
  }
}

int tell(const RedisAddress& address, int to) {
  const std::string text = search_text(search(address));
  return write(to, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

std::string search_text(const ServerSearch& search) {
  if (!search.found) {
    std::string why = search.why.substr(0, longest_reason);
    std::replace_if(
        why.begin(), why.end(), [](unsigned char c) { return c < ' '; }, ' ');
    const std::string_view reason = search.reason == Reason::refused        ? "refused "
                                    : search.reason == Reason::host_unknown ? "unknown "
                                                                            : "away ";
    return std::string(reason) + why + "\n";
  }
  const RedisAddress& server = search.found->server;
  std::string text = "name " + server.host + "\nport " + std::to_string(server.port) + "\n";
  for (const std::string& host : server.numeric_hosts.empty() ? std::vector{server.host} : server.numeric_hosts) {
    if (text.size() < longest_answer / 3) text += "host " + host + "\n";
  }
  for (const Teller& sentinel : search.found->tellers) {
    if (text.size() < longest_answer * 2 / 3)
      text += "sentinel " + std::to_string(sentinel.seed.port) + " " +
              (sentinel.number.empty() ? "-" : sentinel.number) + " " + sentinel.seed.host + "\n";
  }
  return text;
}

ServerSearch read_search(const RedisAddress& address, const std::string& text) {
  FoundServer found{.server = address, .tellers = {}};
  std::istringstream lines(text);
  for (std::string word; lines >> word;) {
    std::string rest;
    std::getline(lines >> std::ws, rest);
    const auto number = [&] { return leading_number<std::uint16_t>(rest); };
    if (word == "refused") return {.found = std::nullopt, .why = rest, .reason = Reason::refused};
    if (word == "unknown") return {.found = std::nullopt, .why = rest, .reason = Reason::host_unknown};
    if (word == "away") return {.found = std::nullopt, .why = rest, .reason = Reason::away};
    if (word == "port") found.server.port = number();
    if (word == "name") found.server.host = rest;
    if (word == "host") found.server.numeric_hosts.push_back(rest);
    if (word == "sentinel") {
      Teller sentinel;
      std::istringstream(rest) >> plain(sentinel.seed.port) >> sentinel.number >> sentinel.seed.host;
      if (sentinel.number == "-") sentinel.number.clear();
      if (!sentinel.seed.host.empty()) found.tellers.push_back(std::move(sentinel));
    }
  }
  if (found.server.numeric_hosts.empty()) {
    if (!address.must_be_found()) return unknown_host(address);
    return {.found = std::nullopt, .why = "the search for the master did not end"};
  }
  if (address.must_be_found()) {
    found.server.seeds.clear();
    found.server.master.clear();
  }
  return {.found = std::move(found)};
}

void ServerFinder::find(const RedisAddress& address, Done done) {
  if (child_.is_running()) return;
  int ends[2];
  check("pipe2", pipe2(ends, O_CLOEXEC));
  answers_.reset(ends[0]);
  const UniqueFd to(ends[1]);
  child_ = children_.spawn(
      {.title = "brood: resolver", .keep = {to.get()}, .parent_death_signal = SIGKILL},
      Children::Deadline{steady_now() + longest_wait}, [&] { return tell(address, to.get()); },
      [this, address](const Children::End&) { ended(address); });
  done_ = std::move(done);
}

void ServerFinder::ended(const RedisAddress& address) {
  char buffer[longest_answer];
  fcntl(answers_.get(), F_SETFL, O_NONBLOCK);  // a grandchild may hold the other end open
  const ssize_t got = read(answers_.get(), buffer, sizeof buffer);
  answers_.reset();
  ServerSearch search = read_search(address, std::string(buffer, got > 0 ? static_cast<std::size_t>(got) : 0));
  if (const Done done = std::exchange(done_, nullptr)) done(std::move(search));
}

}  // namespace brood
