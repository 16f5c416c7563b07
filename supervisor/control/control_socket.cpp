#include "supervisor/control/control_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/json/json.hpp"
#include "supervisor/control/control_path.hpp"
#include "supervisor/control/control_protocol.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_clients = 16;
constexpr std::size_t longest_request = 64 * 1024;
constexpr std::size_t most_unread = 1024 * 1024;
constexpr auto patience = 10s;
constexpr auto pause_without_descriptors = 1s;
constexpr std::string_view too_many = "the supervisor speaks with as many clients as it can";

bool is_gone(int fd) {
  pollfd peer{fd, 0, 0};
  return poll(&peer, 1, 0) > 0 && (peer.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace

// One connection.  When it closes itself, its owner drops it, which may destroy it.
class ControlSocket::Client : public std::enable_shared_from_this<Client> {
 public:
  Client(ControlSocket& owner, UniqueFd fd, Asker asker)
      : owner_(owner), fd_(std::move(fd)), asker_(std::move(asker)), patience_(owner.loop_, [this] { close(); }) {
    patience_.start_in(patience);
    watch(FdWatch::readable);
  }

  bool gone() const { return is_gone(fd_.get()); }
  const Asker& asker() const { return asker_; }

  // Called when another client needs this place.  Refuses an incomplete request.  Returns false if this client stays.
  bool gives_way() {
    if (state_ == State::asking) receive();
    if (state_ == State::asking) refuse(too_many);
    return state_ == State::closed;
  }

  void say(std::string_view line) {
    if (state_ == State::closed) return;
    if (unsent_.size() + line.size() > most_unread) return close();
    unsent_ += line;
    send_unsent();
  }

  void say_last(std::string_view line) {
    if (state_ == State::closed) return;
    state_ = State::answered;
    say(line);
  }

 private:
  enum class State {
    asking,    // the request is not whole
    waiting,   // the handler has it
    answered,  // the last line is sent, or about to be
    closed,
  };

  void watch(int events) {
    watch_.reset();
    watched_ = events;
    if (events == 0) return;
    watch_ = std::make_unique<FdWatch>(owner_.loop_, fd_.get(), events, [this](int seen) {
      const auto alive = shared_from_this();  // either call may close this client
      if (seen & FdWatch::writable) send_unsent();
      if (seen & FdWatch::readable) receive();
    });
  }

  // recv does not take descriptors that a client sends along: the kernel closes them.
  void receive() {
    if (state_ == State::answered || state_ == State::closed) return;
    std::array<char, 16 * 1024> bytes;
    const ssize_t size = recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (state_ == State::waiting) {
      // A client that has shut down its sending half is not read any more.  A client that has gone is closed, and one
      // that sends more than one request.
      if (size == 0 && !gone()) return watch(watched_ & FdWatch::writable);
      return close();
    }
    if (size <= 0) return close();
    request_.append(bytes.data(), static_cast<std::size_t>(size));
    const std::size_t end = request_.find('\n');
    if (end != request_.npos) return handle(end);
    if (request_.size() >= longest_request) refuse("a request has at most 64 KB");
  }

  void handle(std::size_t end) {
    patience_.stop();
    std::optional<ControlRequest> request;
    try {
      if (end + 1 != request_.size()) throw BadJson("a connection is for one request");
      request = parse_control_request(std::string_view(request_).substr(0, end));
    } catch (const BadJson& error) {
      return refuse(error.what());
    }
    request_ = {};
    state_ = State::waiting;
    log::debug("control_request", {{"verb", request->verb}, {"from_pid", asker_.pid()}, {"from_uid", asker_.user()}});
    const Reply reply(std::make_shared<Conversation>(weak_from_this()));
    try {
      owner_.handler_(request->verb, request->arguments, reply);
    } catch (const std::exception& error) {
      reply.error(error.what());
    }
  }

  void refuse(std::string_view sentence) {
    log::debug("control_request_refused",
               {{"from_pid", asker_.pid()}, {"from_uid", asker_.user()}, {"reason", sentence}});
    say_last(text_of(ControlLine{ControlLine::Kind::error, std::string(sentence)}));
  }

  void send_unsent() {
    while (!unsent_.empty()) {
      const ssize_t size = send(fd_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EAGAIN) return wait_for_the_reader();
      if (size < 0) return close();
      unsent_.erase(0, static_cast<std::size_t>(size));
    }
    if (state_ == State::answered) return close();
    if (state_ == State::waiting) patience_.stop();
    if (watched_ & FdWatch::writable) watch(watched_ & ~FdWatch::writable);
  }

  // The time limit starts with the first byte that the client does not take.  Taking a few bytes does not extend it.
  void wait_for_the_reader() {
    if (!patience_.running()) patience_.start_in(patience);
    const int events = FdWatch::writable | (state_ == State::answered ? 0 : watched_ & FdWatch::readable);
    if (events != watched_) watch(events);
  }

  void close() {
    if (state_ == State::closed) return;
    state_ = State::closed;
    const auto alive = shared_from_this();
    patience_.stop();
    watch_.reset();
    fd_.reset();
    owner_.forget(*this);
  }

  ControlSocket& owner_;
  UniqueFd fd_;
  const Asker asker_;
  State state_ = State::asking;
  std::string request_, unsent_;
  Timer patience_;
  std::unique_ptr<FdWatch> watch_;  // destroyed before fd_ is closed
  int watched_ = 0;
};

// Shared by the copies of a Reply.
struct ControlSocket::Conversation {
  explicit Conversation(std::weak_ptr<Client> with) : client(std::move(with)) {}
  explicit Conversation(std::function<void(const ControlLine&)> by) : hear(std::move(by)) {}
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;
  ~Conversation() { end(ControlLine::Kind::error, "the supervisor has given up on this request"); }

  void end(ControlLine::Kind kind, std::string_view text) {
    if (const auto listener = std::exchange(hear, nullptr)) listener(ControlLine{kind, std::string(text)});
    if (const auto asker = std::exchange(client, {}).lock())
      asker->say_last(text_of(ControlLine{kind, std::string(text)}));
  }

  // The answer goes to either of these.
  std::weak_ptr<Client> client;
  std::function<void(const ControlLine&)> hear;
};

ControlSocket::Reply ControlSocket::Reply::heard_by(std::function<void(const ControlLine&)> hear) {
  return Reply(std::make_shared<Conversation>(std::move(hear)));
}

void ControlSocket::Reply::progress(std::string_view sentence) const {
  if (!conversation_) return;
  if (conversation_->hear) conversation_->hear(ControlLine{ControlLine::Kind::progress, std::string(sentence)});
  if (const auto asker = conversation_->client.lock())
    asker->say(text_of(ControlLine{ControlLine::Kind::progress, std::string(sentence)}));
}
void ControlSocket::Reply::ok(std::string_view json) const {
  if (conversation_) conversation_->end(ControlLine::Kind::ok, json);
}
void ControlSocket::Reply::undone(std::string_view why, std::string_view json) const {
  if (!conversation_ || conversation_->hear) log::warn("order_not_carried_out", {{"reason", why}});
  ok(json);
}
void ControlSocket::Reply::error(std::string_view sentence) const {
  if (!conversation_ || conversation_->hear) log::warn("order_refused", {{"reason", sentence}});
  if (conversation_) conversation_->end(ControlLine::Kind::error, sentence);
}
const Asker* ControlSocket::Reply::asker() const {
  if (!conversation_) return nullptr;
  const auto client = conversation_->client.lock();
  return client ? &client->asker() : nullptr;
}
bool ControlSocket::Reply::client_gone() const {
  if (!conversation_) return true;
  if (conversation_->hear) return false;
  const auto asker = conversation_->client.lock();
  return !asker || asker->gone();
}

ControlSocket::ControlSocket(EventLoop& loop, std::string path, Handler handler, UniqueFd listener)
    : loop_(loop),
      path_(std::move(path)),
      handler_(std::move(handler)),
      listener_(listener ? std::move(listener) : listen_at(path_, static_cast<int>(2 * most_clients))),
      pause_(loop, [this] { watch(); }) {
  watch();
}

ControlSocket::~ControlSocket() {
  unlink(path_.c_str());
  clients_.clear();
}

void ControlSocket::watch() {
  watch_ = std::make_unique<FdWatch>(loop_, listener_.get(), FdWatch::readable, [this](int) { accept_clients(); });
}

void ControlSocket::accept_clients() {
  for (std::size_t accepted = 0; accepted < most_clients; ++accepted) {
    UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!fd && errno == EAGAIN) return;
    if (!fd) return pause();
    auto asker = Asker::of(fd.get());
    const auto send_away = [&](std::string_view sentence) {
      log::debug("control_client_refused", {{"from_pid", asker ? asker->pid() : 0}, {"reason", sentence}});
      const std::string line = text_of(ControlLine{ControlLine::Kind::error, std::string(sentence)});
      send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    };
    if (!asker || (asker->user() != geteuid() && asker->user() != 0))
      send_away("this supervisor is another user's");
    else if (!make_room())
      send_away(too_many);
    else
      clients_.push_back(std::make_shared<Client>(*this, std::move(fd), std::move(*asker)));
  }
}

// Frees the places of clients that have left.  Those that had shut down their sending half are not watched, so they are
// found only here.  If none has left, the oldest client without a complete request gives way: otherwise a job could
// lock the operator out with idle connections.
bool ControlSocket::make_room() {
  if (clients_.size() < most_clients) return true;
  std::erase_if(clients_, [](const auto& client) { return client->gone(); });
  if (clients_.size() < most_clients) return true;
  const auto all = clients_;  // a copy: a client that closes itself is removed from clients_
  return std::any_of(all.begin(), all.end(), [](const auto& client) { return client->gives_way(); });
}

// A client that cannot be accepted stays in the listener's queue and keeps it readable.  Without a pause the loop would
// spin.
void ControlSocket::pause() {
  log::warn("control_socket_pauses", {{"reason", std::generic_category().message(errno)}});
  watch_.reset();
  pause_.start_in(pause_without_descriptors);
}

void ControlSocket::forget(const Client& client) {
  std::erase_if(clients_, [&](const auto& known) { return known.get() == &client; });
}

}  // namespace brood
