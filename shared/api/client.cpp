#include <brood/client.hpp>

#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <span>

#include "shared/api/prepared_push.hpp"
#include "shared/config.hpp"
#include "shared/job/payload.hpp"
#include "shared/paths.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis_location.hpp"
#include "shared/store/keys.hpp"

namespace brood {
namespace {

constexpr std::size_t slice_size = 1000;

// A connection that rested longer is asked whether it still lives, before a push is risked on it: a push whose reply is
// lost cannot be sent again without the danger of a second one.
constexpr std::chrono::seconds trusted_rest{1};

RedisAddress find_redis() {
  RedisSettings settings;
  if (access(system_config_path, R_OK) == 0) settings = load_config(system_config_path, {}).redis;
  return locate_redis(settings);
}

// Runs `find` and turns what it throws into the one exception of this interface.
template <typename Find>
RedisAddress address_or_error(Find find) {
  try {
    return find();
  } catch (const std::exception& error) {
    throw RedisError(std::string("cannot tell where Redis is: ") + error.what());
  }
}

// As Sidekiq's client does it: the other end is no master any more, a new connection may find one.
bool asks_to_reconnect(std::string_view error) {
  return error.find("READONLY") != error.npos || error.find("NOREPLICAS") != error.npos ||
         error.find("UNBLOCKED") != error.npos;
}

std::vector<Command> commands_for(std::span<const PreparedPush> pushes) {
  Command schedule{"ZADD", keys::schedule};
  Command register_queues{"SADD", keys::queues};
  std::map<std::string, Command> queues;
  for (const PreparedPush& push : pushes) {
    if (push.score) {
      schedule.add(score_text(*push.score)).add(push.payload);
      continue;
    }
    const auto [queue, added] = queues.try_emplace(push.queue, Command{"LPUSH", keys::queue(push.queue)});
    if (added) register_queues.add(push.queue);
    queue->second.add(push.payload);
  }
  std::vector<Command> commands;
  if (!queues.empty()) commands.push_back(std::move(register_queues));
  for (auto& [name, command] : queues) commands.push_back(std::move(command));
  if (schedule.args.size() > 2) commands.push_back(std::move(schedule));
  return commands;
}

}  // namespace

struct Client::State {
  explicit State(const RedisAddress& address) : name(address.without_password()), connection(address) {}

  void send(std::vector<Command> commands);
  void check_rested_connection();

  std::mutex mutex;
  std::string name;  // of the Redis, for messages
  Connection connection;
  SteadyTime last_used{};
};

void Client::State::check_rested_connection() {
  if (!connection.connected() || steady_now() - last_used < trusted_rest) return;
  try {
    connection.call({"PING"});
  } catch (const ConnectionLost&) {  // the next command connects anew
  }
}

// Sends until each command was taken, once more those that a former master refused.
void Client::State::send(std::vector<Command> commands) try {
  check_rested_connection();
  for (int attempt = 0;; ++attempt) {
    const std::vector<Reply> replies = connection.pipeline(commands);
    last_used = steady_now();
    std::vector<Command> refused;
    std::string why;
    for (std::size_t i = 0; i < replies.size(); ++i) {
      const std::string_view error = replies[i].view().error();
      if (error.empty()) continue;
      if (attempt > 0 || !asks_to_reconnect(error)) throw RedisError("Redis at " + name + ": " + std::string(error));
      refused.push_back(commands[i]);
    }
    if (refused.empty()) return;
    connection.disconnect();
    commands = std::move(refused);
  }
} catch (const ConnectionLost& lost) {
  throw RedisError("Redis at " + name + ": " + lost.what());
} catch (const UnexpectedReply& reply) {
  throw RedisError("Redis at " + name + ": " + reply.what());
}

Client::Client() : state_(std::make_unique<State>(address_or_error(find_redis))) {}

Client::Client(const std::string& redis_url)
    : state_(std::make_unique<State>(
          address_or_error([&] { return locate_redis({.url = redis_url, .user = {}, .password_file = {}}); }))) {}

Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

std::string Client::push(const Push& job) { return push_bulk({job}).front(); }

std::vector<std::string> Client::push_bulk(const std::vector<Push>& jobs) {
  const WallTime now = wall_now();
  std::vector<PreparedPush> prepared;
  std::vector<std::string> jids;
  for (const Push& job : jobs) {
    prepared.push_back(prepare_push(job, now));
    jids.push_back(prepared.back().jid);
  }

  const std::lock_guard lock(state_->mutex);
  for (std::size_t sent = 0; sent < prepared.size(); sent += slice_size) {
    const std::span slice(prepared.data() + sent, std::min(slice_size, prepared.size() - sent));
    try {
      state_->send(commands_for(slice));
    } catch (const RedisError& error) {
      if (sent == 0) throw;
      throw RedisError(std::string(error.what()) + "; of " + std::to_string(prepared.size()) + " jobs the first " +
                       std::to_string(sent) + " were pushed");
    }
  }
  return jids;
}

std::string Client::push_in(double seconds, Push job) {
  if (!(seconds < 1e9))
    throw std::invalid_argument("a delay is less than 1,000,000,000 seconds; enqueue_at takes a time");
  return push_at(epoch_seconds(wall_now()) + seconds, std::move(job));
}

std::string Client::push_at(double time, Push job) {
  const double now = epoch_seconds(wall_now());
  // A time before 2001 would be taken for an interval.
  const auto later = time <= now ? std::nullopt : scheduled_time(time, now);
  if (later) {
    job.at = std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::duration<double>(*later)));
  }
  return push(job);
}

}  // namespace brood
