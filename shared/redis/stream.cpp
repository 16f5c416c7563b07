#include "shared/redis/stream.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <new>

#include "shared/base/check.hpp"
#include "shared/redis/connection_lost.hpp"
#include "shared/redis/script_call.hpp"

namespace brood {

namespace {

// Redis itself takes no command above this size (client-query-buffer-limit).
constexpr std::size_t max_message_bytes = std::size_t{1} << 30;

// An array is allocated when its length is announced, before its elements have come: 16 M elements are 128 MB.
constexpr unsigned long long max_elements = 1ULL << 24;

// Sidekiq's data and our scripts nest three deep.  hiredis 1.x reads any depth and frees it recursively.
constexpr int max_depth = 7;

// At most this much is encrypted ahead of what the socket has taken, so that a large command is not held twice.
constexpr std::size_t encrypted_at_once = 64 * 1024;

// Redis takes no more than 64 KB for a command without lengths (PROTO_INLINE_MAX_SIZE).
constexpr std::size_t too_long_a_line = 64 * 1024 + 1;

int depth_of(const redisReadTask* task) {
  int depth = 0;
  while (depth <= max_depth && (task = task->parent) != nullptr) ++depth;
  return depth;
}

decltype(redisReplyObjectFunctions::createArray) create_any_array = nullptr;
thread_local bool array_was_refused = false;

// The functions of hiredis, but they refuse arrays that a sane server does not send, which ends the stream.
redisReplyObjectFunctions* bounded_functions(const redisReader* reader) {
  static redisReplyObjectFunctions functions = [reader] {
    redisReplyObjectFunctions bounded = *reader->fn;
    create_any_array = bounded.createArray;
    // The type of the length is int in hiredis 0.14 and size_t in 1.x.
    bounded.createArray = [](const redisReadTask* task, auto elements) -> void* {
      if (static_cast<unsigned long long>(elements) > max_elements || depth_of(task) > max_depth) {
        array_was_refused = true;
        return nullptr;
      }
      return create_any_array(task, elements);
    };
    return bounded;
  }();
  return &functions;
}

constexpr const char* closed_by_redis = "Redis closed the connection";

constexpr auto system_message = [](int error) { return std::generic_category().message(error); };

}  // namespace

std::string no_handshake(const Stream& stream) {
  return std::string("no TLS handshake within the deadline") +
         (stream.heard() ? "" : "; perhaps the server does not speak TLS");
}

std::size_t wire_size(const Command& command, std::string_view key_prefix) {
  std::size_t size = 16;
  if (!key_prefix.empty()) size += (command.keys.count + 1) * (key_prefix.size() + 16) + guard_prologue.size();
  for (const std::string& arg : command.args) size += arg.size() + 16;
  return size;
}

Stream::Stream(UniqueFd socket, std::unique_ptr<TlsSession> tls)
    : socket_(std::move(socket)), reader_(redisReaderCreate()), tls_(std::move(tls)) {
  if (!reader_) throw std::bad_alloc();
  reader_->fn = bounded_functions(reader_.get());
}

Stream::~Stream() {
  if (holds_secret_) wipe(output_);
}

void Stream::Free::operator()(redisReader* reader) const { redisReaderFree(reader); }

void Stream::append_length(char kind, std::size_t length) {
  char text[24] = {kind};
  char* end = std::to_chars(text + 1, text + sizeof text - 2, length).ptr;
  *end++ = '\r';
  *end++ = '\n';
  output_.append(text, end);
}

void Stream::append(const Command& command, std::string_view key_prefix) {
  const std::size_t size = wire_size(command, key_prefix);
  if (size > max_message_bytes)
    throw std::length_error(fmt::format("a command of {} bytes is more than Redis takes", size));
  make_room(size);
  if (!key_prefix.empty()) return append_prefixed(command, key_prefix);
  append_length('*', command.args.size());
  for (const std::string& arg : command.args) append_argument(arg);
}

void Stream::append_secret(const Command& command, const Secret& last) {
  make_room(wire_size(command) + last.view().size() + 16);
  holds_secret_ = true;
  append_length('*', command.args.size() + 1);
  for (const std::string& arg : command.args) append_argument(arg);
  append_argument(last.view());
}

void Stream::append_argument(std::string_view first, std::string_view second) {
  append_length('$', first.size() + second.size());
  output_.append(first).append(second).append("\r\n");
}

void Stream::make_room(std::size_t size) {
  if (sent_ == output_.size()) {
    output_.clear();
    sent_ = 0;
  }
  if (!holds_secret_ || output_.size() + size <= output_.capacity()) return output_.reserve(output_.size() + size);
  std::string larger;
  larger.reserve(output_.size() + size);
  larger.append(output_);
  wipe(output_);
  output_ = std::move(larger);
}

void Stream::append_prefixed(const Command& command, std::string_view key_prefix) {
  const bool guarded = command.script != nullptr && command.keys.count > 0;
  append_length('*', command.args.size() + (guarded ? 1 : 0));
  for (std::size_t i = 0; i < command.args.size(); ++i) {
    if (guarded && i == command.keys.first + command.keys.count) append_argument(key_prefix, guard_key.name());
    if (command.keys.contains(i))
      append_argument(key_prefix, command.args[i]);
    else if (guarded && i == 1 && command.args[0] == "EVALSHA")
      append_argument(command.script->guarded_sha);
    else if (guarded && i == 1)
      append_argument(guard_prologue, command.args[i]);
    else if (guarded && i == 2)
      append_argument(std::to_string(command.keys.count + 1));
    else
      append_argument(command.args[i]);
  }
  if (guarded && command.args.size() == command.keys.first + command.keys.count)
    append_argument(key_prefix, guard_key.name());
}

// Sends `bytes` from `sent` on, as much as the socket takes.  Returns false if it takes no more now.
bool Stream::write_from(const std::string& bytes, std::size_t& sent) {
  while (sent < bytes.size()) {
    const ssize_t written = ::send(fd(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written >= 0) {
      sent += static_cast<std::size_t>(written);
      moved_ += static_cast<std::size_t>(written);
    } else if (errno == EAGAIN) {
      return false;
    } else if (errno != EINTR) {
      write_error_ = errno;
      sent = bytes.size();
    }
  }
  return true;
}

void Stream::encrypt_and_write() {
  std::string& wire = tls_->wire();
  while (write_from(wire, wire_sent_)) {
    wire.clear();
    wire_sent_ = 0;
    if (!tls_->is_established() || sent_ == output_.size()) return;
    if (write_error_ != 0) sent_ = output_.size();
    const std::size_t count = std::min(output_.size() - sent_, encrypted_at_once);
    tls_->send(std::string_view(output_).substr(sent_, count));
    sent_ += count;
  }
}

std::size_t Stream::unsent_by_tls() const {
  const std::size_t plain = tls_->is_established() ? output_.size() - sent_ : 0;
  return tls_->wire().size() - wire_sent_ + plain;
}

void Stream::ask_whether_plain() {
  asked_whether_plain_ = true;
  tls_->wire().append(too_long_a_line, ' ');
  encrypt_and_write();
}

void Stream::write_some() {
  if (tls_)
    encrypt_and_write();
  else
    write_from(output_, sent_);
  // Free the memory of a batch of large commands, and do not move its rest for every few bytes that the socket took.
  if (sent_ == output_.size()) {
    if (holds_secret_) wipe(output_);
    holds_secret_ = false;
    output_ = std::string();
    sent_ = 0;
  } else if (sent_ > output_.size() / 2) {
    output_.erase(0, sent_);
    sent_ = 0;
  }
}

std::uint64_t Stream::through() const {
  // For a Unix socket this counts memory, a little more than the bytes in it.
  int waiting = 0;
  if (ioctl(fd(), SIOCOUTQ, &waiting) != 0 || waiting < 0) return moved_;
  return moved_ - std::min(moved_, static_cast<std::uint64_t>(waiting));
}

bool Stream::read_some() { return read(MSG_DONTWAIT); }

bool Stream::read_patiently() { return read(0); }

void Stream::set_patience(std::chrono::milliseconds longest) {
  // 0 would mean for ever.
  longest = std::max(longest, std::chrono::milliseconds(1));
  const timeval time{.tv_sec = longest.count() / 1000, .tv_usec = longest.count() % 1000 * 1000};
  check("SO_RCVTIMEO", setsockopt(fd(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time));
  const int flags = check("F_GETFL", fcntl(fd(), F_GETFL));
  check("F_SETFL", fcntl(fd(), F_SETFL, flags & ~O_NONBLOCK));
}

bool Stream::read(int flags) {
  char bytes[64 * 1024];
  const ssize_t count = recv(fd(), bytes, sizeof bytes, flags);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) {
    const int error = count < 0 ? errno : write_error_;
    const std::string why = error != 0 ? system_message(error) : closed_by_redis;
    if (asked_whether_plain_) throw ConnectionLost(no_handshake(*this));
    if (error == ETIMEDOUT) throw ConnectionLost(why);
    if (heard_) throw ConnectionLost(Loss::closed, why);
    throw ConnectionLost(Loss::hung_up,
                         why + " before it said a word; perhaps it " + (tls_ ? "does not speak TLS" : "speaks TLS"));
  }
  heard_ = true;
  moved_ += static_cast<std::size_t>(count);
  if (tls_)
    decrypt(bytes, static_cast<std::size_t>(count));
  else
    feed(bytes, static_cast<std::size_t>(count));
  return true;
}

void Stream::feed(const char* bytes, std::size_t count) {
  reply_bytes_ += count;
  if (reply_bytes_ > longest_reply_)
    throw ConnectionLost(fmt::format("a reply is larger than {} MB", longest_reply_ >> 20));
  if (redisReaderFeed(reader_.get(), bytes, count) == REDIS_OK) return;
  if (reader_->err == REDIS_ERR_OOM) throw ConnectionLost(Loss::no_memory, "there is no memory for a reply");
  throw ConnectionLost(fmt::format("reading a reply: {}", reader_->errstr));
}

// Decrypts all that it can: poll() would not see bytes that stay here.
void Stream::decrypt(const char* bytes, std::size_t count) {
  try {
    tls_->receive({bytes, count});
    char plain[16 * 1024];  // a record of TLS has no more
    while (const std::size_t size = tls_->read(plain, sizeof plain)) feed(plain, size);
  } catch (...) {
    write_from(tls_->wire(), wire_sent_);  // an alert: the reason, for the server's log
    throw;
  }
  if (tls_->is_closed()) throw ConnectionLost(Loss::closed, closed_by_redis);
}

Reply Stream::next_reply() {
  void* whole = nullptr;
  array_was_refused = false;
  if (redisReaderGetReply(reader_.get(), &whole) != REDIS_OK) {
    if (array_was_refused) throw ConnectionLost("a reply is too large or nests too deeply to be read");
    if (reader_->err == REDIS_ERR_OOM) throw ConnectionLost(Loss::no_memory, "there is no memory for a reply");
    throw ConnectionLost(Loss::not_the_protocol, fmt::format("not the Redis protocol: {}", reader_->errstr));
  }
  if (whole == nullptr) return Reply();
  Reply reply(static_cast<redisReply*>(whole));
  reply_bytes_ = reader_->len - reader_->pos;
#ifdef REDIS_REPLY_PUSH
  // We never ask for RESP3, so a push is the answer to no command of ours and would shift all later ones.
  if (static_cast<redisReply*>(whole)->type == REDIS_REPLY_PUSH)
    throw ConnectionLost("Redis pushed what nobody asked for");
#endif
  return reply;
}

bool Stream::silent() {
  if (reader_->len != reader_->pos || reader_->reply != nullptr) return false;
  if (tls_) {
    // The bytes may be those of TLS itself: a ticket for a later session, another key.
    try {
      read_some();
    } catch (const ConnectionLost&) {
      return false;
    }
    return reader_->len == reader_->pos && reader_->reply == nullptr;
  }
  char byte;
  const ssize_t count = recv(fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count < 0 && (errno == EAGAIN || errno == EINTR);
}

}  // namespace brood
