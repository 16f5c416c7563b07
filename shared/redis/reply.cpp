#include "shared/redis/reply.hpp"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <charconv>

namespace brood {

namespace {

bool is_kind(const redisReply* reply, int kind) { return reply != nullptr && reply->type == kind; }

std::string_view words(const redisReply* reply) { return {reply->str, reply->len}; }

// Reports the reply that came instead, for the log: error text in full, anything else by kind.
[[noreturn]] void unexpected(const redisReply* reply, std::string_view wanted) {
  std::string_view kind = "a reply of another kind";
  if (reply == nullptr) {
    kind = "nothing";
  } else {
    switch (reply->type) {
      case REDIS_REPLY_ERROR:
        throw UnexpectedReply(std::string(words(reply)));
      case REDIS_REPLY_STRING:
        kind = "a string";
        break;
      case REDIS_REPLY_STATUS:
        kind = "a status";
        break;
      case REDIS_REPLY_INTEGER:
        kind = "an integer";
        break;
      case REDIS_REPLY_NIL:
        kind = "nil";
        break;
      case REDIS_REPLY_ARRAY:
        kind = "an array";
        break;
      default:
        break;
    }
  }
  throw UnexpectedReply(fmt::format("Redis answered {} where {} was expected", kind, wanted));
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

// Redis 6.2 wraps the error of a command inside a script, the first form for the client, the second for pcall():
//   ERR Error running script (call to f_...): @user_script:3: -OOM command not allowed ...
//   @user_script: 3: -NOPERM The user executing the script can't run this command or subcommand
// Redis refuses such commands before the script's first write, so the wrapped error has the same meaning as the bare
// one.
std::string_view unwrap_script_error(std::string_view error) {
  if (!error.starts_with("ERR Error running script") && !error.starts_with("@user_script")) return error;
  const std::size_t inner = error.find(": -");
  return inner == std::string_view::npos ? error : error.substr(inner + 3);
}

// Each release has its own words for a missing right, and no NOPERM if a script runs the command: 7.0, then 7.2 and
// later, and Valkey.
bool is_right_missing_in_script(std::string_view error) {
  return error.starts_with("ERR The user executing the script can't") || error.starts_with("ERR ACL failure in script");
}

}  // namespace

bool ReplyView::is_nil() const { return is_kind(reply_, REDIS_REPLY_NIL); }
bool ReplyView::is_error() const { return is_kind(reply_, REDIS_REPLY_ERROR); }
bool ReplyView::is_string() const { return is_kind(reply_, REDIS_REPLY_STRING) || is_kind(reply_, REDIS_REPLY_STATUS); }
bool ReplyView::is_integer() const { return is_kind(reply_, REDIS_REPLY_INTEGER); }
bool ReplyView::is_array() const { return is_kind(reply_, REDIS_REPLY_ARRAY); }

std::string_view ReplyView::text() const {
  if (!is_string()) unexpected(reply_, "a string");
  return words(reply_);
}

std::int64_t ReplyView::integer() const {
  if (is_integer()) return reply_->integer;
  if (!is_string()) unexpected(reply_, "an integer");
  const std::string_view digits = words(reply_);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) unexpected(reply_, "an integer");
  return number;
}

std::size_t ReplyView::size() const {
  if (!is_array()) unexpected(reply_, "an array");
  return reply_->elements;
}

ReplyView ReplyView::operator[](std::size_t i) const {
  if (i >= size())
    throw UnexpectedReply(fmt::format("Redis answered {} elements where more than {} were expected", size(), i));
  return ReplyView(reply_->element[i]);
}

std::string_view ReplyView::error() const { return is_error() ? words(reply_) : std::string_view(); }

Reply::Reply(redisReply* reply) : reply_(reply) {}

void Reply::Free::operator()(redisReply* reply) const { freeReplyObject(reply); }

ErrorKind classify_error(std::string_view error) {
  if (error.empty()) return ErrorKind::none;
  const std::string_view bare = unwrap_script_error(error);
  const std::string_view word = first_word(bare);
  for (const std::string_view retry : {"BUSY", "MISCONF", "NOREPLICAS", "OOM", "TRYAGAIN", "ASK"}) {
    if (word == retry) return ErrorKind::not_applied_retry;
  }
  // LOADING: a server that starts, or a former master that loads the data of the new one.  CLUSTERDOWN: a node that
  // sees too few of the others; these may see more.
  for (const std::string_view elsewhere : {"READONLY", "MASTERDOWN", "LOADING", "UNBLOCKED", "MOVED", "CLUSTERDOWN"}) {
    if (word == elsewhere) return ErrorKind::not_applied_reconnect;
  }
  if (bare.starts_with("ERR max number of clients")) return ErrorKind::not_applied_reconnect;
  // DENIED: protected mode's answer to a connection over the network without a password.
  if (word == "NOAUTH" || word == "WRONGPASS" || word == "NOPERM" || word == "DENIED") return ErrorKind::unauthorized;
  if (is_right_missing_in_script(bare)) return ErrorKind::unauthorized;
  if (word == "NOSCRIPT") return ErrorKind::no_script;
  return ErrorKind::other;
}

}  // namespace brood
