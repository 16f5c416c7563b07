#include "shared/api/push/push_buffer.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "shared/api/push/unique_jobs.hpp"
#include "shared/job/payload.hpp"
#include "shared/redis/size_refusals.hpp"
#include "shared/store/queues/push_commands.hpp"

namespace brood {
namespace {

// Batches are small: one that a slow network does not carry before its deadline would be sent again for ever.
constexpr std::size_t most_bytes_at_once = bytes_always_taken - 20'000;  // leaves room for the lengths of the payloads

}  // namespace

PushBuffer::PushBuffer(const BufferOptions& options) : options_(options), client_(new_jid()) {}

std::size_t PushBuffer::first_batch() const {
  const ClientPush& first = waiting_.front();
  if (first.lock) {
    // A job that may replace another is pushed alone, so that the number of its batch shows whether it was pushed.
    if (replaces(first)) return 1;
    const auto most = static_cast<std::ptrdiff_t>(std::min(waiting_.size(), max_unique_jobs_pushed));
    const std::vector<ClientPush> some(waiting_.begin(),
                                       std::find_if(waiting_.begin(), waiting_.begin() + most, replaces));
    return std::min(unique_slice(some), std::max<std::size_t>(1, options_.max_jobs));
  }
  // A script that pushes to the schedule takes ten times as long.
  const std::size_t most =
      std::min(std::max<std::size_t>(1, options_.max_jobs), first.score ? 100 : max_jobs_pushed_once);
  std::size_t count = 1, bytes = first.payload.size();
  while (count < std::min(most, waiting_.size()) && !waiting_[count].lock &&
         waiting_[count].score.has_value() == first.score.has_value() &&
         (first.score || waiting_[count].queue == first.queue)) {
    bytes += waiting_[count].payload.size();
    if (bytes > most_bytes_at_once) break;
    ++count;
  }
  return count;
}

ScriptCall PushBuffer::first_batch_call() const {
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(in_doubt_);
  const std::string queue = waiting_.front().score ? "" : waiting_.front().queue;
  if (waiting_.front().lock) {
    const std::vector<ClientPush> batch(waiting_.begin(), end);
    return push_unique_once({client_, number_}, queue, unique_jobs(batch));
  }
  std::vector<std::string> payloads;
  for (auto job = waiting_.begin(); job != end; ++job) {
    if (job->score) payloads.push_back(score_text(*job->score));
    payloads.push_back(job->payload);
  }
  return push_once(client_, number_, queue, std::move(payloads));
}

PushBuffer::Sent PushBuffer::send_first_batch(ClientConnection& redis) {
  if (in_doubt_ == 0) in_doubt_ = first_batch();
  const SteadyTime begin = steady_now();
  try {
    const Reply reply = redis.try_to_run(first_batch_call());
    const std::string_view error = reply.view().error();
    perhaps_there_ = perhaps_there_ || error.empty();
    if (waiting_.front().lock && error.empty()) {
      std::vector<ClientPush> batch(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(in_doubt_));
      try {
        settle_conflicts(redis, batch, read_holders(reply.view()), BatchNumber{client_, number_});
      } catch (const NotConfirmed&) {  // asked below, for all of it
      } catch (const RedisError& refused) {
        if (is_away(refused)) throw;
        refusal_ = refused.what();
        return Sent::refused;
      }
    }
    switch (classify_error(error)) {
      case ErrorKind::none:
        // Sent again under its number it is not pushed twice.
        if (redis.is_confirmed()) return Sent::pushed;
        refusal_ = "Redis at " + redis.name() + ": too few replicas confirm the pushes";
        break;
      case ErrorKind::not_applied_retry:
      case ErrorKind::not_applied_reconnect:
        refusal_ = "Redis at " + redis.name() + ": " + std::string(error);
        break;
      case ErrorKind::unauthorized:
        refusal_ = "Redis at " + redis.name() + ": " + std::string(error);
        return Sent::shut_out;
      default:
        refusal_ = "Redis at " + redis.name() + ": " + std::string(error);
        return Sent::refused;
    }
  } catch (const RedisLost& lost) {
    refusal_ = lost.what();
    if (lost.why == Loss::login_refused) return Sent::shut_out;
    if (lost.why == Loss::too_large) return Sent::refused;
    perhaps_there_ |= !lost.nothing_was_sent();
    if (lost.why == Loss::closed_on_large) return send_first_batch(redis);  // a second close means that it is refused
  } catch (const RedisError& refused) {
    refusal_ = refused.what();
    return Sent::shut_out;
  }
  const SteadyTime now = steady_now();
  rests_until_ = now + (now - begin);
  return Sent::away;
}

// A copy of the batch may still be on its way to Redis, so its number is never used again.
void PushBuffer::drop_first_batch() {
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(in_doubt_));
  in_doubt_ = 0;
  perhaps_there_ = false;
  ++number_;
}

void PushBuffer::set_first_batch_aside() {
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(in_doubt_);
  std::move(waiting_.begin(), end, std::back_inserter(refused_));
  drop_first_batch();
}

bool PushBuffer::push_waiting(ClientConnection& redis) {
  while (!waiting_.empty()) {
    switch (send_first_batch(redis)) {
      case Sent::pushed:
        drop_first_batch();
        break;
      case Sent::refused:
        set_first_batch_aside();
        break;
      case Sent::away:
        return false;
      case Sent::shut_out:
        throw RedisLost(Loss::login_refused, refusal_);  // a password or a right is missing
    }
  }
  return true;
}

bool PushBuffer::drain(ClientConnection& redis) {
  std::move(refused_.begin(), refused_.end(), std::back_inserter(waiting_));
  refused_.clear();
  if (!push_waiting(redis)) return false;
  if (!refused_.empty())
    throw RedisError(refusal_ + "; of the jobs that were kept " + std::to_string(refused_.size()) + " were refused");
  return true;
}

void PushBuffer::keep(std::vector<ClientPush>& jobs, std::size_t from, std::size_t done) {
  if (from < jobs.size() && size() + jobs.size() - from > options_.max_jobs) {
    throw BufferFull(refusal_ + "; the buffer keeps " + std::to_string(size()) + " of at most " +
                     std::to_string(options_.max_jobs) + " jobs" +
                     (done == 0 ? std::string(" and has no room for these")
                                : "; of " + std::to_string(jobs.size()) + " jobs the first " + std::to_string(done) +
                                      " were pushed or are kept"));
  }
  std::move(jobs.begin() + static_cast<std::ptrdiff_t>(from), jobs.end(), std::back_inserter(waiting_));
}

void PushBuffer::refuse_waiting(std::size_t all, std::size_t pushed) {
  waiting_.clear();
  in_doubt_ = 0;
  perhaps_there_ = false;
  ++number_;
  throw RedisError(all == 1 ? refusal_
                            : refusal_ + "; of " + std::to_string(all) + " jobs the first " + std::to_string(pushed) +
                                  " were pushed");
}

void PushBuffer::push(ClientConnection& redis, std::vector<ClientPush> jobs) { push_or(Otherwise::keep, redis, jobs); }

std::optional<std::string> PushBuffer::push_unless_away(ClientConnection& redis, std::vector<ClientPush>& jobs) {
  if (push_or(Otherwise::give_back, redis, jobs)) return std::nullopt;
  return refusal_;
}

bool PushBuffer::push_or(Otherwise otherwise, ClientConnection& redis, std::vector<ClientPush>& jobs) {
  if (jobs.empty()) return true;
  if (steady_now() < rests_until_ || !push_waiting(redis)) {
    if (otherwise == Otherwise::keep) keep(jobs, 0, 0);
    return otherwise == Otherwise::keep;
  }
  const auto at = [&](std::size_t i) { return jobs.begin() + static_cast<std::ptrdiff_t>(i); };
  const std::size_t most = std::min(options_.max_jobs, max_jobs_pushed_once);  // so that each fits into the buffer
  for (std::size_t begin = 0; begin < jobs.size(); begin += most) {
    const std::size_t end = std::min(jobs.size(), begin + most);
    std::move(at(begin), at(end), std::back_inserter(waiting_));
    while (!waiting_.empty()) {
      const Sent sent = send_first_batch(redis);
      const bool has_none = begin == 0 && waiting_.size() == end && !perhaps_there_;
      if (otherwise == Otherwise::give_back && has_none && (sent == Sent::away || sent == Sent::shut_out)) {
        std::move(waiting_.begin(), waiting_.end(), jobs.begin());
        waiting_.clear();
        in_doubt_ = 0;
        return false;
      }
      if (sent == Sent::away) {
        keep(jobs, end, end);
        return true;
      }
      if (sent != Sent::pushed) refuse_waiting(jobs.size(), end - waiting_.size());
      drop_first_batch();
    }
  }
  return true;
}

bool PushBuffer::take_back(std::string_view jid) {
  const auto is_it = [&](const ClientPush& job) { return job.jid == jid; };
  const auto unsent = waiting_.begin() + static_cast<std::ptrdiff_t>(in_doubt_);
  if (const auto found = std::find_if(unsent, waiting_.end(), is_it); found != waiting_.end()) {
    waiting_.erase(found);
    return true;
  }
  return std::erase_if(refused_, is_it) > 0;
}

}  // namespace brood
