#include "shared/api/push/client_connection.hpp"

#include <algorithm>

#include "shared/base/redis_clock.hpp"
#include "shared/store/redis_time.hpp"
#include "shared/store/replica_wait.hpp"

namespace brood {
namespace {

// A connection idle for longer than this gets a PING before a push: a push whose reply is lost cannot be sent again
// without the risk of pushing twice.
constexpr std::chrono::seconds trusted_rest{1};

constexpr std::chrono::seconds longest_proof{1};

// Returns true if this server did not apply the command, but a new connection may reach one that does.
bool asks_to_reconnect(const Reply& reply) {
  const std::string_view error = reply.view().error();
  return classify_error(error) == ErrorKind::not_applied_reconnect || error.find("READONLY") != error.npos ||
         error.find("NOREPLICAS") != error.npos;
}

std::string_view first_key(const Command& command) {
  return command.args.size() > 1 ? std::string_view(command.args[1]) : std::string_view();
}

}  // namespace

ClientConnection::ClientConnection(const RedisAddress& address)
    : name_(address.without_password()), wait_(address.wait), connection_(address) {
  set_timeouts({});
}

// Redis answers WAIT when the replicas have, or when their time is over.
void ClientConnection::set_timeouts(Connection::Timeouts timeouts) {
  timeouts_ = timeouts;
  if (wait_.replicas > 0 && !timeouts.is_final) timeouts.command += wait_.timeout;
  connection_.set_timeouts(timeouts);
}

void ClientConnection::check_rested_connection() {
  if (!connection_.connected() || steady_now() - last_used_ < trusted_rest) return;
  try {
    connection_.call({"PING"});
  } catch (const ConnectionLost&) {  // the next command connects again
  }
}

void ClientConnection::prove_that_it_answers() try {
  if (connection_.connected() && steady_now() - last_used_ < trusted_rest) return;
  struct Restore {
    ClientConnection& its;
    ~Restore() { its.set_timeouts(its.timeouts_); }
  } const restore{*this};
  connection_.set_timeouts({longest_proof, longest_proof, true});
  connection_.call({"PING"});
  last_used_ = steady_now();
} catch (const ConnectionLost& lost) {
  raise(lost.why == Loss::login_refused ? lost.why : Loss::not_connected, lost.what());
}

// Other commands of the same pipeline stay applied.
std::vector<Reply> ClientConnection::ask_again(const std::vector<Command>& refused) try {
  return connection_.pipeline(refused);
} catch (const ConnectionLost& lost) {
  throw lost.after_others();
}

std::vector<Reply> ClientConnection::pipeline(const std::vector<Command>& commands) try {
  if (commands.empty()) return {};
  check_rested_connection();
  std::vector<Reply> replies = connection_.pipeline(commands);

  std::vector<std::size_t> places;
  std::vector<Command> refused;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (!asks_to_reconnect(replies[i])) continue;
    places.push_back(i);
    refused.push_back(commands[i]);
  }
  if (!refused.empty()) {
    connection_.disconnect();
    std::vector<Reply> again = refused.size() == replies.size() ? connection_.pipeline(refused) : ask_again(refused);
    for (std::size_t i = 0; i < places.size(); ++i) replies[places[i]] = std::move(again[i]);
  }
  last_used_ = steady_now();
  return replies;
} catch (const ConnectionLost& lost) {
  raise(lost.why, lost.what());
} catch (const UnexpectedReply& reply) {
  throw RedisError("Redis at " + name_ + ": " + reply.what());
}

std::vector<Reply> ClientConnection::push(std::vector<Command> commands) {
  std::optional<NotConfirmed> unconfirmed;
  std::vector<Reply> replies = push(std::move(commands), unconfirmed);
  if (unconfirmed) throw *unconfirmed;
  return replies;
}

std::vector<Reply> ClientConnection::push(std::vector<Command> commands, std::optional<NotConfirmed>& unconfirmed) {
  if (wait_.replicas == 0 || commands.empty() || unconfirmed) return pipeline(commands);
  const std::uint64_t before = connection_.connections();
  commands.push_back(mark_for_wait());
  commands.push_back(wait_for(wait_));
  std::vector<Reply> replies = pipeline(commands);
  std::int64_t confirmed = confirmed_by(replies.back().view());
  replies.resize(replies.size() - 2);
  const auto is_error = [](const Reply& reply) { return reply.view().is_error(); };
  if (std::any_of(replies.begin(), replies.end(), is_error)) return replies;
  // The commands may have gone to another server than the one whose replicas were asked.
  if (const std::uint64_t written_on = connection_.connections(); written_on != before) {
    confirmed = 0;
    try {
      const std::int64_t by_its_replicas = confirmed_by(pipeline({mark_for_wait(), wait_for(wait_)}).back().view());
      if (connection_.connections() == written_on) confirmed = by_its_replicas;
    } catch (const RedisError&) {  // the push stands, and must not look as if nothing had been sent
    }
  }
  if (confirmed < wait_.replicas)
    unconfirmed = NotConfirmed("Redis at " + name_ + ": pushed, but only " + std::to_string(confirmed) + " of " +
                               std::to_string(wait_.replicas) + " replicas confirmed it within " +
                               std::to_string(wait_.timeout.count()) + " ms");
  return replies;
}

bool ClientConnection::has_all_confirmed_on(std::uint64_t connection) {
  if (connections() != connection) return false;
  try {
    return is_confirmed();
  } catch (const RedisError&) {  // pushed jobs stay pushed
    return false;
  }
}

bool ClientConnection::is_confirmed() {
  if (wait_.replicas == 0) return true;
  const std::uint64_t written_on = connection_.connections();
  const std::int64_t confirmed = confirmed_by(pipeline({mark_for_wait(), wait_for(wait_)}).back().view());
  return connection_.connections() == written_on && confirmed >= wait_.replicas;
}

Reply ClientConnection::call(const Command& command) {
  Reply reply = std::move(pipeline({command}).front());
  if (reply.view().is_error()) refuse(command, reply.view().error());
  return reply;
}

void ClientConnection::ask_time() {
  if (redis_time_is_fresh()) return;
  try {
    const SteadyTime asked = steady_now();
    const Reply reply = std::move(pipeline({brood::ask_time()}).front());
    if (reply.view().is_array()) note_redis_time(redis_time(reply.view()), asked, steady_now());
  } catch (const RedisError&) {
    return;
  }
}

Reply ClientConnection::try_to_run(ScriptCall call) {
  std::vector<Command> commands;
  commands.push_back(std::move(call).command());
  return std::move(pipeline(commands).front());
}

Reply ClientConnection::run(ScriptCall call) {
  const std::string key = call.keys.front().name();
  Reply reply = try_to_run(std::move(call));
  if (reply.view().is_error()) refuse(key, reply.view().error());
  return reply;
}

void ClientConnection::transaction(std::vector<Command> commands) {
  const std::string key(first_key(commands.front()));
  commands.insert(commands.begin(), {"MULTI"});
  commands.push_back({"EXEC"});
  std::vector<Reply> replies;
  try {
    check_rested_connection();
    replies = connection_.pipeline(commands);
    for (const Reply& reply : replies) {
      if (!asks_to_reconnect(reply)) continue;
      connection_.disconnect();  // one refusal within MULTI keeps all of it from being applied
      replies = connection_.pipeline(commands);
      break;
    }
    last_used_ = steady_now();
  } catch (const ConnectionLost& lost) {
    raise(lost.why, lost.what());
  }
  for (const Reply& reply : replies) {
    if (reply.view().is_error()) refuse(key, reply.view().error());
  }
  const ReplyView answers = replies.back().view();
  for (std::size_t i = 0; answers.is_array() && i < answers.size(); ++i) {
    if (answers[i].is_error()) refuse(commands[i + 1], answers[i].error());
  }
}

void ClientConnection::raise(Loss why, std::string_view what) const {
  throw RedisLost(why, "Redis at " + name_ + ": " + std::string(what));
}

void ClientConnection::refuse(const Command& command, std::string_view error) const {
  refuse(first_key(command), error);
}

void ClientConnection::refuse(std::string_view key, std::string_view error) const {
  if (error.starts_with("NOAUTH")) raise(Loss::login_refused, error);
  std::string what = "Redis at " + name_ + ": ";
  if (error.find("WRONGTYPE") != error.npos && !key.empty())
    what.append("the key \"").append(key).append("\", or one that goes with it, holds something else than it should: ");
  throw RedisError(what.append(error));
}

}  // namespace brood
