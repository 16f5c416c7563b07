#include "shared/redis/connection.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>

#include "shared/base/check.hpp"
#include "shared/redis/greeting.hpp"
#include "shared/redis/pace.hpp"
#include "shared/redis/redirection.hpp"
#include "shared/redis/size_refusals.hpp"
#include "shared/redis/socket.hpp"
#include "shared/redis/stream.hpp"
#include "shared/redis/whereabouts.hpp"

namespace brood {

namespace {

// How often a slow exchange looks at how much has got through.
constexpr std::chrono::seconds pace_look_interval{1};
constexpr std::chrono::seconds unusual_silence{2};  // of a node of a cluster
constexpr std::chrono::milliseconds longest_doubt{1'000};

// How often a wait checks whether the server has moved.
constexpr std::chrono::milliseconds look_for_move{250};

// The size of a node's description of its cluster.
constexpr std::size_t longest_cluster_reply = 4 << 20;

int milliseconds_until(SteadyTime deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_now());
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 3'600'000));
}

std::size_t largest(std::span<const Command> commands) {
  std::size_t size = 0;
  for (const Command& command : commands) size = std::max(size, wire_size(command));
  return size;
}

std::size_t largest_value(std::span<const Command> commands) {
  std::size_t size = 0;
  for (const Command& command : commands) {
    for (const std::string& arg : command.args) size = std::max(size, arg.size());
  }
  return size;
}

// Sends scripts that this Redis does not know once more, by their text.  The other commands may have been applied.
template <typename Send>
void send_unknown_by_text(std::span<const Command> commands, std::vector<Reply>& replies, Send send) {
  const std::vector<std::size_t> places = places_of_unknown_scripts(commands, replies);
  if (places.empty()) return;
  std::vector<Command> again;
  for (const std::size_t place : places)
    again.push_back(commands[place].script ? by_text(commands[place]) : commands[place]);
  try {
    std::vector<Reply> answers = send(again);
    for (std::size_t i = 0; i < places.size(); ++i) replies[places[i]] = std::move(answers[i]);
  } catch (const ConnectionLost& lost) {
    if (places.size() == commands.size()) throw;
    throw lost.after_others();
  }
}

Reply not_too_large(Reply reply) {
  if (refused_for_its_size(reply.view().error()))
    throw ConnectionLost(Loss::too_large, std::string(reply.view().error()));
  return reply;
}

}  // namespace

struct Connection::State : RedirectedSender {
  State(RedisAddress address, Timeouts timeouts, std::string client_name)
      : whereabouts(std::move(address)),
        keyspace(whereabouts.address().key_prefix),
        timeouts(timeouts),
        client_name(std::move(client_name)) {}

  Whereabouts whereabouts;
  Keyspace keyspace;
  Timeouts timeouts;
  std::string client_name;
  int eof_fd = -1;
  std::unique_ptr<Stream> stream;
  std::uint64_t counted = 0;   // of this stream's bytes
  SteadyTime next_look{};      // when to count the sent bytes again
  SteadyTime next_question{};  // when to ask another node of a cluster whether ours still owns the slot
  std::uint64_t connections = 0;
  std::atomic<std::uint64_t>* byte_count = nullptr;
  SizeRefusals refusals;
  const std::atomic<std::uint32_t>* moves = nullptr;
  std::uint32_t moves_seen = 0;       // when this connection began
  std::unique_ptr<Connection> aside;  // to a node of the cluster that does not own our slot yet
  RedisSeed aside_at;

  const RedisAddress& address() const { return whereabouts.address(); }
  std::string name() const { return address().without_password(); }

  std::vector<Reply> exchange(std::span<const Command> commands);
  std::vector<Reply> wait_patiently(const std::vector<Command>& commands, const Patience& patience);

 private:
  std::vector<Reply> send(std::span<const Command> commands) override;
  void go_to(const RedisSeed& node) override;
  std::vector<Reply> ask(const RedisSeed& node, const std::vector<Command>& commands) override;
  void pause(std::chrono::milliseconds time) override;
  std::vector<Reply> await(const std::vector<Command>& commands, const Patience& patience);
  void note_move(const std::vector<Reply>& replies);
  void connect(std::chrono::milliseconds longest);
  void connect_if_needed(std::chrono::milliseconds longest);
  template <typename Talk>
  std::vector<Reply> closing_on_failure(std::span<const Command> commands, std::chrono::milliseconds longest_connect,
                                        Talk talk);
  ConnectionLost in_our_words(const ConnectionLost& lost, std::span<const Command> commands, bool asks, bool heard);
  void shake_hands(SteadyTime deadline);
  void greet(SteadyTime deadline);
  void ask_others();
  bool has_moved() const { return moves != nullptr && moves->load() != moves_seen; }
  UniqueFd connect_any(const std::vector<Endpoint>& endpoints, SteadyTime deadline);
  UniqueFd connect_one(const Endpoint& endpoint, SteadyTime deadline);
  enum class Wait { in_poll, in_read };
  Reply next_reply(Pace& pace, Wait how = Wait::in_poll);
  Pace begin_pace(SteadyTime now, std::chrono::milliseconds longest);
  bool is_over(Pace& pace, SteadyTime now);
  void count_bytes();
  short wait(int fd, short events, SteadyTime deadline, const char* what_for);
};

// Waits until `fd` (-1: none) has one of `events` or an error.  If the deadline passes first, throws ConnectionLost for
// `what_for`, or returns 0 if that is null.  Before a connect it does not wait for a server that is not the master any
// more, which may be cut off.
short Connection::State::wait(int fd, short events, SteadyTime deadline, const char* what_for) {
  for (;;) {
    // No POLLIN: unread bytes in the pipe must not wake us, only its end.
    pollfd watched[] = {{fd, events, 0}, {eof_fd, POLLRDHUP, 0}};
    const SteadyTime look = moves == nullptr ? deadline : std::min<SteadyTime>(deadline, steady_now() + look_for_move);
    const int ready = poll(watched, 2, milliseconds_until(look));
    if (ready < 0 && errno == EINTR) continue;
    check("poll", ready);
    if (watched[0].revents != 0) return watched[0].revents;
    if (watched[1].revents != 0) throw ConnectionLost("gave up waiting for Redis: the supervisor is gone");
    if (fd >= 0 && has_moved()) throw ConnectionLost("another server is the master by now");
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
  check_connected(socket.get());
  return socket;
}

UniqueFd Connection::State::connect_any(const std::vector<Endpoint>& endpoints, SteadyTime deadline) {
  for (std::size_t i = 0;; ++i) {
    try {
      // Each address gets its share of the time, so that one that swallows packets leaves some to the next.
      const auto share = (deadline - steady_now()) / static_cast<int>(endpoints.size() - i);
      return connect_one(endpoints[i], steady_now() + share);
    } catch (const std::runtime_error&) {
      if (i + 1 == endpoints.size()) throw;
    }
  }
}

void Connection::State::shake_hands(SteadyTime deadline) {
  SteadyTime until = deadline - (deadline - steady_now()) / 5;
  while (stream->shakes_hands()) {
    stream->write_some();
    const short unsent = stream->unsent() > 0 ? POLLOUT : 0;
    const short ready = wait(stream->fd(), static_cast<short>(POLLIN | unsent), until, nullptr);
    if (ready & ~POLLOUT) stream->read_some();
    if (ready != 0 || steady_now() < until) continue;
    if (until == deadline) throw ConnectionLost(no_handshake(*stream));
    until = deadline;
    if (!stream->heard()) stream->ask_whether_plain();
  }
}

void Connection::State::greet(SteadyTime deadline) {
  std::vector<Command> commands = greeting(address(), client_name);
  if (refusals.suspects()) commands.push_back({"PING"});  // proves that it lives, should it close the connection again
  for (const Command& command : commands) append_greeting(*stream, command, address());
  Pace pace(deadline, std::chrono::nanoseconds(0));
  for (const Command& command : commands) {
    const auto why = refusal(command, next_reply(pace));
    if (why && command.args.front() != "PING") throw_refusal(*why);
  }
}

void Connection::State::connect(std::chrono::milliseconds longest) {
  SteadyTime deadline = steady_now() + longest;
  if (moves != nullptr) moves_seen = moves->load();
  const RedisAddress there = whereabouts.find(deadline);
  const std::vector<Endpoint> endpoints = endpoints_of(there, Lookup::blocking);
  // The time of the system's resolver does not count, else a slow name server would leave none to connect.
  if (there.needs_resolving()) deadline = steady_now() + longest;
  std::unique_ptr<TlsSession> tls;
  if (there.tls) tls = std::make_unique<TlsSession>(there);
  stream = std::make_unique<Stream>(connect_any(endpoints, deadline), std::move(tls));
  counted = 0;
  ++connections;
  try {
    shake_hands(deadline);
    greet(deadline);
  } catch (const ConnectionLost& lost) {
    if (lost.why == Loss::not_the_protocol) throw ConnectionLost(Loss::login_refused, lost.what());
    throw;
  }
  stream->set_patience(std::min<std::chrono::milliseconds>(timeouts.command, pace_look_interval));
}

Pace Connection::State::begin_pace(SteadyTime now, std::chrono::milliseconds longest) {
  next_look = now + pace_look_interval;
  next_question = now + unusual_silence;
  return Pace(now + longest, timeouts.is_final ? std::chrono::milliseconds(0) : timeouts.command, stream->moved());
}

bool Connection::State::is_over(Pace& pace, SteadyTime now) {
  if (now >= next_look || pace.is_over(now)) {
    next_look = now + pace_look_interval;
    if (has_moved()) throw ConnectionLost("the server is elsewhere by now");
    pace.note(stream->through(), now);
    count_bytes();
    if (now >= next_question && !pace.is_over(now)) ask_others();
  }
  return pace.is_over(now);
}

// Asks other nodes of a cluster whether ours still owns the slot.  A node that hangs or is cut off does not close the
// connection, and the supervisor may not know yet that the slot has another master.
void Connection::State::ask_others() {
  next_question = steady_now() + unusual_silence;
  if (whereabouts.others_name_another(steady_now() + longest_doubt))
    throw ConnectionLost("another node owns the slot by now");
}

void Connection::State::count_bytes() {
  if (byte_count == nullptr) return;
  const std::uint64_t through = stream->through();
  if (through <= counted) return;
  byte_count->fetch_add(through - counted);
  counted = through;
}

Reply Connection::State::next_reply(Pace& pace, Wait how) {
  for (bool last_chance = false;;) {
    if (Reply reply = stream->next_reply()) return reply;
    // The deadline is for the whole reply, since a server that sends byte by byte is always ready.  But this process
    // may have been stopped meanwhile: so bytes that are in the socket already are read first.
    if (last_chance) throw ConnectionLost("no whole reply within the deadline");
    const SteadyTime now = steady_now();
    last_chance = is_over(pace, now);
    if (how == Wait::in_read && eof_fd < 0 && stream->unsent() == 0 && !last_chance) {
      stream->read_patiently();
      continue;
    }
    const short unsent = stream->unsent() > 0 ? POLLOUT : 0;
    const SteadyTime until = std::min(pace.deadline(), now + pace_look_interval);
    const short ready = wait(stream->fd(), static_cast<short>(POLLIN | unsent), until, nullptr);
    if (ready & POLLOUT) stream->write_some();
    if (ready & ~POLLOUT) stream->read_some();
  }
}

// Connects if there is no connection, or if the server has closed it or sent bytes that were not requested, which would
// be taken for a reply.  Before anything is sent it is still safe to connect anew.
void Connection::State::connect_if_needed(std::chrono::milliseconds longest) {
  if (stream && (has_moved() || !stream->silent())) stream.reset();
  if (!stream) connect(longest);
}

template <typename Talk>
std::vector<Reply> Connection::State::closing_on_failure(std::span<const Command> commands,
                                                         std::chrono::milliseconds longest_connect, Talk talk) {
  bool asks = false;
  try {
    connect_if_needed(longest_connect);
    asks = true;
    std::vector<Reply> replies = talk();
    if (refusals.suspects()) refusals.answered(largest(commands));
    return replies;
  } catch (const ConnectionLost& lost) {
    const bool heard = stream && stream->heard();
    stream.reset();
    throw in_our_words(lost, commands, asks, heard);
  } catch (const std::length_error& e) {
    stream.reset();
    throw ConnectionLost(Loss::too_large, fmt::format("{}: {}", name(), e.what()));
  } catch (const std::runtime_error& e) {
    stream.reset();
    throw ConnectionLost(asks ? Loss::unanswered : Loss::not_connected, fmt::format("{}: {}", name(), e.what()));
  } catch (...) {
    stream.reset();
    throw;
  }
}

// Makes an error for the caller of `lost`.  `asks`: it was connected, and `commands` were being sent.
ConnectionLost Connection::State::in_our_words(const ConnectionLost& lost, std::span<const Command> commands, bool asks,
                                               bool heard) {
  std::string what = fmt::format("{}: {}", name(), lost.what());
  switch (lost.why) {
    case Loss::too_large:
      what += fmt::format(": a value of {} bytes is more than its proto-max-bulk-len", largest_value(commands));
      return {lost.why, what};
    case Loss::no_memory:
    case Loss::login_refused:
    case Loss::host_unknown:
      return {lost.why, what};
    case Loss::closed:
    case Loss::hung_up: {
      const std::size_t bytes = asks ? largest(commands) : 0;
      const bool is_large = bytes > bytes_always_taken;
      if (is_large)
        what += fmt::format(", in answer to a command of {} bytes: is that more than its client-query-buffer-limit?",
                            bytes);
      if (refusals.closed_upon(bytes)) return {Loss::too_large, what};
      if (is_large) return {Loss::closed_on_large, what};
      return {heard ? Loss::closed : Loss::hung_up, what};
    }
    default:
      return {asks ? Loss::unanswered : Loss::not_connected, what};
  }
}

std::vector<Reply> Connection::State::exchange(std::span<const Command> commands) {
  const auto send_and_follow = [this](std::span<const Command> sent) {
    std::vector<Reply> replies = send(sent);
    if (whereabouts.is_a_slot()) follow_redirections(sent, replies, *this);
    return replies;
  };
  std::vector<Reply> replies = send_and_follow(commands);
  send_unknown_by_text(commands, replies, send_and_follow);
  return replies;
}

// Follows a MOVED, but does not send again commands that wait in Redis: only the caller knows whether it still wants to
// wait.
void Connection::State::note_move(const std::vector<Reply>& replies) {
  for (const Reply& reply : replies) {
    const auto redirection = read_redirection(reply.view().error());
    if (redirection && redirection->kind == Redirection::Kind::moved) return go_to(redirection->node);
  }
}

void Connection::State::go_to(const RedisSeed& node) {
  stream.reset();
  whereabouts.moved_to(node);
}

std::vector<Reply> Connection::State::ask(const RedisSeed& node, const std::vector<Command>& commands) {
  if (!aside || aside_at != node) {
    aside = std::make_unique<Connection>(whereabouts.node(node), timeouts, client_name);
    aside_at = node;
  }
  std::vector<Command> asking{{"ASKING"}};
  asking.insert(asking.end(), commands.begin(), commands.end());  // a WAIT behind the first needs no ASKING
  std::vector<Reply> replies =
      aside->state_->send(asking);  // an unknown script comes back here, since it must ask again
  replies.erase(replies.begin());
  return replies;
}

void Connection::State::pause(std::chrono::milliseconds time) { wait(-1, 0, steady_now() + time, nullptr); }

std::vector<Reply> Connection::State::send(std::span<const Command> commands) {
  return closing_on_failure(commands, timeouts.connect, [&] {
    for (const Command& command : commands) stream->append(command, keyspace.prefix());
    if (commands.front().args.front() == "CLUSTER") stream->set_longest_reply(longest_cluster_reply);
    Pace pace = begin_pace(steady_now(), timeouts.command);
    stream->write_some();
    std::vector<Reply> replies;
    replies.reserve(commands.size());
    while (replies.size() < commands.size()) replies.push_back(not_too_large(next_reply(pace, Wait::in_read)));
    count_bytes();
    return replies;
  });
}

std::vector<Reply> Connection::State::wait_patiently(const std::vector<Command>& commands, const Patience& patience) {
  std::vector<Reply> replies = await(commands, patience);
  send_unknown_by_text(commands, replies, [&](const std::vector<Command>& again) { return await(again, patience); });
  return replies;
}

std::vector<Reply> Connection::State::await(const std::vector<Command>& commands, const Patience& patience) {
  const bool hurries = patience.longest_connect > std::chrono::milliseconds(0);
  const auto longest_connect = hurries ? std::min(patience.longest_connect, timeouts.connect) : timeouts.connect;
  return closing_on_failure(commands, longest_connect, [&] {
    for (const Command& command : commands) stream->append(command, keyspace.prefix());
    Pace pace = begin_pace(steady_now(), patience.longest);
    stream->write_some();
    std::vector<Reply> replies;
    int wake_fd = patience.wake_fd;
    for (;;) {
      while (replies.size() < commands.size()) {
        Reply reply = stream->next_reply();
        if (!reply) break;
        replies.push_back(not_too_large(std::move(reply)));
      }
      if (replies.size() == commands.size()) {
        count_bytes();
        if (address().in_cluster) note_move(replies);
        return replies;
      }
      if (is_over(pace, steady_now())) throw ConnectionLost("no reply within the deadline");
      const short unsent = stream->unsent() > 0 ? POLLOUT : 0;
      pollfd watched[] = {{stream->fd(), static_cast<short>(POLLIN | unsent), 0}, {wake_fd, POLLIN, 0}};
      // A caller with a wake_fd is woken through it when the server moves.
      const bool looks = moves != nullptr && wake_fd < 0;
      const SteadyTime until =
          looks ? std::min<SteadyTime>(pace.deadline(), steady_now() + pace_look_interval) : pace.deadline();
      const int ready = poll(watched, 2, milliseconds_until(until));
      const bool signalled = ready < 0 && errno == EINTR;
      if (!signalled) check("poll", ready);
      if (signalled || (watched[0].revents == 0 && watched[1].revents != 0)) {
        const auto limit = patience.woken ? patience.woken() : std::nullopt;
        if (has_moved()) throw ConnectionLost("the server is elsewhere by now");
        if (!limit) continue;
        if (steady_now() + *limit < pace.deadline())
          pace = begin_pace(steady_now(), std::chrono::ceil<std::chrono::milliseconds>(*limit));
        wake_fd = -1;  // the wait cannot be cut short any more
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

const Keyspace& Channel::keyspace() const {
  static const Keyspace without_prefix;
  return without_prefix;
}

Connection::Connection(RedisAddress address, Timeouts timeouts, std::string client_name)
    : state_(std::make_unique<State>(std::move(address), timeouts, std::move(client_name))) {}

Connection::~Connection() = default;
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;

Reply Connection::call(const Command& command) { return std::move(state_->exchange({&command, 1}).front()); }

std::vector<Reply> Connection::call_patiently(const std::vector<Command>& commands, const Patience& patience) {
  return state_->wait_patiently(commands, patience);
}

std::uint64_t Connection::connections() const { return state_->connections; }

const Keyspace& Connection::keyspace() const { return state_->keyspace; }

std::vector<Reply> Connection::pipeline(const std::vector<Command>& commands) {
  return commands.empty() ? std::vector<Reply>() : state_->exchange(commands);
}

void Connection::disconnect() {
  state_->stream.reset();
  state_->whereabouts.forget_move();
}

void Connection::move_to(RedisAddress address) {
  disconnect();
  state_->keyspace = Keyspace(address.key_prefix);
  state_->whereabouts.move_to(std::move(address));
  state_->aside.reset();
  state_->refusals = {};
}

bool Connection::connected() const { return state_->stream != nullptr; }

void Connection::set_timeouts(Timeouts timeouts) {
  state_->timeouts = timeouts;
  if (state_->stream)
    state_->stream->set_patience(std::min<std::chrono::milliseconds>(timeouts.command, pace_look_interval));
}

void Connection::count_bytes_in(std::atomic<std::uint64_t>* count) { state_->byte_count = count; }

bool Connection::is_at_master() { return state_->whereabouts.is_at_master(steady_now() + state_->timeouts.connect); }

void Connection::follow(const std::atomic<std::uint32_t>* moves) { state_->moves = moves; }

void Connection::on_another_server(std::function<void()> found) {
  state_->whereabouts.on_another_server(std::move(found));
}

void Connection::give_up_on_eof_of(int fd) { state_->eof_fd = fd; }

}  // namespace brood
