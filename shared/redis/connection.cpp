#include "shared/redis/connection.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>

#include "shared/check.hpp"
#include "shared/redis/greeting.hpp"
#include "shared/redis/socket.hpp"
#include "shared/redis/stream.hpp"

namespace brood {

namespace {

int milliseconds_until(SteadyTime deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_now());
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 3'600'000));
}

}  // namespace

struct Connection::State {
  RedisAddress address;
  Timeouts timeouts;
  std::string client_name;
  int eof_fd = -1;
  std::unique_ptr<Stream> stream;
  std::uint64_t connections = 0;

  std::vector<Reply> exchange(std::span<const Command> commands);
  std::vector<Reply> await(const std::vector<Command>& commands, const Patience& patience);

 private:
  void connect(std::chrono::milliseconds longest);
  void connect_if_needed(std::chrono::milliseconds longest);
  template <typename Talk>
  auto closing_on_failure(std::chrono::milliseconds longest_connect, Talk talk);
  void greet(SteadyTime deadline);
  UniqueFd connect_any(SteadyTime deadline);
  UniqueFd connect_one(const Endpoint& endpoint, SteadyTime deadline);
  enum class Wait { in_poll, in_read };
  Reply next_reply(SteadyTime deadline, Wait how = Wait::in_poll);
  short wait(int fd, short events, SteadyTime deadline, const char* what_for);
};

// Waits until `fd` (-1: none) has one of `events` or an error to tell; 0 when the deadline passes and nothing is named
// in `what_for`.
short Connection::State::wait(int fd, short events, SteadyTime deadline, const char* what_for) {
  for (;;) {
    // Without POLLIN a pipe reports just that its last writer is gone; unread bytes do not wake us.
    pollfd watched[] = {{fd, events, 0}, {eof_fd, POLLRDHUP, 0}};
    const int ready = poll(watched, 2, milliseconds_until(deadline));
    if (ready < 0 && errno == EINTR) continue;
    check("poll", ready);
    if (watched[0].revents != 0) return watched[0].revents;
    if (watched[1].revents != 0) throw ConnectionLost("gave up waiting for Redis: the supervisor is gone");
    if (steady_now() < deadline) continue;
    if (what_for == nullptr) return 0;
    throw ConnectionLost(fmt::format("no {} within the deadline", what_for));
  }
}

UniqueFd Connection::State::connect_one(const Endpoint& endpoint, SteadyTime deadline) {
  UniqueFd socket = begin_connect(endpoint);
  while (!socket) {
    wait(-1, 0, std::min(deadline, steady_now() + std::chrono::milliseconds(10)), nullptr);
    if (steady_now() >= deadline) throw ConnectionLost("too many clients wait for the socket");
    socket = begin_connect(endpoint);
  }
  wait(socket.get(), POLLOUT, deadline, "connection");
  if (const int error = connect_error(socket.get()); error != 0)
    throw std::system_error(error, std::generic_category(), "connect");
  return socket;
}

UniqueFd Connection::State::connect_any(SteadyTime deadline) {
  const std::vector<Endpoint> endpoints = endpoints_of(address, Lookup::blocking);
  for (std::size_t i = 0;; ++i) {
    try {
      // Each gets its share of the time, so that one address that swallows packets leaves some to the next.
      const auto share = (deadline - steady_now()) / static_cast<int>(endpoints.size() - i);
      return connect_one(endpoints[i], steady_now() + share);
    } catch (const std::runtime_error&) {
      if (i + 1 == endpoints.size()) throw;
    }
  }
}

void Connection::State::greet(SteadyTime deadline) {
  const std::vector<Command> commands = greeting(address, client_name);
  for (const Command& command : commands) stream->append(command);
  for (const Command& command : commands) {
    const auto why = refusal(command, next_reply(deadline));
    if (!why) continue;
    const ErrorKind kind = classify_error(*why);
    if (kind == ErrorKind::unauthorized || kind == ErrorKind::other) throw LoginRefused(*why);
    throw ConnectionLost(*why);
  }
}

void Connection::State::connect(std::chrono::milliseconds longest) {
  const SteadyTime deadline = steady_now() + longest;
  stream = std::make_unique<Stream>(connect_any(deadline));
  ++connections;
  greet(deadline);
  stream->set_patience(timeouts.command);
}

Reply Connection::State::next_reply(SteadyTime deadline, Wait how) {
  for (bool last_chance = false;;) {
    if (Reply reply = stream->next_reply()) return reply;
    // The deadline is for the whole reply, since a server that sends byte by byte is always ready; but what already
    // lies in the socket is taken, should this process have been stopped meanwhile.
    if (last_chance) throw ConnectionLost("no whole reply within the deadline");
    last_chance = steady_now() >= deadline;
    if (how == Wait::in_read && eof_fd < 0 && stream->unsent() == 0 && !last_chance) {
      stream->read_patiently();
      continue;
    }
    const short unsent = stream->unsent() > 0 ? POLLOUT : 0;
    const short ready = wait(stream->fd(), static_cast<short>(POLLIN | unsent), deadline, "reply");
    if (ready & POLLOUT) stream->write_some();
    if (ready & ~POLLOUT) stream->read_some();
  }
}

// A server that restarted or dropped an idle client is noticed before anything is sent, when it is still safe to
// connect anew.  Bytes that nobody asked for would be taken for our reply.
void Connection::State::connect_if_needed(std::chrono::milliseconds longest) {
  if (stream && !stream->silent()) stream.reset();
  if (!stream) connect(longest);
}

template <typename Talk>
auto Connection::State::closing_on_failure(std::chrono::milliseconds longest_connect, Talk talk) {
  try {
    connect_if_needed(longest_connect);
    return talk();
  } catch (const std::length_error&) {
    stream.reset();
    throw;
  } catch (const LoginRefused& e) {
    stream.reset();
    throw LoginRefused(fmt::format("{}: {}", address.without_password(), e.what()));
  } catch (const std::runtime_error& e) {
    stream.reset();
    throw ConnectionLost(fmt::format("{}: {}", address.without_password(), e.what()));
  } catch (...) {
    stream.reset();
    throw;
  }
}

std::vector<Reply> Connection::State::exchange(std::span<const Command> commands) {
  return closing_on_failure(timeouts.connect, [&] {
    for (const Command& command : commands) stream->append(command);
    stream->write_some();
    const SteadyTime deadline = steady_now() + timeouts.command;
    std::vector<Reply> replies;
    replies.reserve(commands.size());
    while (replies.size() < commands.size()) replies.push_back(next_reply(deadline, Wait::in_read));
    return replies;
  });
}

std::vector<Reply> Connection::State::await(const std::vector<Command>& commands, const Patience& patience) {
  const bool hurries = patience.longest_connect > std::chrono::milliseconds(0);
  return closing_on_failure(hurries ? std::min(patience.longest_connect, timeouts.connect) : timeouts.connect, [&] {
    for (const Command& command : commands) stream->append(command);
    stream->write_some();
    std::vector<Reply> replies;
    SteadyTime deadline = steady_now() + patience.longest;
    int wake_fd = patience.wake_fd;
    for (;;) {
      while (replies.size() < commands.size()) {
        Reply reply = stream->next_reply();
        if (!reply) break;
        replies.push_back(std::move(reply));
      }
      if (replies.size() == commands.size()) return replies;
      if (steady_now() >= deadline) throw ConnectionLost("no reply within the deadline");
      const short unsent = stream->unsent() > 0 ? POLLOUT : 0;
      pollfd watched[] = {{stream->fd(), static_cast<short>(POLLIN | unsent), 0}, {wake_fd, POLLIN, 0}};
      const int ready = poll(watched, 2, milliseconds_until(deadline));
      const bool signalled = ready < 0 && errno == EINTR;
      if (!signalled) check("poll", ready);
      if (signalled || (watched[0].revents == 0 && watched[1].revents != 0)) {
        const auto limit = patience.woken ? patience.woken() : std::nullopt;
        if (!limit) continue;
        deadline = std::min(deadline, steady_now() + *limit);
        wake_fd = -1;  // nobody can hurry us any more
        continue;
      }
      if (watched[0].revents & POLLOUT) stream->write_some();
      if (watched[0].revents & ~POLLOUT) stream->read_some();
    }
  });
}

std::vector<Reply> Channel::call_patiently(const std::vector<Command>& commands, const Patience&) {
  std::vector<Reply> replies;
  for (const Command& command : commands) replies.push_back(call(command));
  return replies;
}

Connection::Connection(RedisAddress address, Timeouts timeouts, std::string client_name)
    : state_(std::make_unique<State>()) {
  state_->address = std::move(address);
  state_->timeouts = timeouts;
  state_->client_name = std::move(client_name);
}

Connection::~Connection() = default;
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;

Reply Connection::call(const Command& command) { return std::move(state_->exchange({&command, 1}).front()); }

std::vector<Reply> Connection::call_patiently(const std::vector<Command>& commands, const Patience& patience) {
  return state_->await(commands, patience);
}

std::uint64_t Connection::connections() const { return state_->connections; }

std::vector<Reply> Connection::pipeline(const std::vector<Command>& commands) {
  return commands.empty() ? std::vector<Reply>() : state_->exchange(commands);
}

void Connection::disconnect() { state_->stream.reset(); }

bool Connection::connected() const { return state_->stream != nullptr; }

void Connection::set_timeouts(Timeouts timeouts) {
  state_->timeouts = timeouts;
  if (state_->stream) state_->stream->set_patience(timeouts.command);
}

void Connection::give_up_on_eof_of(int fd) { state_->eof_fd = fd; }

}  // namespace brood
