#include "shared/api/push_sender.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "shared/job/payload.hpp"
#include "shared/redis/size_refusals.hpp"
#include "shared/store/keys.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t usual_batch = 1000, usual_scheduled_batch = 100;  // those of Sidekiq 8
constexpr std::size_t most_bytes = bytes_always_taken, framing_bytes = 50;
constexpr auto between_sends = 20ms;

// The jobs of one queue or of the schedule, one command per batch.
class Pushes {
 public:
  Pushes(std::string_view verb, std::string key, std::size_t batch)
      : verb_(verb), key_(std::move(key)), batch_(batch) {}

  void add(ClientPush& job) {
    // Only a job that is too large by itself makes a command that Redis refuses.
    if (commands_.empty() || in_last_ == batch_ || bytes_in_last_ + job.payload.size() > most_bytes) {
      commands_.push_back({verb_, key_});
      in_last_ = bytes_in_last_ = 0;
    }
    bytes_in_last_ += job.payload.size() + framing_bytes;
    if (job.score) commands_.back().add(score_text(*job.score));
    commands_.back().args.push_back(std::move(job.payload));
    ++in_last_;
  }

  void move_to(std::vector<Command>& commands) {
    std::move(commands_.begin(), commands_.end(), std::back_inserter(commands));
  }

 private:
  std::string_view verb_;
  std::string key_;
  std::size_t batch_, in_last_ = 0, bytes_in_last_ = 0;
  std::vector<Command> commands_;
};

// Takes the payloads out of `jobs`.
std::vector<Command> commands_for(std::span<ClientPush> jobs, std::size_t batch_size) {
  Command register_queues{"SADD", keys::queues};
  std::map<std::string, Pushes> queues;
  Pushes schedule("ZADD", std::string(keys::schedule), batch_size == 0 ? usual_scheduled_batch : batch_size);
  auto queue = queues.end();
  for (ClientPush& job : jobs) {
    if (job.score) {
      schedule.add(job);
      continue;
    }
    if (queue == queues.end() || queue->first != job.queue) {
      bool added = false;
      std::tie(queue, added) =
          queues.try_emplace(job.queue, "LPUSH", keys::queue(job.queue), batch_size == 0 ? usual_batch : batch_size);
      if (added) register_queues.add(job.queue);
    }
    queue->second.add(job);
  }
  std::vector<Command> commands;
  if (!queues.empty()) commands.push_back(std::move(register_queues));
  for (auto& [name, pushes] : queues) pushes.move_to(commands);
  schedule.move_to(commands);
  return commands;
}

}  // namespace

PushSender::PushSender(const RedisAddress& address, const std::optional<BufferOptions>& buffer) : redis_(address) {
  if (buffer) keep_while_away(*buffer);
}

PushSender::~PushSender() {
  const SteadyTime deadline = steady_now() + at_end_;
  try {
    for (SteadyTime now = steady_now(); buffered() > 0 && now < deadline; now = steady_now()) {
      if (drain(std::chrono::ceil<std::chrono::milliseconds>(deadline - now))) break;
      std::this_thread::sleep_for(between_sends);
    }
  } catch (const std::exception&) {  // a caller who wants to know calls drain()
  }
}

void PushSender::leave_to_parent() {
  redis_.leave_to_parent();
  buffer_.reset();
}

void PushSender::keep_while_away(const BufferOptions& options) {
  at_end_ = options.at_end;
  if (buffer_) {
    buffer_->set(options);
  } else {
    buffer_.emplace(options);
  }
}

void PushSender::push(std::vector<ClientPush> jobs, std::size_t batch_size) {
  if (buffer_) return buffer_->push(redis_, std::move(jobs));
  const std::size_t slice_size = batch_size == 0 ? usual_batch : batch_size;
  for (std::size_t sent = 0; sent < jobs.size(); sent += slice_size) {
    const std::span slice(jobs.data() + sent, std::min(slice_size, jobs.size() - sent));
    try {
      for (const Reply& reply : redis_.pipeline(commands_for(slice, batch_size))) {
        if (reply.view().is_error())
          throw RedisError("Redis at " + redis_.name() + ": " + std::string(reply.view().error()));
      }
    } catch (const RedisError& error) {
      if (sent == 0) throw;
      throw RedisError(std::string(error.what()) + "; of " + std::to_string(jobs.size()) + " jobs the first " +
                       std::to_string(sent) + " were pushed");
    }
  }
}

TimeUnit PushSender::times_of_fleet() {
  const auto ask = [this](const std::vector<Command>& commands) { return redis_.pipeline(commands); };
  const std::optional<SidekiqRelease> oldest = fleet_.oldest(ask);
  return oldest ? oldest->time_unit() : usual_time_unit;
}

bool PushSender::drain(std::chrono::milliseconds longest) {
  if (!buffer_) return true;
  const Connection::Timeouts usual;
  redis_.set_timeouts({std::min(longest, usual.connect), std::min(longest, usual.command), true});
  struct Restore {
    ClientConnection& redis;
    ~Restore() { redis.set_timeouts({}); }
  } const restore{redis_};
  return buffer_->drain(redis_);
}

}  // namespace brood
