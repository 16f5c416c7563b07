#include "shared/http/http_call.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "shared/redis/connection.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto time_for_lookup = 10s, time_for_request = 10s, time_for_address = 3s;
constexpr std::size_t most_taken_at_once = 65'536;
constexpr const char* late = "it did not answer in time";

std::string words_of(int error) { return std::generic_category().message(error); }

}  // namespace

HttpCall::HttpCall(const HttpPost& post, const TlsCertificates* certificates, std::string section, SteadyTime now)
    : host_(post.endpoint.host),
      section_(std::move(section)),
      certificates_(certificates),
      lookup_(std::in_place, host_, post.endpoint.port),
      deadline_(now + time_for_lookup) {
  output_ = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: brood\r\nContent-Type: {}\r\nConnection: close\r\nContent-Length: "
      "{}\r\n{}\r\n",
      post.target, post.endpoint.host_and_port(), post.content_type, post.body.size(), post.headers);
  output_ += post.body;
}

short HttpCall::events() const {
  if (lookup_) return POLLIN;
  const short writable = connects_ || !to_be_sent().empty() ? POLLOUT : 0,
              readable = tls_ || writable == 0 ? POLLIN : 0;
  return static_cast<short>(writable | readable);
}

// Begins to connect to the next address.  The last one may take the rest of the time.
bool HttpCall::connect_to_next(SteadyTime now) {
  while (!addresses_.empty()) {
    const NameLookup::Address address = addresses_.front();
    addresses_.pop_front();
    fd_ = UniqueFd(::socket(address.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    connects_ = true;
    connect_deadline_ = addresses_.empty() ? deadline_ : std::min<SteadyTime>(deadline_, now + time_for_address);
    if (fd_ && (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address.to), address.size) == 0 ||
                errno == EINPROGRESS))
      return true;
    trouble_ = words_of(errno);
    fd_.reset();
  }
  return false;
}

// Tries the next address if nothing was sent yet.  Otherwise the request has ended.
std::optional<HttpEnd> HttpCall::failed(const std::string& why, SteadyTime now) {
  trouble_ = why;
  if (connects_ && connect_to_next(now)) return std::nullopt;
  return without_answer(trouble_);
}

HttpEnd HttpCall::without_answer(std::string why) const {
  HttpEnd end;
  end.trouble = std::move(why);
  end.was_sent = fd_ && !connects_ && (!tls_ || tls_->is_established());
  return end;
}

// Reads before it looks at the deadline: an answer counts even if this process could not read it in time.
std::optional<HttpEnd> HttpCall::go_on(SteadyTime now) {
  std::optional<HttpEnd> end = step(now);
  if (!end && now >= deadline_) end = without_answer(lookup_ ? host_ + ": its address was not found in time" : late);
  return end;
}

std::optional<HttpEnd> HttpCall::step(SteadyTime now) {
  if (lookup_) {
    std::optional<NameLookup::End> found = lookup_->end();
    if (!found) return std::nullopt;
    lookup_.reset();
    addresses_ = std::move(found->addresses);
    trouble_ = std::move(found->trouble);
    deadline_ = now + time_for_request;
  }
  if (!fd_ && !connect_to_next(now)) return without_answer(trouble_);
  if (connects_) {
    pollfd one{fd_.get(), POLLOUT, 0};
    if (::poll(&one, 1, 0) == 0) return now < connect_deadline_ ? std::nullopt : failed(late, now);
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return failed(words_of(error), now);
  }
  try {
    if (connects_ && certificates_ != nullptr)
      tls_ = std::make_unique<TlsSession>(*certificates_,
                                          TlsPeer{.host = host_, .section = section_, .plain_scheme = "http://"});
    connects_ = false;
    return converse();
  } catch (const ConnectionLost& lost) {
    return without_answer(lost.what());
  }
}

std::optional<HttpEnd> HttpCall::converse() {
  send();
  if (!tls_ && !output_.empty()) return std::nullopt;
  std::array<char, 16'384> bytes;
  for (std::size_t taken = 0; taken < most_taken_at_once;) {
    const ssize_t size = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return std::nullopt;
    taken += size > 0 ? static_cast<std::size_t>(size) : 0;
    if (size > 0)
      take({bytes.data(), static_cast<std::size_t>(size)});
    else if (tls_ && !tls_->is_established())
      return without_answer("it closed the connection before TLS was spoken");
    else
      answer_.end();
    if (answer_.is_whole() || answer_.is_broken()) return HttpEnd{"", std::move(answer_), true};
  }
  return std::nullopt;
}

// Sends as much as the socket takes.
void HttpCall::send() {
  std::string& output = tls_ ? tls_->wire() : output_;
  std::size_t sent = 0;
  while (sent < output.size()) {
    const ssize_t taken = ::send(fd_.get(), output.data() + sent, output.size() - sent, MSG_NOSIGNAL);
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0 && errno == EAGAIN) break;
    // The server may still have answered, with the reason why it does not read on: so go on reading.
    sent = taken < 0 ? output.size() : sent + static_cast<std::size_t>(taken);
  }
  output.erase(0, sent);
}

void HttpCall::take(std::string_view bytes) {
  if (!tls_) return answer_.add(bytes);
  std::array<char, 16'384> plain;
  tls_->receive(bytes);
  while (const std::size_t size = tls_->read(plain.data(), plain.size())) answer_.add({plain.data(), size});
  if (tls_->is_closed()) answer_.end();
  if (tls_->is_established()) tls_->send(std::exchange(output_, {}));
  send();
}

}  // namespace brood
