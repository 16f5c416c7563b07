#include "supervisor/web/http/http_server.hpp"

#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <optional>
#include <utility>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "supervisor/web/http/http_parser.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr int most_accepted_a_turn = 64;
constexpr auto pause_without_descriptors = 100ms;
constexpr int most_unread_of_a_stream = 64 * 1024;  // that the kernel keeps for a client
constexpr std::size_t large_piece = 1 << 20;        // then memory is given back
constexpr std::size_t most_sent_ahead = 2 * (longest_http_header + longest_http_body);

std::optional<uid_t> peer_of(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  // A TCP connection has no such credential.
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid == static_cast<uid_t>(-1))
    return std::nullopt;
  return peer.uid;
}

HttpResponse refusal_of(int status) {
  return {.status = status, .body = std::to_string(status) + " " + std::string(reason_of(status)) + "\n"};
}

}  // namespace

// One connection.  When it closes itself, its owner drops it, which may destroy it.
class HttpServer::Client : public std::enable_shared_from_this<Client> {
 public:
  Client(HttpServer& owner, UniqueFd fd)
      : owner_(owner),
        fd_(std::move(fd)),
        peer_(peer_of(fd_.get())),
        silent_since_(steady_now()),
        patience_(owner.loop_, [this] { lose_patience(); }),
        next_(owner.loop_, [this] { read_request(); }) {
    patience_.start_in(owner_.limits_.header);
    watch(FdWatch::readable);
  }

  // nullopt if the client waits for us.
  std::optional<SteadyTime> silent_since() const {
    return state_ == State::answering || state_ == State::streaming ? std::nullopt : std::optional(silent_since_);
  }

  void answer(const HttpResponse& response) {
    if (state_ != State::answering) return;
    const bool keeps_alive = keeps_alive_ && parser_.refusal() == 0;
    std::string bytes;
    try {
      bytes = bytes_of(response, with_body_, keeps_alive);
    } catch (const std::logic_error& error) {
      log::error("answer_not_sent", {{"reason", error.what()}});
      bytes = bytes_of(refusal_of(500), with_body_, keeps_alive);
    }
    state_ = keeps_alive ? State::sending : State::sending_last;
    silent_since_ = steady_now();
    send(std::make_shared<const std::string>(std::move(bytes)));
  }

  bool begin_stream(const HttpResponse& head) {
    if (state_ != State::answering) return false;
    keeps_alive_ = false;
    state_ = State::streaming;
    // Detects a client that has vanished silently.  Makes a slow one wait here and not in the kernel.
    const int size = most_unread_of_a_stream;
    const auto patience = static_cast<unsigned>(owner_.limits_.write.count());
    setsockopt(fd_.get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    setsockopt(fd_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);  // not for Unix sockets
    send(std::make_shared<const std::string>(beginning_of_stream(head)));
    return state_ == State::streaming;
  }

  bool stream(std::shared_ptr<const std::string> piece) {
    if (state_ != State::streaming) return false;
    if (is_behind())
      next_piece_ = std::move(piece);
    else
      send(std::move(piece));
    return state_ == State::streaming;
  }

  bool is_behind() const { return !unsent().empty(); }

  void close() {
    if (state_ == State::closed) return;
    state_ = State::closed;
    const auto alive = shared_from_this();
    patience_.stop();
    next_.stop();
    watch_.reset();
    fd_.reset();
    forget_sent();
    owner_.forget(*this);
  }

 private:
  enum class State {
    idle,          // a kept connection without a request
    reading,       // a request is incomplete
    answering,     // the handler has it
    sending,       // the answer is on its way, and another request may follow
    sending_last,  // the last answer is on its way
    streaming,     // an endless answer
    closed,
  };

  // Bytes of further requests are kept up to a bound; the rest waits at the client.
  bool has_enough() const {
    return state_ != State::streaming && state_ != State::sending_last && parser_.size() > most_sent_ahead;
  }

  void watch(int events) {
    if (has_enough()) events &= ~FdWatch::readable;
    if (events == watched_ && watch_) return;
    watch_.reset();
    watched_ = events;
    if (events == 0) return;
    watch_ = std::make_unique<FdWatch>(owner_.loop_, fd_.get(), events, [this](int seen) {
      const auto alive = shared_from_this();  // either call may close this client
      if (seen & FdWatch::writable) send_unsent();
      if (seen & FdWatch::readable) receive();
    });
  }

  void lose_patience() {
    const auto alive = shared_from_this();
    if (state_ != State::reading || !parser_.has_begun()) return close();
    answer_refusal(408);
  }

  void receive() {
    if (state_ == State::closed) return;
    if (has_enough()) return watch(watched_);
    std::array<char, 16 * 1024> bytes;
    const ssize_t size = recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) return close();
    if (state_ == State::streaming || state_ == State::sending_last) return;  // its bytes are not wanted
    silent_since_ = steady_now();
    parser_.add({bytes.data(), static_cast<std::size_t>(size)});
    if (state_ == State::answering || state_ == State::sending) return watch(watched_);
    read_request();
  }

  void read_request() {
    if (state_ == State::idle && parser_.has_begun()) {
      state_ = State::reading;
      patience_.start_in(owner_.limits_.header);
    }
    const bool awaited_body = parser_.awaits_body();
    auto request = parser_.next();
    if (request) return handle(std::move(*request));
    if (parser_.refusal() != 0) return answer_refusal(parser_.refusal());
    if (!awaited_body && parser_.awaits_body()) patience_.start_in(owner_.limits_.body);
    watch(FdWatch::readable);
  }

  void answer_refusal(int status) {
    state_ = State::answering;
    keeps_alive_ = false;
    with_body_ = true;
    answer(refusal_of(status));
  }

  void handle(HttpRequest request) {
    patience_.stop();
    next_.stop();  // this call does what the timer was for
    state_ = State::answering;
    with_body_ = request.method != "HEAD";
    keeps_alive_ = request.keeps_alive;
    request.peer = peer_;
    const Reply reply(weak_from_this());
    try {
      owner_.handler_(std::move(request), reply);
    } catch (const std::exception& error) {
      log::error("request_failed", {{"reason", error.what()}});
      answer(refusal_of(500));
    }
  }

  std::string_view unsent() const {
    return sent_piece_ ? std::string_view(*sent_piece_).substr(sent_) : std::string_view();
  }

  void send(std::shared_ptr<const std::string> piece) {
    sent_piece_ = std::move(piece);
    sent_ = 0;
    patience_.start_in(owner_.limits_.write);
    send_unsent();
  }

  void send_unsent() {
    while (is_behind()) {
      const ssize_t size = ::send(fd_.get(), unsent().data(), unsent().size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EAGAIN) return watch(FdWatch::writable | FdWatch::readable);
      if (size < 0) return close();
      sent_ += static_cast<std::size_t>(size);
    }
    forget_sent();
    if (state_ == State::sending_last) return linger();
    if (state_ == State::sending) return await_next();
    if (state_ == State::streaming && next_piece_) return send(std::exchange(next_piece_, nullptr));
    if (state_ == State::streaming) patience_.stop();
    watch(FdWatch::readable);
  }

  // Trims the heap after a large answer: memory that was freed below this block could not be given back before.
  void forget_sent() {
    const bool was_large = sent_piece_ && sent_piece_->size() >= large_piece;
    sent_piece_.reset();
    if (was_large) malloc_trim(0);
  }

  // Reads on before the connection is closed: a client that is still sending would get a reset instead of the answer.
  void linger() {
    shutdown(fd_.get(), SHUT_WR);
    watch(FdWatch::readable);
    patience_.start_in(1s);
  }

  void await_next() {
    state_ = State::idle;
    silent_since_ = steady_now();
    patience_.start_in(owner_.limits_.idle);
    watch(FdWatch::readable);
    // In a turn of its own: thousands of requests may have come at once.  A timer of 0 started by a timer would be due
    // in the same turn.
    if (parser_.has_begun()) next_.start_in(1ms);
  }

  HttpServer& owner_;
  UniqueFd fd_;
  const std::optional<uid_t> peer_;
  HttpParser parser_;
  State state_ = State::reading;
  bool keeps_alive_ = false, with_body_ = true;
  std::shared_ptr<const std::string> sent_piece_, next_piece_;  // the second is of a stream, and waits
  std::size_t sent_ = 0;                                        // of the first piece
  SteadyTime silent_since_;
  Timer patience_, next_;
  std::unique_ptr<FdWatch> watch_;  // destroyed before fd_ is closed
  int watched_ = 0;
};

void HttpServer::Reply::operator()(const HttpResponse& response) const {
  if (const auto client = client_.lock()) client->answer(response);
}

bool HttpServer::Reply::begin_stream(const HttpResponse& head) const {
  const auto client = client_.lock();
  return client && client->begin_stream(head);
}

bool HttpServer::Reply::send(std::shared_ptr<const std::string> piece) const {
  const auto client = client_.lock();
  return client && client->stream(std::move(piece));
}

void HttpServer::Reply::keep_alive(std::shared_ptr<const std::string> piece) const {
  const auto client = client_.lock();
  if (client && !client->is_behind()) client->stream(std::move(piece));
}

void HttpServer::Reply::end_stream() const {
  if (const auto client = client_.lock()) client->close();
}

HttpServer::HttpServer(EventLoop& loop, UniqueFd listener, Handler handler, Limits limits)
    : loop_(loop), listener_(std::move(listener)), handler_(std::move(handler)), limits_(limits), pause_(loop, [this] {
        watch();
      }) {
  watch();
}

HttpServer::~HttpServer() {
  watch_.reset();
  clients_.clear();
}

void HttpServer::watch() {
  watch_ = std::make_unique<FdWatch>(loop_, listener_.get(), FdWatch::readable, [this](int) { accept_clients(); });
}

void HttpServer::accept_clients() {
  for (int accepted = 0; accepted < most_accepted_a_turn; ++accepted) {
    UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!fd && errno == EAGAIN) return;
    if (!fd) {  // such a client stays in the listener's queue, which remains readable
      watch_.reset();
      return pause_.start_in(pause_without_descriptors);
    }
    if (!make_room()) {
      const std::string bytes = bytes_of(refusal_of(503), true, false);
      ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      continue;
    }
    clients_.push_back(std::make_shared<Client>(*this, std::move(fd)));
  }
}

// Returns false if every client waits for us.
bool HttpServer::make_room() {
  if (clients_.size() < limits_.clients) return true;
  std::shared_ptr<Client> oldest;
  for (const auto& client : clients_) {
    if (client->silent_since() && (!oldest || *client->silent_since() < *oldest->silent_since())) oldest = client;
  }
  if (!oldest) return false;
  oldest->close();
  return true;
}

void HttpServer::forget(const Client& client) {
  std::erase_if(clients_, [&](const auto& known) { return known.get() == &client; });
}

}  // namespace brood
