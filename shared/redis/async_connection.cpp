#include "shared/redis/async_connection.hpp"

#include <fmt/format.h>
#include <uv.h>

#include <algorithm>
#include <deque>
#include <random>
#include <system_error>

#include "shared/base/clock.hpp"
#include "shared/redis/connect_attempts.hpp"
#include "shared/redis/connection_lost.hpp"
#include "shared/redis/greeting.hpp"
#include "shared/redis/pace.hpp"
#include "shared/redis/size_refusals.hpp"
#include "shared/redis/socket.hpp"
#include "shared/redis/stream.hpp"

namespace brood {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds connect_timeout{5'000};
constexpr milliseconds time_for_plain_answer{1'000};           // of the time to connect
constexpr milliseconds look_interval{1'000};                   // between looks at how far a longer exchange has got
constexpr std::size_t longest_message = std::size_t{1} << 20;  // that a subscriber takes
constexpr std::size_t max_unsent_bytes = std::size_t{64} << 20;

// libuv uses a handle until its close callback has run, on a later turn: by then the owner may be gone.
struct CloseHandle {
  template <typename Handle>
  void operator()(Handle* handle) const {
    uv_close(reinterpret_cast<uv_handle_t*>(handle),
             [](uv_handle_t* closed) { delete reinterpret_cast<Handle*>(closed); });
  }
};
template <typename Handle>
using Owned = std::unique_ptr<Handle, CloseHandle>;

void check_uv(const char* call, int result) {
  if (result < 0) throw std::system_error(-result, std::generic_category(), call);
}

// The error of a server that is not the master, or not yet; empty: the reply is no such error.
std::string no_master(const Reply& reply) {
  const std::string_view error = reply.view().error();
  return classify_error(error) == ErrorKind::not_applied_reconnect ? std::string(error) : std::string();
}

// A subscription's message, in RESP2: "message", the channel, the message itself.
bool is_message(ReplyView reply) {
  return reply.is_array() && reply.size() == 3 && reply[0].is_string() && reply[0].text() == "message";
}

Owned<uv_timer_t> new_timer(uv_loop_t* loop, void* owner) {
  auto timer = std::make_unique<uv_timer_t>();
  check_uv("uv_timer_init", uv_timer_init(loop, timer.get()));
  timer->data = owner;
  return Owned<uv_timer_t>(timer.release());
}

}  // namespace

// Shared, so that a running function keeps the state alive if a callback destroys the AsyncConnection.
struct AsyncConnection::State : std::enable_shared_from_this<State> {
  enum class Phase {
    closed,         // no connection is wanted
    resting,        // the next attempt is due when the rest is over
    connecting,     // the socket is being connected
    shaking_hands,  // the TLS handshake is under way
    greeting,       // AUTH, SELECT, CLIENT SETNAME wait for their answers
    connected,
  };
  struct Unanswered {
    SteadyTime sent;
    milliseconds timeout;
    Pace pace;
    Callback callback;
    std::size_t bytes = 0;
    std::unique_ptr<Command> script = nullptr;  // one that was sent by its SHA
  };

  State(uv_loop_t* loop, std::string name, Events on)
      : loop(loop), client_name(std::move(name)), events(std::move(on)) {}

  void create_timers();
  void open(RedisAddress to);
  void close(const char* why);
  void destroy();
  void send(Command command, milliseconds timeout, Callback callback);
  void subscribe(std::string_view channel, milliseconds timeout, Callback subscribed, Hear hear);
  void push_out_guarded() {
    guarded([this] { push_out(); });
  }
  void post(std::function<void()> act);

  std::optional<SteadyTime> waits_since() const {
    return unanswered.empty() ? std::nullopt : std::optional(unanswered.front().sent);
  }

  Phase phase = Phase::closed;
  RedisAddress address;
  ConnectAttempts attempts{std::random_device()()};

 private:
  void connect();
  void begin_conversation();
  void shake_hands();
  void greet();
  void begin_service();
  void rest(milliseconds delay);
  void lose(const std::string& why, bool refused, Loss loss = Loss::unanswered);
  void drop_socket(const std::string& why, Loss loss = Loss::unanswered);

  void push_out();
  void watch();
  void handle_socket(int status, int ready);
  bool read_answers();
  bool take_answers();
  void look_at_handshake();
  void look_at_deadline();
  void arm(SteadyTime deadline);
  void expect(milliseconds timeout, Callback callback);

  void post_error(Callback callback, std::string why, Loss loss = Loss::unanswered);
  bool answer(Unanswered asked, Reply reply);
  void run_posted();
  template <typename Act>
  void guarded(const Act& act);
  bool refuses_us(Loss loss) const;
  void start(uv_timer_t* timer, milliseconds delay, uv_timer_cb callback);

  uv_loop_t* loop;
  std::string client_name;
  Events events;

  Owned<uv_timer_t> rest_timer, deadline_timer, post_timer;
  Owned<uv_poll_t> poll;  // declared before the socket: see drop_socket
  std::unique_ptr<Stream> stream;
  std::uint64_t seen_through = 0;  // of this stream's bytes, when last looked at
  int watched = 0;
  unsigned socket_number = 0;  // shows a running function that a callback has changed the socket

  bool asked_whether_plain = false;  // whether this server, which has sent nothing, was asked if it speaks no TLS
  SteadyTime plain_question{};       // when to ask it

  SteadyTime connect_deadline{}, connected_at{}, armed_for = SteadyTime::max();
  std::deque<Unanswered> unanswered;  // in the order sent
  SizeRefusals refusals;
  Hear heard;  // set: this socket is subscribed
  std::vector<std::function<void()>> posted;
};

void AsyncConnection::State::create_timers() {
  rest_timer = new_timer(loop, this);
  deadline_timer = new_timer(loop, this);
  post_timer = new_timer(loop, this);
}

// Runs `act`, which may find the connection lost, or call back a user that closes, reopens or destroys it.
template <typename Act>
void AsyncConnection::State::guarded(const Act& act) {
  const auto alive = shared_from_this();
  const unsigned number = socket_number;
  try {
    act();
  } catch (const ConnectionLost& lost) {
    if (number == socket_number) lose(lost.what(), refuses_us(lost.why), lost.why);
  } catch (const std::runtime_error& e) {
    if (number == socket_number) lose(e.what(), false);
  }
}

// Whether a loss in this phase means that the server will never serve us.
bool AsyncConnection::State::refuses_us(Loss loss) const {
  if (loss == Loss::not_the_protocol) return phase == Phase::greeting;
  if (loss == Loss::hung_up) return phase == Phase::greeting || phase == Phase::shaking_hands;
  return loss == Loss::login_refused;
}

void AsyncConnection::State::start(uv_timer_t* timer, milliseconds delay, uv_timer_cb callback) {
  // The time of the loop is that of its last turn, which may be long ago.
  uv_update_time(loop);
  uv_timer_start(timer, callback, static_cast<std::uint64_t>(std::max(delay, milliseconds(0)).count()), 0);
}

// ---- Opening and losing

void AsyncConnection::State::open(RedisAddress to) {
  close("the connection was opened anew");
  address = std::move(to);
  attempts.begin();
  connect();
}

void AsyncConnection::State::close(const char* why) {
  drop_socket(why);
  uv_timer_stop(rest_timer.get());
  phase = Phase::closed;
  attempts.note(why);
}

void AsyncConnection::State::destroy() {
  close("");
  posted.clear();
  events = {};
  rest_timer.reset();
  deadline_timer.reset();
  post_timer.reset();
}

void AsyncConnection::State::connect() {
  guarded([this] {
    phase = Phase::connecting;
    connect_deadline = steady_now() + connect_timeout;
    const std::vector<Endpoint> endpoints = endpoints_of(address, Lookup::numeric_only);
    const Endpoint& endpoint = endpoints[attempts.next_endpoint(endpoints.size())];
    std::unique_ptr<TlsSession> tls;
    if (address.tls) tls = std::make_unique<TlsSession>(address);
    UniqueFd socket = begin_connect(endpoint);
    if (!socket) throw ConnectionLost("too many clients wait for the socket");

    auto handle = std::make_unique<uv_poll_t>();
    check_uv("uv_poll_init", uv_poll_init(loop, handle.get(), socket.get()));
    handle->data = this;
    poll.reset(handle.release());
    stream = std::make_unique<Stream>(std::move(socket), std::move(tls));
    watch();
    arm(connect_deadline);
  });
}

void AsyncConnection::State::begin_conversation() {
  if (!stream->shakes_hands()) return greet();
  phase = Phase::shaking_hands;
  plain_question = connect_deadline - time_for_plain_answer;
  arm(plain_question);
  push_out();
}

void AsyncConnection::State::shake_hands() {
  for (int reads = 0; reads < 16 && stream->shakes_hands() && stream->read_some(); ++reads) {
  }
  if (stream->shakes_hands()) return push_out();
  greet();
}

void AsyncConnection::State::greet() {
  phase = Phase::greeting;
  for (const Command& command : greeting(address, client_name)) {
    append_greeting(*stream, command, address);
    expect(connect_timeout, [command](const Result& result) {
      if (!result.error.empty()) return;
      if (const auto why = brood::refusal(command, result.reply)) throw_refusal(*why);
    });
  }
  if (events.judge) {
    stream->append({"INFO"});
    expect(connect_timeout, [judge = events.judge](const Result& result) {
      if (result.error.empty()) judge(result);
    });
  }
  push_out();
  if (unanswered.empty()) begin_service();
}

void AsyncConnection::State::begin_service() {
  phase = Phase::connected;
  connected_at = steady_now();
  attempts.succeeded();
  if (!events.connected) return;
  post([this, number = socket_number] {
    // A copy, since the callback may destroy the original.
    if (number == socket_number) std::function<void()>(events.connected)();
  });
}

void AsyncConnection::State::lose(const std::string& why, bool refused, Loss loss) {
  if (phase == Phase::closed || phase == Phase::resting) return;
  const std::string words = fmt::format("{}: {}", address.without_password(), why);
  const auto stood = phase == Phase::connected ? std::optional(steady_now() - connected_at) : std::nullopt;
  drop_socket(words, phase == Phase::connected ? loss : Loss::unanswered);
  const ConnectAttempts::Verdict next = attempts.failed(words, refused, stood);
  if (next.tells && events.disconnected)
    post([tell = events.disconnected, failure = attempts.last_failure()] { tell(failure); });
  rest(next.rest);
}

void AsyncConnection::State::rest(milliseconds delay) {
  phase = Phase::resting;
  start(rest_timer.get(), delay, [](uv_timer_t* timer) { static_cast<State*>(timer->data)->connect(); });
}

// If Redis closes the connection twice in answer to the same large command, it refuses the command for its size.
void AsyncConnection::State::drop_socket(const std::string& why, Loss loss) {
  std::size_t largest = 0;
  for (const Unanswered& command : unanswered) largest = std::max(largest, command.bytes);
  const bool is_too_large = loss == Loss::closed && refusals.closed_upon(largest);
  if (loss != Loss::closed) loss = Loss::unanswered;
  ++socket_number;
  // Close libuv's handle first, while the descriptor is still ours: a moment later another file may have its number.
  poll.reset();
  stream.reset();
  heard = nullptr;
  seen_through = 0;
  asked_whether_plain = false;
  watched = 0;
  uv_timer_stop(deadline_timer.get());
  armed_for = SteadyTime::max();
  for (Unanswered& command : std::exchange(unanswered, {})) {
    const bool is_to_blame = is_too_large && command.bytes > bytes_always_taken;
    post_error(std::move(command.callback), why, is_to_blame ? Loss::too_large : loss);
  }
}

// ---- Sending

void AsyncConnection::State::send(Command command, milliseconds timeout, Callback callback) {
  if (phase != Phase::connected)
    return post_error(std::move(callback), "not connected to Redis: " + attempts.last_failure());
  const std::size_t bytes = wire_size(command, address.key_prefix);
  if (stream->unsent() + bytes > max_unsent_bytes)
    return post_error(std::move(callback), "not sent: more than 64 MB wait for Redis to read them");
  stream->append(command, address.key_prefix);
  expect(timeout, std::move(callback));
  unanswered.back().bytes = bytes;
  if (command.script != nullptr) unanswered.back().script = std::make_unique<Command>(std::move(command));
}

void AsyncConnection::State::subscribe(std::string_view channel, milliseconds timeout, Callback subscribed, Hear hear) {
  if (stream) stream->set_longest_reply(longest_message);
  send({"SUBSCRIBE", channel}, timeout,
       [this, subscribed = std::move(subscribed), hear = std::move(hear)](Result result) {
         if (result.ok()) heard = hear;
         subscribed(std::move(result));
       });
}

void AsyncConnection::State::expect(milliseconds timeout, Callback callback) {
  const SteadyTime now = steady_now();
  // The bytes that already wait in the kernel have to get through first.
  const std::uint64_t through = unanswered.empty() ? stream->moved() : stream->through();
  unanswered.push_back({now, timeout, Pace(now + timeout, timeout, through), std::move(callback)});
  arm(now + std::min<milliseconds>(timeout, look_interval));
}

void AsyncConnection::State::push_out() {
  if (!stream) return;
  stream->write_some();
  watch();
}

// ---- What the loop calls

void AsyncConnection::State::watch() {
  const bool to_write = phase == Phase::connecting || stream->unsent() > 0;
  const int wanted = UV_READABLE | (to_write ? UV_WRITABLE : 0);
  if (wanted == watched) return;
  watched = wanted;
  check_uv("uv_poll_start", uv_poll_start(poll.get(), wanted, [](uv_poll_t* handle, int status, int ready) {
             static_cast<State*>(handle->data)->handle_socket(status, ready);
           }));
}

void AsyncConnection::State::handle_socket(int status, int ready) {
  guarded([&] {
    // libuv reports every socket error as EBADF and stops watching; the socket itself knows the reason.
    if (status < 0) watched = 0;
    if (phase == Phase::connecting) {
      check_connected(stream->fd());
      return begin_conversation();
    }
    if (phase == Phase::shaking_hands) return shake_hands();
    if (status >= 0 && (ready & UV_READABLE) == 0) return push_out();
    if (!read_answers()) return;
    if (status < 0) throw ConnectionLost("the socket failed");
    push_out();
  });
}

// Reads until there is no more, but not forever.  Returns false if a callback closed or reopened the connection.
bool AsyncConnection::State::read_answers() {
  for (int reads = 0; reads < 16 && stream->read_some(); ++reads) {
    if (!take_answers()) return false;
  }
  return true;
}

bool AsyncConnection::State::take_answers() {
  const unsigned number = socket_number;
  while (Reply reply = stream->next_reply()) {
    if (heard && is_message(reply.view())) {
      const Hear hear = heard;  // a copy, since the callback may destroy the original
      hear(reply.view()[2]);
      if (number != socket_number) return false;
      continue;
    }
    if (unanswered.empty())
      throw ConnectionLost(fmt::format("Redis answered what nobody asked: {}", reply.view().error()));
    Unanswered asked = std::move(unanswered.front());
    unanswered.pop_front();
    if (!answer(std::move(asked), std::move(reply))) return false;
  }
  if (unanswered.empty() && phase == Phase::connected) {
    uv_timer_stop(deadline_timer.get());
    armed_for = SteadyTime::max();
  }
  return true;
}

// Returns false when the callback closed or reopened the connection.
bool AsyncConnection::State::answer(Unanswered asked, Reply reply) {
  if (asked.script && is_unknown_script(*asked.script, reply.view())) {
    send(by_text(std::move(*asked.script)), asked.timeout, std::move(asked.callback));
    push_out();
    return true;
  }
  refusals.answered(asked.bytes);
  const unsigned number = socket_number;
  const std::string error(reply.view().error());
  const bool is_too_large = refused_for_its_size(error);
  const std::string why_no_master = phase == Phase::connected ? no_master(reply) : "";
  asked.callback(is_too_large ? Result{Reply(), error, Loss::too_large} : Result{std::move(reply), "", {}});
  if (number != socket_number) return false;
  if (is_too_large) throw ConnectionLost(error);
  if (!why_no_master.empty()) throw ConnectionLost(why_no_master);
  if (phase == Phase::greeting && unanswered.empty()) begin_service();
  return true;
}

void AsyncConnection::State::arm(SteadyTime deadline) {
  if (deadline >= armed_for) return;
  armed_for = deadline;
  start(deadline_timer.get(), std::chrono::ceil<milliseconds>(deadline - steady_now()),
        [](uv_timer_t* timer) { static_cast<State*>(timer->data)->look_at_deadline(); });
}

void AsyncConnection::State::look_at_handshake() {
  if (phase != Phase::shaking_hands) return;
  const SteadyTime now = steady_now();
  if (now >= connect_deadline) throw ConnectionLost(no_handshake(*stream));
  if (now >= plain_question && !stream->heard() && !asked_whether_plain) {
    asked_whether_plain = true;
    stream->ask_whether_plain();
    watch();
  }
  arm(now < plain_question ? plain_question : connect_deadline);
}

void AsyncConnection::State::look_at_deadline() {
  guarded([this] {
    armed_for = SteadyTime::max();
    if (phase == Phase::connecting) {
      if (steady_now() >= connect_deadline) throw ConnectionLost("no connection within 5 s");
      return arm(connect_deadline);
    }
    if (phase == Phase::shaking_hands) {
      shake_hands();  // what is there already, as below
      return look_at_handshake();
    }
    // The loop runs its timers before it looks at sockets, so after a long turn the answer may be there already.
    if (!read_answers()) return;
    if (unanswered.empty()) return;
    // Answers come in order, but a later command may have an earlier deadline.
    const SteadyTime now = steady_now();
    const std::uint64_t through = stream->through();
    SteadyTime first = SteadyTime::max();
    for (Unanswered& command : unanswered) {
      command.pace.note(through, now);
      first = std::min(first, command.pace.deadline());
    }
    if (now >= first) throw ConnectionLost("no whole reply within the deadline");
    const bool moves = std::exchange(seen_through, through) != through;
    arm(moves ? std::min<SteadyTime>(first, now + look_interval) : first);
  });
}

// ---- The next turn

// Runs callbacks of a failure on a later turn of the loop, since the caller of send() is not ready for them yet.
void AsyncConnection::State::post(std::function<void()> act) {
  posted.push_back(std::move(act));
  if (posted.size() > 1) return;
  start(post_timer.get(), milliseconds(0), [](uv_timer_t* timer) { static_cast<State*>(timer->data)->run_posted(); });
}

void AsyncConnection::State::post_error(Callback callback, std::string why, Loss loss) {
  post([callback = std::move(callback), why = std::move(why), loss] { callback(Result{Reply(), why, loss}); });
}

void AsyncConnection::State::run_posted() {
  const auto alive = shared_from_this();
  for (const auto& act : std::exchange(posted, {})) {
    if (!post_timer) return;  // destroyed by the one before
    guarded(act);
  }
}

AsyncConnection::AsyncConnection(uv_loop_s* loop, std::string client_name, Events events)
    : state_(std::make_shared<State>(loop, std::move(client_name), std::move(events))) {
  state_->create_timers();
}

AsyncConnection::~AsyncConnection() { state_->destroy(); }

void AsyncConnection::open(RedisAddress address) { state_->open(std::move(address)); }

void AsyncConnection::close() { state_->close("the connection was closed"); }

bool AsyncConnection::connected() const { return state_->phase == State::Phase::connected; }

const std::string& AsyncConnection::refusal() const { return state_->attempts.refusal(); }

const RedisAddress& AsyncConnection::address() const { return state_->address; }

std::optional<SteadyTime> AsyncConnection::waits_since() const { return state_->waits_since(); }

void AsyncConnection::send(Command command, milliseconds deadline, Callback callback) {
  state_->send(std::move(command), deadline, std::move(callback));
  state_->push_out_guarded();
}

void AsyncConnection::subscribe(std::string_view channel, milliseconds deadline, Callback subscribed, Hear hear) {
  state_->subscribe(channel, deadline, std::move(subscribed), std::move(hear));
  state_->push_out_guarded();
}

std::vector<Command> AsyncConnection::commands_of(std::vector<ScriptCall> scripts) {
  std::vector<Command> commands;
  for (ScriptCall& script : scripts) commands.push_back(std::move(script).command());
  return commands;
}

void AsyncConnection::send_all(std::vector<Command> commands, milliseconds deadline, AllCallback callback) {
  struct Collected {
    std::vector<Result> results;
    std::size_t missing;
    AllCallback callback;
  };
  const auto all = std::make_shared<Collected>(
      Collected{std::vector<Result>(commands.size()), commands.size(), std::move(callback)});
  for (std::size_t i = 0; i < commands.size(); ++i) {
    state_->send(std::move(commands[i]), deadline, [all, i](Result result) {
      all->results[i] = std::move(result);
      if (--all->missing == 0) all->callback(std::move(all->results));
    });
  }
  if (commands.empty()) state_->post([all] { all->callback({}); });
  state_->push_out_guarded();
}

}  // namespace brood
