#include "tests/support/tcp_proxy.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/unique_fd.hpp"
#include "tests/support/temporary_directory.hpp"

namespace brood {

namespace {

struct Chunk {
  SteadyTime due;
  std::string bytes;
};

// One direction of one connection.
struct Way {
  std::deque<Chunk> under_way;
  bool ended = false;    // its sender has closed
  bool told = false;     // its receiver has got the end
  SteadyTime free_at{};  // when a slow line has passed on all that it was given
};

struct Pair {
  UniqueFd client, server;
  Way requests, replies;
};

// The rules for one direction of all connections.
struct Rules {
  bool stalled = false;
  std::optional<std::size_t> cut_after;
  std::size_t passed = 0;
};

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

// Empty if no process listens there.
UniqueFd connection_to(const std::string& target) {
  const bool is_path = target.starts_with('/');
  UniqueFd server(check("socket", socket(is_path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  int result = -1;
  if (is_path) {
    const sockaddr_un remote = unix_address(target);
    result = connect(server.get(), reinterpret_cast<const sockaddr*>(&remote), sizeof remote);
  } else {
    sockaddr_in remote{};
    remote.sin_family = AF_INET;
    remote.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    remote.sin_port = htons(static_cast<std::uint16_t>(std::stoi(target)));
    result = connect(server.get(), reinterpret_cast<const sockaddr*>(&remote), sizeof remote);
    const int on = 1;
    setsockopt(server.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  if (result != 0) return UniqueFd();
  check("fcntl", fcntl(server.get(), F_SETFL, O_NONBLOCK));
  return server;
}

// Closing with unread bytes or with this option sends a reset to the other end, instead of an orderly end.
void reset(UniqueFd& socket) {
  const linger at_once{1, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  socket.reset();
}

}  // namespace

struct TcpProxy::State {
  TemporaryDirectory directory;
  RedisAddress address;
  UniqueFd listener, wake;
  std::thread thread;

  mutable std::mutex mutex;  // guards all below
  Rules requests, replies;
  std::chrono::milliseconds delay{0};
  std::size_t piece = 0, rate = 0;
  std::string target;
  bool resetting = false, stopping = false;
  std::size_t accepted = 0;
  std::list<Pair> pairs;

  void listen_on_unix();
  void listen_on_tcp();
  void run();
  void accept_client();
  bool takes_in(const Way& way) const { return !way.ended && (rate == 0 || way.under_way.empty()); }
  void take_in(int from, Way& way);
  bool pass_on(Way& way, int to, Rules& rules);
  bool serve(Pair& pair);

  template <typename Change>
  void change(Change apply) {
    const std::lock_guard lock(mutex);
    apply(*this);
    eventfd_write(wake.get(), 1);
  }
};

void TcpProxy::State::listen_on_unix() {
  address.socket_path = directory / "proxy.sock";
  listener.reset(check("socket", socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)));
  const sockaddr_un local = unix_address(address.socket_path);
  check("bind", bind(listener.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local));
  check("listen", listen(listener.get(), 64));
}

void TcpProxy::State::listen_on_tcp() {
  listener.reset(check("socket", socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)));
  // A real line holds little.  What the kernel takes in here counts as sent, so the buffer is small.
  const int held = 128 * 1024;
  check("setsockopt", setsockopt(listener.get(), SOL_SOCKET, SO_RCVBUF, &held, sizeof held));
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof local;
  check("bind", bind(listener.get(), reinterpret_cast<sockaddr*>(&local), length));
  check("getsockname", getsockname(listener.get(), reinterpret_cast<sockaddr*>(&local), &length));
  check("listen", listen(listener.get(), 64));
  address.host = "127.0.0.1";
  address.port = ntohs(local.sin_port);
}

void TcpProxy::State::accept_client() {
  Pair pair;
  pair.client.reset(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!pair.client) return;
  ++accepted;
  const int on = 1;
  if (address.socket_path.empty()) setsockopt(pair.client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  pair.server = connection_to(target);
  if (pair.server)
    pairs.push_back(std::move(pair));
  else
    reset(pair.client);
}

void TcpProxy::State::take_in(int from, Way& way) {
  char bytes[16 * 1024];
  // A slow line passes on little at a time, but often.
  const std::size_t most = rate == 0 ? sizeof bytes : std::clamp<std::size_t>(rate / 50, 1, sizeof bytes);
  const ssize_t count = recv(from, bytes, most, MSG_DONTWAIT);
  if (count > 0)
    way.under_way.push_back({steady_now() + delay, std::string(bytes, static_cast<std::size_t>(count))});
  else if (count == 0 || (errno != EAGAIN && errno != EINTR))
    way.ended = true;
}

// Passes on what is due.  Returns false if the rules or the receiver end the connection.
bool TcpProxy::State::pass_on(Way& way, int to, Rules& rules) {
  while (!rules.stalled && !way.under_way.empty() && way.under_way.front().due <= steady_now() &&
         (rate == 0 || way.free_at <= steady_now())) {
    std::string& bytes = way.under_way.front().bytes;
    std::size_t count = piece == 0 ? bytes.size() : std::min(piece, bytes.size());
    if (rules.cut_after) count = std::min(count, *rules.cut_after);
    if (count == 0) {
      rules.cut_after.reset();
      return false;
    }
    const ssize_t sent = send(to, bytes.data(), count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    if (rate != 0) {
      const std::chrono::duration<double> takes(static_cast<double>(sent) / static_cast<double>(rate));
      way.free_at = std::max(way.free_at, steady_now()) + std::chrono::duration_cast<SteadyTime::duration>(takes);
    }
    rules.passed += static_cast<std::size_t>(sent);
    if (rules.cut_after) *rules.cut_after -= static_cast<std::size_t>(sent);
    const SteadyTime due = way.under_way.front().due;
    bytes.erase(0, static_cast<std::size_t>(sent));
    if (bytes.empty()) way.under_way.pop_front();
    // A moment apart, so that the receiver gets them separately.  Measured by the clock: a busy machine makes the line
    // no slower.
    if (piece != 0 && !way.under_way.empty())
      way.under_way.front().due = std::max(way.under_way.front().due, due + std::chrono::milliseconds(1));
  }
  if (way.ended && !way.told && way.under_way.empty()) {
    shutdown(to, SHUT_WR);
    way.told = true;
  }
  return true;
}

bool TcpProxy::State::serve(Pair& pair) {
  return pass_on(pair.requests, pair.server.get(), requests) && pass_on(pair.replies, pair.client.get(), replies) &&
         !(pair.requests.told && pair.replies.told);
}

void TcpProxy::State::run() {
  std::vector<pollfd> watched;
  for (;;) {
    watched.assign({{wake.get(), POLLIN, 0}, {listener.get(), POLLIN, 0}});
    bool under_way = false;
    {
      const std::lock_guard lock(mutex);
      for (const Pair& pair : pairs) {
        watched.push_back({takes_in(pair.requests) ? pair.client.get() : -1, POLLIN, 0});
        watched.push_back({takes_in(pair.replies) ? pair.server.get() : -1, POLLIN, 0});
        under_way |= !pair.requests.under_way.empty() || !pair.replies.under_way.empty();
      }
    }
    poll(watched.data(), watched.size(), under_way ? 1 : 1'000);

    const std::lock_guard lock(mutex);
    eventfd_t rings;
    if (watched[0].revents != 0) eventfd_read(wake.get(), &rings);
    if (stopping) return;
    std::size_t next = 2;
    for (auto pair = pairs.begin(); pair != pairs.end();) {
      if (watched[next++].revents != 0) take_in(pair->client.get(), pair->requests);
      if (watched[next++].revents != 0) take_in(pair->server.get(), pair->replies);
      if (!resetting && serve(*pair)) {
        ++pair;
        continue;
      }
      reset(pair->client);
      reset(pair->server);
      pair = pairs.erase(pair);
    }
    resetting = false;
    if (watched[1].revents != 0) accept_client();
  }
}

TcpProxy::TcpProxy(std::string target_socket, Listen listen) : state_(std::make_unique<State>()) {
  state_->target = std::move(target_socket);
  state_->wake.reset(check("eventfd", eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  listen == Listen::unix_socket ? state_->listen_on_unix() : state_->listen_on_tcp();
  state_->thread = std::thread([this] { state_->run(); });
}

TcpProxy::~TcpProxy() {
  state_->change([](State& proxy) { proxy.stopping = true; });
  state_->thread.join();
}

RedisAddress TcpProxy::address() const { return state_->address; }
std::string TcpProxy::url() const { return state_->address.without_password(); }

void TcpProxy::delay(std::chrono::milliseconds each_way) {
  state_->change([=](State& proxy) { proxy.delay = each_way; });
}
void TcpProxy::split_into(std::size_t bytes) {
  state_->change([=](State& proxy) { proxy.piece = bytes; });
}
void TcpProxy::limit_rate(std::size_t bytes_per_second) {
  state_->change([=](State& proxy) { proxy.rate = bytes_per_second; });
}
void TcpProxy::point_at(std::string target_socket) {
  state_->change([&](State& proxy) { proxy.target = std::move(target_socket); });
}
void TcpProxy::stall_requests(bool stalled) {
  state_->change([=](State& proxy) { proxy.requests.stalled = stalled; });
}
void TcpProxy::stall_replies(bool stalled) {
  state_->change([=](State& proxy) { proxy.replies.stalled = stalled; });
}
void TcpProxy::cut_requests_after(std::size_t bytes) {
  state_->change([=](State& proxy) { proxy.requests.cut_after = bytes; });
}
void TcpProxy::cut_replies_after(std::size_t bytes) {
  state_->change([=](State& proxy) { proxy.replies.cut_after = bytes; });
}
void TcpProxy::reset_connections() {
  state_->change([](State& proxy) { proxy.resetting = true; });
}

std::size_t TcpProxy::accepted() const {
  const std::lock_guard lock(state_->mutex);
  return state_->accepted;
}
std::size_t TcpProxy::request_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->requests.passed;
}
std::size_t TcpProxy::reply_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->replies.passed;
}

}  // namespace brood
