#include "shared/api/push/push_sender.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "shared/api/push/unique_jobs.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/queues/push_commands.hpp"
#include "shared/store/tenants/tenants.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto between_sends = 20ms;

constexpr const char* not_confirmed = ", and replicas have not confirmed all of them";

// What one command does.
struct Share {
  std::size_t jobs = 0;         // that it pushes
  bool may_be_refused = false;  // the push holds all the same
};

// The results of commands that push.
struct Pushed {
  std::size_t jobs = 0, taken = 0;
  std::string refusal;           // the first one; empty: all were taken
  bool may_be_taken_yet = true;  // later, or by another Redis

  Pushed(const std::vector<Share>& shares, const std::vector<Reply>& replies) {
    for (std::size_t i = 0; i < replies.size(); ++i) {
      jobs += shares[i].jobs;
      const std::string_view error = replies[i].view().error();
      const ErrorKind kind = classify_error(error);
      if (kind == ErrorKind::none || shares[i].may_be_refused) {
        taken += shares[i].jobs;
        continue;
      }
      if (refusal.empty()) refusal = error;
      may_be_taken_yet =
          may_be_taken_yet && (kind == ErrorKind::not_applied_retry || kind == ErrorKind::not_applied_reconnect ||
                               kind == ErrorKind::unauthorized);
    }
  }
  std::string how_many() const {
    return taken == 0 ? "" : "; of these " + std::to_string(jobs) + " jobs " + std::to_string(taken) + " were pushed";
  }
};

std::vector<Share> shares_of(const std::vector<Command>& commands) {
  std::vector<Share> shares;
  for (const Command& command : commands) shares.push_back({jobs_in(command), is_entrance_of_tenants(command)});
  return shares;
}

// Takes the payloads out of `jobs`.
std::vector<Command> commands_for(std::span<ClientPush> jobs, std::size_t batch_size) {
  PushCommands commands(batch_size);
  for (ClientPush& job : jobs) {
    if (job.score) {
      commands.add_scheduled(score_text(*job.score), std::move(job.payload));
    } else {
      commands.add(job.queue, std::move(job.payload));
    }
  }
  return commands.take();
}

}  // namespace

struct PushSender::Restore {
  PushSender& sender;
  ~Restore() { sender.redis_.set_timeouts(sender.timeouts_); }
};

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
  } catch (const std::exception&) {  // a caller who needs the error calls drain()
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
  const auto with_lock =
      std::stable_partition(jobs.begin(), jobs.end(), [](const ClientPush& job) { return !job.lock; });
  std::vector<ClientPush> unique(std::make_move_iterator(with_lock), std::make_move_iterator(jobs.end()));
  jobs.erase(with_lock, jobs.end());
  const std::size_t plain = jobs.size();
  std::optional<NotConfirmed> unconfirmed;
  push_plain(std::move(jobs), batch_size, unconfirmed);
  try {
    push_with_locks(std::move(unique), unconfirmed);
  } catch (const RedisError& error) {
    if (plain == 0) throw;
    throw RedisError(std::string(error.what()) + "; " + std::to_string(plain) +
                     " jobs that are not unique were pushed" + (unconfirmed ? not_confirmed : ""));
  }
  if (unconfirmed) throw *unconfirmed;
}

// A client of its own in the numbers of push_once.lua, which pushes one batch.
void PushSender::push_once(ClientPush job) {
  const BatchNumber batch{"jid:" + job.jid};
  const std::string queue = job.score ? "" : job.queue;
  if (job.lock) {
    const Reply reply = redis_.run(push_unique_once(batch, queue, unique_jobs(std::span(&job, 1))));
    const std::vector<std::string> holders = read_holders(reply.view());
    if (!holders.empty()) settle_conflicts(redis_, std::span(&job, 1), holders, batch);  // else it was pushed before
  } else {
    std::vector<std::string> payloads;
    if (job.score) payloads.push_back(score_text(*job.score));
    payloads.push_back(std::move(job.payload));
    redis_.run(brood::push_once(batch.client, batch.number, queue, std::move(payloads)));
  }
  if (!redis_.is_confirmed()) throw NotConfirmed("Redis at " + redis_.name() + ": too few replicas confirm the push");
}

// A script for each slice that goes to one place, in order, and all of them at once.
void PushSender::push_with_locks(std::vector<ClientPush> jobs, std::optional<NotConfirmed>& unconfirmed) {
  std::vector<Command> commands;
  std::vector<std::size_t> begins;
  for (std::size_t begin = 0; begin < jobs.size();) {
    const std::size_t end = begin + unique_slice(std::span(jobs).subspan(begin));
    commands.push_back(push_unique(jobs[begin].score ? "" : jobs[begin].queue,
                                   unique_jobs(std::span(jobs).subspan(begin, end - begin)))
                           .command());
    begins.push_back(begin);
    begin = end;
  }
  if (commands.empty()) return;
  const std::vector<Reply> replies = redis_.push(std::move(commands), unconfirmed);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (replies[i].view().is_error())
      throw RedisError("Redis at " + redis_.name() + ": " + std::string(replies[i].view().error()));
    const std::size_t end = i + 1 < replies.size() ? begins[i + 1] : jobs.size();
    try {
      settle_conflicts(redis_, std::span(jobs).subspan(begins[i], end - begins[i]), read_holders(replies[i].view()));
    } catch (const NotConfirmed& error) {
      unconfirmed = error;
    }
  }
}

void PushSender::push_plain(std::vector<ClientPush> jobs, std::size_t batch_size,
                            std::optional<NotConfirmed>& unconfirmed) {
  const std::size_t slice_size = batch_size == 0 ? usual_push_batch : batch_size;
  const std::uint64_t connection = std::max<std::uint64_t>(redis_.connections(), 1);  // the first, where there is none
  for (std::size_t sent = 0; sent < jobs.size(); sent += slice_size) {
    const std::span slice(jobs.data() + sent, std::min(slice_size, jobs.size() - sent));
    try {
      std::vector<Command> commands = commands_for(slice, batch_size);
      const std::vector<Share> shares = shares_of(commands);
      const Pushed pushed(shares, redis_.push(std::move(commands), unconfirmed));
      if (!pushed.refusal.empty())
        throw RedisError("Redis at " + redis_.name() + ": " + pushed.refusal + pushed.how_many());
    } catch (const RedisError& error) {
      if (sent == 0) throw;
      throw RedisError(std::string(error.what()) + "; of " + std::to_string(jobs.size()) + " jobs the first " +
                       std::to_string(sent) + " were pushed" + (unconfirmed ? not_confirmed : ""));
    }
  }
  // Replicas that lagged behind the first slices may have caught up.
  if (unconfirmed && jobs.size() > slice_size && redis_.has_all_confirmed_on(connection)) unconfirmed.reset();
}

void PushSender::connect_within(std::chrono::milliseconds longest) {
  timeouts_.connect = longest;
  redis_.set_timeouts(timeouts_);
}

std::optional<std::string> PushSender::push_unless_away(std::vector<ClientPush>& jobs, std::size_t batch_size) try {
  redis_.prove_that_it_answers();
  if (buffer_) return buffer_->push_unless_away(redis_, jobs);
  std::vector<ClientPush> sent = jobs;  // `jobs` keeps them if Redis is away
  std::vector<Command> commands = commands_for(sent, batch_size);
  const std::vector<Share> shares = shares_of(commands);
  const Pushed pushed(shares, redis_.push(std::move(commands)));
  if (pushed.refusal.empty()) return std::nullopt;
  std::string why = "Redis at " + redis_.name() + ": " + pushed.refusal + pushed.how_many();
  if (pushed.taken > 0 || !pushed.may_be_taken_yet) throw RedisError(why);
  return why;
} catch (const RedisLost& lost) {
  if (!lost.nothing_was_sent()) throw;
  return lost.what();
}

TimeUnit PushSender::times_of_fleet() {
  const auto ask = [this](const std::vector<Command>& commands) { return redis_.pipeline(commands); };
  // While pushes wait for Redis, does not ask it about the fleet: the release last known has to do.
  const bool waits = buffer_ && buffer_->size() > 0;
  return times_beside(waits ? fleet_.known() : fleet_.oldest(ask));
}

bool PushSender::drain(std::chrono::milliseconds longest) {
  if (!buffer_) return true;
  const Restore restore{*this};
  redis_.set_timeouts({std::min(longest, timeouts_.connect), std::min(longest, timeouts_.command), true});
  return buffer_->drain(redis_);
}

}  // namespace brood
