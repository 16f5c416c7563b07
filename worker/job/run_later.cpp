#include "worker/job/run_later.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "shared/job/expiry.hpp"
#include "shared/json/json.hpp"
#include "worker/job/put_off.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

// A job that interrupts itself sooner than this would spin between queue and worker: it waits in `schedule` first.
constexpr auto shortest_run_before_requeue = 1s;

constexpr std::chrono::nanoseconds next_turn = 1s;
constexpr std::chrono::nanoseconds longest_until_turn = 10s;

// Whoever runs ends soon.  One that holds its lock over retries may take days: who waits for that asks ever more
// seldom.
std::chrono::nanoseconds until_next_turn(const Payload& job, WallTime now) {
  const auto created = job.time("created_at");
  if (job.string("unique_until") == "running" || !created) return next_turn;
  return std::clamp<std::chrono::nanoseconds>((now - *created) / 10, next_turn, longest_until_turn);
}

// In a set nothing but the payload tells the queue.
void name_queue(std::vector<Payload::Edit>& edits, const std::string& queue, const Payload& job) {
  if (job.string("queue") != queue) edits.push_back({"queue", json_string(queue)});
}

// Who takes it out of the schedule begins the clock of `expires_in` where no `expiry` is written.
void keep_expiry(std::vector<Payload::Edit>& edits, const Payload& job) {
  if (auto expiry = kept_expiry(job)) edits.push_back(*std::move(expiry));
}

std::string enqueued_anew(const Payload& job, WallTime now, std::vector<Payload::Edit> edits) {
  edits.push_back({"enqueued_at", json_time(now, job.time_unit())});
  keep_expiry(edits, job);
  return job.with(edits).text();
}

// Empty, where nothing changes.
std::string unless_unchanged(const Payload& job, const std::vector<Payload::Edit>& edits) {
  return edits.empty() ? "" : job.with(edits).text();
}

}  // namespace

Outcome go_on_later(const Payload& job, const std::string& queue, WallTime now, std::chrono::nanoseconds ran_for,
                    std::chrono::milliseconds delay) {
  if (delay == 0ms && ran_for < shortest_run_before_requeue) delay = shortest_run_before_requeue;
  if (delay == 0ms) return {Outcome::Kind::requeue_back, enqueued_anew(job, now, {}), 0};
  std::vector<Payload::Edit> edits;
  name_queue(edits, queue, job);
  return {Outcome::Kind::schedule, enqueued_anew(job, now, std::move(edits)), epoch_seconds(now + delay)};
}

Outcome try_after_limit(const Payload& job, const std::string& queue, WallTime now, std::chrono::milliseconds delay) {
  std::vector<Payload::Edit> edits = put_off_once_more(job);
  name_queue(edits, queue, job);
  return {Outcome::Kind::schedule, enqueued_anew(job, now, std::move(edits)), epoch_seconds(now + delay)};
}

Outcome wait_for_turn(const Payload& job, const std::string& queue, WallTime now) {
  std::vector<Payload::Edit> edits;
  name_queue(edits, queue, job);
  keep_expiry(edits, job);
  return {Outcome::Kind::schedule, unless_unchanged(job, edits), epoch_seconds(now + until_next_turn(job, now))};
}

Outcome wait_for_release(const Payload& job, const std::string& queue, WallTime now) {
  std::vector<Payload::Edit> edits;
  name_queue(edits, queue, job);
  return {Outcome::Kind::park, unless_unchanged(job, edits), epoch_seconds(now)};
}

}  // namespace brood
