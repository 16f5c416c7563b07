#include <brood/ambient.hpp>
#include <brood/client.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <span>

#include "shared/api/client_connection.hpp"
#include "shared/api/known_redis.hpp"
#include "shared/api/prepared_push.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/keys.hpp"

namespace brood {
namespace {

constexpr std::size_t slice_size = 1000;

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
  explicit State(const RedisAddress& address) : redis(address) {}

  void send(const std::vector<Command>& commands);

  ClientMiddleware middleware = default_middleware();
  std::mutex mutex;
  ClientConnection redis;
};

void Client::State::send(const std::vector<Command>& commands) {
  for (const Reply& reply : redis.pipeline(commands)) {
    if (reply.view().is_error())
      throw RedisError("Redis at " + redis.name() + ": " + std::string(reply.view().error()));
  }
}

Client::Client() : state_(std::make_unique<State>(known_redis().address)) {}

Client::Client(const std::string& redis_url) : state_(std::make_unique<State>(known_redis(redis_url).address)) {}

Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

ClientMiddleware& Client::middleware() { return state_->middleware; }

ClientMiddleware& Client::default_middleware() {
  static ClientMiddleware middleware = [] {
    ClientMiddleware carries;
    carries.add("carry_context", carry_context());
    return carries;
  }();
  return middleware;
}

std::string Client::push(const Push& job) { return push_bulk({job}).front(); }

std::vector<std::string> Client::push_bulk(const std::vector<Push>& jobs) {
  const WallTime now = wall_now();
  std::vector<PreparedPush> prepared;
  std::vector<std::string> jids;
  for (const Push& job : jobs) {
    Push push = job;
    if (push.jid.empty()) push.jid = new_jid();
    bool goes_on = false;
    state_->middleware.run(push, [&] { goes_on = true; });
    if (goes_on) prepared.push_back(prepare_push(push, now));
    jids.push_back(goes_on ? prepared.back().jid : "");
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
