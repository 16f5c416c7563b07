#include "supervisor/control_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "shared/check.hpp"
#include "shared/clock.hpp"
#include "shared/job/json.hpp"
#include "shared/log.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_clients = 16;
constexpr std::size_t longest_request = 64 * 1024;
constexpr std::size_t most_unread = 1024 * 1024;
constexpr std::size_t longest_verb = 32;
constexpr auto patience = 10s;
constexpr auto pause_without_descriptors = 1s;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::length_error("too long for a socket address: " + path);
  path.copy(address.sun_path, path.size());
  return address;
}

UniqueFd stream_socket() {
  return UniqueFd(check("socket", ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
}

bool somebody_listens(const std::string& path) {
  try {
    connect_to_control_socket(path);
    return true;
  } catch (const std::system_error& error) {
    if (error.code().value() == ECONNREFUSED) return false;
    if (error.code().value() == EAGAIN) return true;
    throw;
  }
}

void refuse_to_replace_what_is_in_use(const std::string& path) {
  struct stat there {};
  if (lstat(path.c_str(), &there) != 0) {
    if (errno == ENOENT) return;
    throw std::system_error(errno, std::generic_category(), path);
  }
  if (!S_ISSOCK(there.st_mode)) throw std::runtime_error(path + " is there already, and is no socket");
  if (somebody_listens(path)) throw std::runtime_error("another supervisor listens at " + path);
}

// A sockaddr_un holds 107 bytes, less than a runtime directory and an identity may have: it is bound under a short name
// in the directory's own descriptor, and gets its name when it listens and is nobody else's to open.
UniqueFd listen_at(const std::string& path) {
  refuse_to_replace_what_is_in_use(path);
  const UniqueFd directory(check("open of the runtime directory",
                                 open(path.substr(0, path.rfind('/') + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
  const std::string short_path =
      fmt::format("/proc/self/fd/{}/.{}.{:x}", directory.get(), getpid(), steady_now().time_since_epoch().count());
  UniqueFd listener = stream_socket();
  const sockaddr_un address = address_of(short_path);
  check("bind of the control socket",
        bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  try {
    check("chmod of the control socket", chmod(short_path.c_str(), 0600));
    check("listen on the control socket", listen(listener.get(), static_cast<int>(2 * most_clients)));
    check("rename of the control socket", rename(short_path.c_str(), path.c_str()));
  } catch (...) {
    unlink(short_path.c_str());
    throw;
  }
  return listener;
}

std::string line_of(std::string_view kind, std::string_view json) {
  std::string line = fmt::format("{} {}", kind, json);
  std::replace(line.begin(), line.end(), '\n', ' ');  // outside strings, where JSON allows it
  return line + "\n";
}

struct Request {
  std::string verb;
  std::vector<std::string> arguments;
};

bool is_verb(std::string_view word) {
  return !word.empty() && word.size() <= longest_verb &&
         std::all_of(word.begin(), word.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

// Throws BadJson with a sentence for the client.
Request parse_request(std::string_view line) {
  if (!line.starts_with("1 ")) throw BadJson("this supervisor speaks version 1 of the control protocol, and no other");
  line.remove_prefix(2);
  const std::size_t space = line.find(' ');
  if (space == line.npos || !is_verb(line.substr(0, space))) throw BadJson("a request is: 1 <verb> <JSON array>");
  Request request{std::string(line.substr(0, space)), {}};
  for (const std::string& argument : json_elements(line.substr(space + 1))) {
    if (!argument.starts_with('"')) throw BadJson("every argument of a request is a string");
    request.arguments.push_back(json_unescape(argument));
  }
  return request;
}

bool is_gone(int fd) {
  pollfd peer{fd, 0, 0};
  return poll(&peer, 1, 0) > 0 && (peer.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace

std::string control_socket_path(const std::string& directory, const std::string& identity) {
  std::string name = identity;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '/'; }, '_');
  return directory + "/" + name + ".control";
}

UniqueFd connect_to_control_socket(const std::string& path) {
  const UniqueFd file(check("open of the control socket", open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)));
  UniqueFd connection = stream_socket();
  const sockaddr_un address = address_of(fmt::format("/proc/self/fd/{}", file.get()));
  check("connect to the control socket",
        connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  return connection;
}

// One connection.  It closes itself: its owner then forgets it, which may be its end.
class ControlSocket::Client : public std::enable_shared_from_this<Client> {
 public:
  Client(ControlSocket& owner, UniqueFd fd, const ucred& peer)
      : owner_(owner), fd_(std::move(fd)), peer_(peer), patience_(owner.loop_, [this] { close(); }) {
    patience_.start_in(patience);
    watch(FdWatch::readable);
  }

  bool gone() const { return is_gone(fd_.get()); }

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
    waiting,   // it is with the handler
    answered,  // the last line is said, or on its way
    closed,
  };

  void watch(int events) {
    watch_.reset();
    watched_ = events;
    if (events == 0) return;
    watch_ = std::make_unique<FdWatch>(owner_.loop_, fd_.get(), events, [this](int seen) {
      const auto alive = shared_from_this();  // either may close it
      if (seen & FdWatch::writable) send_unsent();
      if (seen & FdWatch::readable) receive();
    });
  }

  // Descriptors that a client sends along are no part of what recv returns: the kernel closes them.
  void receive() {
    if (state_ == State::answered || state_ == State::closed) return;
    std::array<char, 16 * 1024> bytes;
    const ssize_t size = recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (state_ == State::waiting) {
      // The end of its sending half, or more than one request: neither is watched for any longer.
      if (size == 0 && !gone()) return watch(watched_ & FdWatch::writable);
      return close();
    }
    if (size <= 0) return close();
    request_.append(bytes.data(), static_cast<std::size_t>(size));
    const std::size_t end = request_.find('\n');
    if (end != request_.npos) return heed(end);
    if (request_.size() >= longest_request) refuse("a request has at most 64 KB");
  }

  void heed(std::size_t end) {
    patience_.stop();
    std::optional<Request> request;
    try {
      if (end + 1 != request_.size()) throw BadJson("a connection is for one request");
      request = parse_request(std::string_view(request_).substr(0, end));
    } catch (const BadJson& error) {
      return refuse(error.what());
    }
    request_ = {};
    state_ = State::waiting;
    log::debug("control_request", {{"verb", request->verb}, {"from_pid", peer_.pid}, {"from_uid", peer_.uid}});
    const Reply reply(std::make_shared<Conversation>(weak_from_this(), peer_.pid));
    try {
      owner_.handler_(request->verb, request->arguments, reply);
    } catch (const std::exception& error) {
      reply.error(error.what());
    }
  }

  void refuse(std::string_view sentence) {
    log::debug("control_request_refused", {{"from_pid", peer_.pid}, {"from_uid", peer_.uid}, {"reason", sentence}});
    say_last(line_of("error", json_string(sentence)));
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

  // From the first byte that it does not take: one that takes a byte now and then is as slow as one that takes none.
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
  ucred peer_;
  State state_ = State::asking;
  std::string request_, unsent_;
  Timer patience_;
  std::unique_ptr<FdWatch> watch_;  // destroyed before fd_ is closed
  int watched_ = 0;
};

// What the copies of a Reply share.
struct ControlSocket::Conversation {
  Conversation(std::weak_ptr<Client> with, pid_t pid) : client(std::move(with)), from_pid(pid) {}
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;
  ~Conversation() { end("error", json_string("the supervisor has given up on this request")); }

  void end(std::string_view kind, std::string_view json) {
    if (const auto asker = std::exchange(client, {}).lock()) asker->say_last(line_of(kind, json));
  }

  std::weak_ptr<Client> client;
  const pid_t from_pid;
};

void ControlSocket::Reply::progress(std::string_view sentence) const {
  if (const auto asker = conversation_->client.lock()) asker->say(line_of("progress", json_string(sentence)));
}
void ControlSocket::Reply::ok(std::string_view json) const { conversation_->end("ok", json); }
void ControlSocket::Reply::error(std::string_view sentence) const {
  conversation_->end("error", json_string(sentence));
}
pid_t ControlSocket::Reply::from_pid() const { return conversation_->from_pid; }
bool ControlSocket::Reply::client_gone() const {
  const auto asker = conversation_->client.lock();
  return !asker || asker->gone();
}

ControlSocket::ControlSocket(EventLoop& loop, std::string path, Handler handler)
    : loop_(loop),
      path_(std::move(path)),
      handler_(std::move(handler)),
      listener_(listen_at(path_)),
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
    ucred peer{};
    socklen_t size = sizeof peer;
    const bool known = getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    const auto send_away = [&](std::string_view sentence) {
      log::debug("control_client_refused", {{"from_pid", peer.pid}, {"from_uid", peer.uid}, {"reason", sentence}});
      const std::string line = line_of("error", json_string(sentence));
      send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    };
    if (!known || (peer.uid != geteuid() && peer.uid != 0))
      send_away("this supervisor is another user's");
    else if (!make_room())
      send_away("the supervisor speaks with as many clients as it can");
    else
      clients_.push_back(std::make_shared<Client>(*this, std::move(fd), peer));
  }
}

// The place of one that left while it waited, which is not noticed when it had closed its sending half before.
bool ControlSocket::make_room() {
  if (clients_.size() < most_clients) return true;
  std::erase_if(clients_, [](const auto& client) { return client->gone(); });
  return clients_.size() < most_clients;
}

// A client that cannot be accepted stays in the listener's queue, which is readable without end.
void ControlSocket::pause() {
  log::warn("control_socket_pauses", {{"reason", std::generic_category().message(errno)}});
  watch_.reset();
  pause_.start_in(pause_without_descriptors);
}

void ControlSocket::forget(const Client& client) {
  std::erase_if(clients_, [&](const auto& known) { return known.get() == &client; });
}

}  // namespace brood
