#include <brood/ambient.hpp>
#include <brood/client.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "shared/api/cancel.hpp"
#include "shared/api/job_finder.hpp"
#include "shared/api/opening.hpp"
#include "shared/api/push/client_shards.hpp"
#include "shared/api/push/known_redis.hpp"
#include "shared/api/push/per_process.hpp"
#include "shared/api/push/push_receiver.hpp"
#include "shared/api/push/push_sender.hpp"
#include "shared/api/push/push_writer.hpp"
#include "shared/api/push/spread.hpp"
#include "shared/api/readings.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/encryption/last_argument.hpp"
#include "shared/store/iteration.hpp"
#include "shared/store/queues/push_unique.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto between_attempts = 20ms;
// A payload made by a client stays as it is: its argument was encrypted then, or never.
bool is_to_be_sealed(const Push& job) {
  bool says = false, was_made = false;
  for (const auto& [name, json] : job.members) {
    if (name == "encrypt") says = json != "false" && json != "null";
    was_made = was_made || name == "created_at";
  }
  return says && !was_made;
}

// Gives each job its time within the spread.
void spread_out(std::vector<Push>& jobs, std::chrono::milliseconds spread, WallTime now) {
  RandomBytes random;
  for (Push& job : jobs) spread_out(job, spread, now, random);
}

}  // namespace

struct Client::State {
  explicit State(const KnownRedis& known)
      : times(known.times), shards(known), addresses(known.shards), encryption(known.encryption) {}

  // Throws the error that keeps this client from every Redis, if there is one.
  ClientShards& reach() {
    if (!nowhere.empty()) throw RedisError(nowhere);
    return shards;
  }

  // A delay counts from Redis's clock.  While Redis does not answer, a push that is kept counts from the last time
  // known, and any other push reports the failure itself.
  WallTime now() {
    if (!push_receiver() && nowhere.empty() && !redis_time_is_fresh()) shards.ask_time();
    return redis_now();
  }

  TimeUnit time_unit(const std::vector<Push>& jobs, std::size_t batch_size) {
    if (jobs.empty()) return usual_time_unit;
    if (times || push_receiver() || !nowhere.empty()) return times.value_or(usual_time_unit);
    return shards.times_of_fleet(jobs, batch_size);
  }

  // The last thing that happens to a job before it is sent.  A test that receives the pushes reads them in clear.
  // Returns the arguments in clear if it did.
  std::optional<std::string> seal(Push& job) {
    if (!is_to_be_sealed(job) || push_receiver()) return std::nullopt;
    const std::lock_guard lock(keys_mutex);
    try {
      if (!keys) keys = KeyRing::read(encryption);
      std::string sealed = with_last_argument_sealed(job.args, *keys, {job.job_class, job.jid});
      return std::exchange(job.args, std::move(sealed));
    } catch (const KeyError& error) {
      throw std::invalid_argument(std::string("the job cannot be encrypted: ") + error.what());
    } catch (const BadJson&) {
      return std::nullopt;  // its preparation reports what is wrong with it
    }
  }

  ClientMiddleware middleware = default_middleware();
  std::optional<TimeUnit> times;  // how pushes spell times; nullopt: as the fleet does
  ClientShards shards;
  const std::vector<RedisAddress> addresses;  // theirs
  const EncryptionSettings encryption;
  std::mutex keys_mutex;
  std::optional<KeyRing> keys;  // once a job needed them
  std::string nowhere;          // why the address of Redis is unknown; empty: it is known
};

Client::Client() {
  try {
    state_ = std::make_unique<State>(known_redis());
  } catch (const RedisError& unknown) {
    // When a test receives the pushes, it is no error that the machine has no Redis.
    if (!push_receiver()) throw;
    state_ = std::make_unique<State>(KnownRedis{.shards = {RedisAddress{}}, .dead = {}});
    state_->nowhere = unknown.what();
  }
}

Client::Client(const std::string& redis_url) : state_(std::make_unique<State>(known_redis(redis_url))) {}

Client::Client(std::unique_ptr<State> state) : state_(std::move(state)) {}

Client detail::Opening::client(const KnownRedis& known) { return Client(std::make_unique<Client::State>(known)); }

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

PushWriter detail::Opening::writer(Client& client) {
  const bool is_received = push_receiver() != nullptr;
  return PushWriter(redis_now(), is_received ? usual_time_unit : client.state_->time_unit({Push{}}, 0));
}

std::optional<ClientPush> detail::Opening::prepare(Client& client, PushWriter& writer, Push job) {
  Client::State& state = *client.state_;
  if (job.jid.empty()) job.jid = writer.new_jid();
  bool goes_on = false;
  state.middleware.run(job, [&] { goes_on = true; });
  if (!goes_on) return std::nullopt;
  const std::optional<std::string> args_in_clear = state.seal(job);
  return writer.prepare(job, args_in_clear);
}

ClientShards& detail::Opening::shards(Client& client) { return client.state_->reach(); }

WallTime detail::Opening::now(Client& client) { return client.state_->now(); }

std::string Client::push(const Push& job) { return push_bulk({job}).front(); }

std::vector<std::string> Client::push_bulk(std::vector<Push> jobs, const BulkOptions& options) {
  const WallTime now = options.spread ? state_->now() : redis_now();
  if (options.spread) spread_out(jobs, *options.spread, now);

  PushWriter writer(now, state_->time_unit(jobs, options.batch_size));
  std::vector<ClientPush> prepared;
  std::vector<std::string> jids;
  std::vector<std::pair<std::size_t, std::shared_ptr<const std::string>>> holders;  // of the locks of unique jobs
  prepared.reserve(jobs.size());
  jids.reserve(jobs.size());
  for (Push& job : jobs) {
    std::optional<ClientPush> push = detail::Opening::prepare(*this, writer, std::move(job));
    jids.push_back(push ? push->jid : "");
    if (!push) continue;
    if (push->lock) holders.emplace_back(jids.size() - 1, push->lock->holder);
    prepared.push_back(*std::move(push));
  }
  if (const auto receiver = push_receiver()) {
    receiver->push(std::move(prepared));
  } else {
    state_->reach().push(std::move(prepared), options.batch_size);
  }
  // A push that is sent again finds its own lock.
  for (const auto& [i, holder] : holders) {
    if (!holder->empty() && *holder != jids[i]) jids[i].clear();
  }
  return jids;
}

std::string detail::Opening::push_once(Client& client, Push job) {
  if (job.jid.empty()) throw std::invalid_argument("a job that is pushed once has a jid");
  Client::State& state = *client.state_;
  if (job.shard_by.empty()) job.shard_by = job.jid;
  PushWriter writer(redis_now(), state.time_unit({job}, 0));
  std::optional<ClientPush> prepared = prepare(client, writer, std::move(job));
  if (!prepared) return "";
  const auto holder = prepared->lock ? prepared->lock->holder : nullptr;
  std::string jid = prepared->jid;
  if (const auto receiver = push_receiver())
    receiver->push({*std::move(prepared)});
  else
    state.reach().push_once(*std::move(prepared));
  return holder && !holder->empty() && *holder != jid ? "" : jid;
}

std::string Client::push_in(double seconds, Push job, const BulkOptions& options) {
  if (!(seconds < 1e9))
    throw std::invalid_argument("a delay is less than 1,000,000,000 seconds; enqueue_at takes a time");
  job.at = due(epoch_seconds(state_->now()) + seconds);
  return push_bulk({std::move(job)}, options).front();
}

std::optional<std::chrono::system_clock::time_point> Client::due(double time) {
  if (!(time < 9e9)) throw std::invalid_argument("a job cannot be scheduled for so late a time");
  if (time <= epoch_seconds(redis_now())) return std::nullopt;
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::duration<double>(time)));
}

std::string Client::holder_of(const Push& job) {
  const ClientPush push = PushWriter(redis_now()).prepare(job);
  if (!push.lock) return "";
  if (const auto receiver = push_receiver()) return receiver->holder(push.lock->name);
  std::string holder;
  state_->reach().any([&](PerProcess<PushSender>& shard) {
    holder = shard.use(
        [&](PushSender& sender) { return read_holder(sender.redis().call(ask_holder(push.lock->name)).view()); });
    return !holder.empty();
  });
  return holder;
}

bool Client::cancel(std::string_view jid) {
  if (const auto receiver = push_receiver()) return receiver->cancel(jid, std::nullopt);
  return state_->reach().any([&](PerProcess<PushSender>& shard) {
    if (shard.use([&](PushSender& sender) { return sender.take_back(jid); })) return true;
    return cancel_scheduled(
        jid, [&](const auto& ask) { return shard.use([&](PushSender& sender) { return ask(sender.redis()); }); });
  });
}

bool Client::cancel_at(std::string_view jid, double time) {
  if (const auto receiver = push_receiver()) return receiver->cancel(jid, time);
  return state_->reach().any([&](PerProcess<PushSender>& shard) {
    return shard.use(
        [&](PushSender& sender) { return sender.take_back(jid) || cancel_scheduled_at(sender.redis(), jid, time); });
  });
}

void Client::buffer(const BufferOptions& options) {
  if (options.max_jobs == 0) throw std::invalid_argument("a buffer has room for one job at least");
  state_->shards.keep_while_away(options);
}

std::size_t Client::buffered() const { return state_->shards.buffered(); }

std::size_t Client::drain(std::chrono::milliseconds longest) {
  if (push_receiver()) return buffered();
  const SteadyTime deadline = steady_now() + longest;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_now());
    const bool done = state_->reach().drain(std::max(left, 1ms));
    if (done || steady_now() + between_attempts >= deadline) return buffered();
    std::this_thread::sleep_for(between_attempts);
  }
}

std::optional<JobReport> Client::find(std::string_view jid) {
  if (const auto receiver = push_receiver()) return receiver->find(jid);
  state_->reach();
  return JobFinder(state_->addresses).find(jid);
}

std::optional<JobReport> Client::wait(std::string_view jid, std::chrono::milliseconds timeout) {
  if (const auto receiver = push_receiver()) return receiver->wait(jid, timeout);
  state_->reach();
  return JobFinder(state_->addresses).wait(jid, timeout);
}

// The job's shard is unknown, so all shards are asked.
std::chrono::system_clock::time_point Client::cancel_iteration(std::string_view jid) {
  if (jid.empty()) throw std::invalid_argument("a job that is cancelled has a jid");
  const auto now = std::chrono::floor<std::chrono::seconds>(state_->now().time_since_epoch()).count();
  if (const auto receiver = push_receiver())
    return std::chrono::system_clock::time_point(std::chrono::seconds(receiver->cancel_iteration(jid, now)));
  std::optional<std::int64_t> first;
  state_->reach().each([&](PerProcess<PushSender>& shard) {
    shard.use([&](PushSender& sender) {
      ClientConnection& redis = sender.redis();
      try {
        const std::int64_t when = read_cancelled(redis.pipeline(brood::cancel_iteration(jid, now)));
        first = std::min(first.value_or(when), when);
      } catch (const UnexpectedReply& reply) {
        throw RedisError("Redis at " + redis.name() + ": " + reply.what());
      }
    });
  });
  return lenient_time(static_cast<double>(first.value()));
}

}  // namespace brood
