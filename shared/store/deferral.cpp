#include "shared/store/deferral.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "shared/job/expiry.hpp"
#include "shared/json/json.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;
using Why = Deferral::Why;

constexpr auto shortest_run_before_requeue = 1s;
constexpr std::chrono::nanoseconds next_turn = 1s;
constexpr std::chrono::nanoseconds longest_until_turn = 10s;

// A lock of a running job is soon free.  A lock that is kept over retries may last for days: the longer a job has
// waited for it, the less often the job asks.
std::chrono::nanoseconds until_next_turn(const Payload& job, WallTime now) {
  const auto created = job.time("created_at");
  if (job.string("unique_until") == "running" || !created) return next_turn;
  return std::clamp<std::chrono::nanoseconds>((now - *created) / 10, next_turn, longest_until_turn);
}

Outcome::Kind place_of(const Deferral& deferral) {
  switch (deferral.why) {
    case Why::cap:
      return Outcome::Kind::beside;
    case Why::quarantine:
    case Why::pause:
      return Outcome::Kind::quarantine;
    case Why::sequence:
    case Why::behind:
      return Outcome::Kind::requeue_head;
    case Why::interrupted:
      return deferral.delay == 0ms ? Outcome::Kind::requeue_back : Outcome::Kind::schedule;
    case Why::lock:
    case Why::limit:
      break;
  }
  return Outcome::Kind::schedule;
}

}  // namespace

Deferral Deferral::interrupted(std::chrono::nanoseconds ran_for, std::chrono::milliseconds delay) {
  if (delay == 0ms && ran_for < shortest_run_before_requeue) delay = shortest_run_before_requeue;
  return {.why = Why::interrupted, .delay = delay};
}

Outcome defer(const Payload& job, const Deferral& deferral, const std::string& queue, WallTime now) {
  Outcome::Kind place = place_of(deferral);
  // The fetch could have let this job enter its sequence and did not.  So the job waits in the schedule: at the head of
  // its queue it would be fetched again at once.
  const bool comes_later = deferral.why == Why::sequence && job.string("queue") == queue;
  if (comes_later) place = Outcome::Kind::schedule;
  if (place == Outcome::Kind::beside) return {place, "", 0, deferral.into};

  std::vector<Payload::Edit> edits;
  if (deferral.why == Why::limit) edits.push_back({"overrated", std::to_string(times_over_limit(job) + 1)});
  // A job that waits in a set or for its sequence has only its payload to name its queue.
  if (place != Outcome::Kind::requeue_back && job.string("queue") != queue)
    edits.push_back({"queue", json_string(queue)});
  const bool has_run = deferral.why == Why::limit || deferral.why == Why::interrupted;
  if (has_run) edits.push_back({"enqueued_at", json_time(now, job.time_unit())});
  if (place != Outcome::Kind::quarantine) {
    if (auto expiry = kept_expiry(job)) edits.push_back(*std::move(expiry));
  }

  Outcome outcome{place, edits.empty() ? "" : job.with(edits).text(), 0};
  outcome.lets_lock_go_first = deferral.why == Why::behind;
  if (place == Outcome::Kind::quarantine) outcome.score = epoch_seconds(now);
  if (place == Outcome::Kind::schedule)
    outcome.score = epoch_seconds(now + (deferral.why == Why::lock ? until_next_turn(job, now)
                                         : comes_later             ? next_turn
                                                                   : std::chrono::nanoseconds(deferral.delay)));
  return outcome;
}

std::int64_t times_over_limit(const Payload& job) {
  return std::clamp<std::int64_t>(job.integer("overrated").value_or(0), 0, most_deferrals);
}

std::optional<Payload> without_times_over_limit(const Payload& job) {
  if (!job.raw("overrated")) return std::nullopt;
  return job.with({{"overrated", std::nullopt}});
}

}  // namespace brood
