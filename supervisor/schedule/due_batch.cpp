#include "supervisor/schedule/due_batch.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "shared/base/plain_number.hpp"
#include "shared/job/due_job.hpp"
#include "shared/redis/size_refusals.hpp"
#include "shared/store/sets/due_jobs.hpp"
#include "shared/store/sets/job_sets.hpp"

namespace brood {

namespace {

// A larger member is moved unchanged, inside Redis.  Reading it, and sending it twice, as member and as payload, would
// hold up the loop.
constexpr std::size_t largest_read = 16 << 20;
constexpr std::size_t framing_bytes = 100;  // for one job, with its score and its share of the queues' names
constexpr double latest_time = 9e9;         // the latest that a clock of nanoseconds can hold

WallTime time_of(std::string_view score) {
  const double seconds = leading_number<double>(score);
  if (!(seconds > 0)) return WallTime{};
  return WallTime(std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(std::min(seconds, latest_time))));
}

}  // namespace

void DueBatch::Moves::add(ScriptCall call) {
  scripts.push_back(call.script);
  commands.push_back(std::move(call).command());
}

DueBatch::DueBatch(DueEntries members, WallTime now, TimeUnit times, Leaves leaves, std::size_t refused_bytes)
    : members_(std::move(members)),
      now_(now),
      times_(times),
      leaves_(std::move(leaves)),
      refused_bytes_(refused_bytes),
      size_(members_.size()) {}

void DueBatch::prepare(std::string_view set_key, const DeadLimits& dead_limits, std::mt19937_64& random) {
  for (std::size_t bytes = 0; !prepared() && bytes < turn_bytes; ++next_) {
    const auto [member, score] = members_[next_];
    if (member.size() > largest_read) {
      if (!scan_) scan_.emplace("queue");
      if (!scan_->go_on(member, turn_bytes)) return;
      prepare_scanned(member, score, set_key, dead_limits);
      scan_.reset();
      bytes += turn_bytes;
    } else {
      bytes += member.size();
      prepare_one(member, score, set_key, dead_limits, random);
    }
    bytes_ += member.size();
  }
  if (!prepared()) return;
  move_jobs(set_key);
  members_ = DueEntries();
}

void DueBatch::prepare_one(std::string_view member, std::string_view score, std::string_view set_key,
                           const DeadLimits& limits, std::mt19937_64& random) {
  const ExpiryClock clock =
      set_key == scheduled_set ? ExpiryClock{ExpiryClock::Kind::begins, time_of(score)} : ExpiryClock{};
  RewrittenJob job = prepare_due_job(member, now_, random, times_, RetryCount::as_it_is, clock);
  const bool is_refused = member.size() >= refused_bytes_;
  if (job.queue.empty()) {
    if (reason_for_dead_.empty()) reason_for_dead_ = job.reason;
    if (is_refused) return move_one_as_it_is(member, score, set_key, "", limits);
    moves_.largest_member = std::max(moves_.largest_member, member.size());
    return moves_.add(move_due_to_dead(set_key, std::string(member), std::string(score), job.payload, now_, limits));
  }
  if (leaves_ && leaves_(job.queue, time_of(score))) {
    ++left_;
    return;
  }
  if (is_refused) return move_one_as_it_is(member, score, set_key, job.queue, limits);
  // A command is too large only if a single job is.
  const std::size_t bytes = member.size() + job.payload.size() + framing_bytes;
  if (job_bytes_ + bytes > bytes_always_taken) move_jobs(set_key);
  jobs_.push_back({member, score, std::move(job.queue), std::move(job.payload)});
  job_bytes_ += bytes;
  moves_.largest_member = std::max(moves_.largest_member, member.size());
  if (jobs_.size() == max_jobs_moved) move_jobs(set_key);
}

// As prepare_one(), for a member of which only the queue was read.
void DueBatch::prepare_scanned(std::string_view member, std::string_view score, std::string_view set_key,
                               const DeadLimits& limits) {
  const std::string queue = scan_->has_member() ? scan_->string().value_or("") : "default";
  if (queue.empty() || !scan_->is_object()) {
    if (reason_for_dead_.empty()) reason_for_dead_ = "it is no job, or its queue is not a name";
    return move_one_as_it_is(member, score, set_key, "", limits);
  }
  if (leaves_ && leaves_(queue, time_of(score))) {
    ++left_;
    return;
  }
  move_one_as_it_is(member, score, set_key, queue, limits);
}

void DueBatch::move_one_as_it_is(std::string_view member, std::string_view score, std::string_view set_key,
                                 const std::string& queue, const DeadLimits& limits) {
  moves_.add(queue.empty() ? move_due_to_dead_as_it_is(set_key, member, score, now_, limits)
                           : move_due_as_it_is(set_key, member, score, queue));
}

void DueBatch::move_jobs(std::string_view set_key) {
  if (jobs_.empty()) return;
  moves_.add(move_due(set_key, std::exchange(jobs_, {})));
  job_bytes_ = 0;
}

}  // namespace brood
