#include "worker/worker.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "shared/base/log.hpp"
#include "worker/guard/own_memory.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto quiet_wait = 1000ms;
constexpr auto look_for_beat_again = 100ms;
constexpr auto longest_unsettled = 50ms;  // of a success

}  // namespace

void Worker::run() {
  try {
    while (!orders_.supervisor_gone() && !orders_.told_to_stop() && !recycling_) {
      try {
        go_on();
      } catch (const ShardIsAway&) {
        if (leaving() != Leaving::goes_on) throw;
        session_.leave_behind();
        renew(ControlByte::left_behind);
      }
    }
    session_.retire(take_outcomes());
    if (recycling_)
      log::info("worker_recycled", {{"slot", place_.setup.slot},
                                    {"reason", name_of(*recycling_)},
                                    {"jobs", place_.age.jobs},
                                    {"rss", read_own_memory().resident_bytes}});
  } catch (const ToldToStop&) {
    log::warn("worker_leaves_jobs_to_recovery", {{"reason", "stopped while Redis was away"}});
  } catch (const ShardIsAway&) {
    // The scoreboard has the outcome of each job, for the recovery when that shard is back.  Another worker takes this
    // one's place in another shard.
    log::warn("worker_leaves_jobs_to_recovery",
              {{"shard", shard_.name()}, {"reason", "it is away, and others have jobs"}});
  }
  lifecycle_.shutdown();
  lifecycle_.exit();
  runner_.leave();
}

// One round: settles, fetches and performs jobs; or waits; or goes to another shard.
void Worker::go_on() {
  const bool quiet = orders_.told_to_quiet();
  const bool begins = !quiet && !waits_for_beat();
  if (begins) admission_.quarantined_jobs().look(steady_now(), fetcher_.paused_classes());
  if (!begins && outcomes_.empty()) give_back_unbegun();  // if there are outcomes, they are settled first
  if (!quiet && shard_.is_wanted_elsewhere()) return move();
  if (!begins && outcomes_.empty()) return stand_by(quiet);
  if (!fetch(begins)) return;
  lifecycle_.beat(shard_.redis().connections());
  if (session_.batch().entries.empty() && begins && !session_.has_more()) wait_for_job();
  perform_batch();
  log::flush();
}

void Worker::stand_by(bool quiet) {
  if (quiet) lifecycle_.quiet();
  lifecycle_.beat(shard_.redis().connections());
  // Looks at the flags once more: another wait may have read the byte that announced a change.
  if (orders_.told_to_quiet() == quiet && !orders_.told_to_stop())
    orders_.wait(quiet ? quiet_wait : look_for_beat_again);
}

// Settles and fetches.  Returns false if the worker has got a new incarnation: then this round is over.
bool Worker::fetch(bool begins) {
  const std::vector<Outcome> outcomes = take_outcomes();  // which may take long, with Redis away
  if (!fetcher_.draw() && leaves()) throw ShardIsAway{};  // without a further call, which would have to time out, too
  Session::Next next = fetcher_.settle_and_fetch(outcomes, begins);
  unsettled_ = false;
  if (next == Session::Next::held && begins && !session_.has_more()) next = fetcher_.fetch_from_rest();
  if (next == Session::Next::renewal) renew(ControlByte::need_incarnation);
  return next == Session::Next::held;
}

void Worker::wait_for_job() {
  const auto some_wait = [this] { return admission_.quarantined_jobs().some_wait(); };
  Session::Waited waited;
  do {
    waited = fetcher_.wait(some_wait());
    if (waited == Session::Waited::passed) lifecycle_.beat(shard_.redis().connections());
  } while (waited == Session::Waited::passed && !fetcher_.draw_is_old() && !some_wait());
  if (waited != Session::Waited::lost) return;
  if (shard_.is_wanted_elsewhere()) throw ShardIsAway{};
  session_.give_up();
}

// Decides about the jobs in order and runs those that may begin, up to the first that must be settled at once.
void Worker::perform_batch() {
  const Session::Batch& batch = session_.batch();
  const std::string home(home_of(shard_.caps(), batch.queue));
  const SteadyTime begun = steady_now();
  SteadyTime last = begun;
  std::chrono::nanoseconds longest{};
  int performed = 0;
  runner_.begin_batch(batch.entries.size());
  admission_.begin_batch(batch.queue, shard_.caps());
  for (std::size_t entry = 0; entry < batch.entries.size(); ++entry) {
    admission_.look_at_classes(
        fetcher_.paused_classes());  // which may ask Redis: before we look whether a job may begin
    if (!may_begin()) break;
    const std::optional<Ended> ended = perform(static_cast<int>(entry), batch.entries[entry], home);
    recycling_ = runner_.reason_to_recycle();
    if (!ended) break;
    if (*ended == Ended::waits_for_class) continue;
    ++performed;
    const SteadyTime now = steady_now();
    longest = std::max(longest, now - last);
    last = now;
    if (recycling_ || *ended == Ended::settles_at_once || now - begun >= longest_unsettled) break;
  }
  if (!outcomes_.empty()) runner_.end_batch();
  if (performed > 0) fetcher_.note_performed(performed, last - begun, longest);
}

// Decides about one job, carries that out and adds its outcome.  nullopt: there is no outcome, and no more jobs begin
// now.
std::optional<Worker::Ended> Worker::perform(int entry, const std::string& payload, const std::string& home) {
  Decision decision;
  std::optional<Outcome> outcome;
  try {
    decision = admission_.decide(payload);
    // To ask for its lock may have taken long, if Redis was away.
    if (decision.settles_at_once && !may_begin()) decision.kind = Decision::Kind::not_now;
    outcome = runner_.carry_out(decision, entry, admission_.job(), payload, home);
  } catch (const std::bad_alloc&) {
    runner_.begin_unread(entry);  // changes nothing if it has begun
    throw;
  }
  if (!outcome) {
    session_.let_go_of_taken();
    return std::nullopt;
  }
  outcomes_.push_back(std::move(*outcome));
  admission_.note(decision);
  if (decision.waits_for_class()) return Ended::waits_for_class;
  // A failed job whose outcome is not noted would be charged if the next job crashed.
  const EntryState state = slot_.entry(entry);
  const bool may_wait = state == EntryState::succeeded || state == EntryState::judged;
  return may_wait && !decision.settles_at_once ? Ended::well_enough : Ended::settles_at_once;
}

// Whether a job may begin now: the heartbeat may have grown old in the meantime.
bool Worker::may_begin() { return !orders_.told_to_quiet() && !orders_.beat_is_missed(); }

// Whether the worker must wait for a heartbeat: another host that sees none of our supervisor's is about to adopt our
// jobs, or has done so already.
bool Worker::waits_for_beat() {
  const bool waits = orders_.beat_is_missed();
  if (waits != std::exchange(said_waiting_for_beat_, waits)) {
    if (waits)
      log::warn("worker_waits_for_heartbeat", {{"slot", place_.setup.slot}});
    else
      log::info("worker_goes_on", {{"slot", place_.setup.slot}});
  }
  return waits;
}

// Gives back jobs that arrived while quiet was ordered, since quiet may last for hours.  (After a stop, retiring gives
// them back.)  They go to the head of their queue, newest first, so that the oldest is again the next to run.
void Worker::give_back_unbegun() {
  orders_.note_asking();
  session_.give_back_unbegun();
}

// Leaves this shard for one where jobs wait and no worker takes them.
void Worker::move() {
  if (!outcomes_.empty()) session_.next(take_outcomes(), {});
  unsettled_ = false;
  session_.leave();
  renew(ControlByte::need_incarnation);
}

// Gets a new incarnation from the supervisor, and from now on serves its shard.
void Worker::renew(ControlByte byte) {
  const std::uint64_t incarnation = orders_.ask_for_incarnation(byte);
  if (shard_.follow_incarnation()) {
    fetcher_.forget_shard();
    admission_.forget_shard();
    runner_.services().forget_shard();
  }
  session_.begin(incarnation);
}

// How the worker may leave its shard while that Redis is away.  It has something to settle if outcomes are under way,
// or wait in a batch that is performed in part.  It may not leave while only it has the state of an iterable job.
Leaving Worker::leaving() {
  if (saves_iterations_ && runner_.services().has_unsaved_iteration()) return Leaving::not_yet;
  return how_to_leave(slot_, unsettled_ || !outcomes_.empty());
}
bool Worker::leaves() { return shard_.is_wanted_elsewhere() && leaving() != Leaving::not_yet; }

// Waits while Redis is away.  A worker with nothing to settle may leave at once.  Another one goes on trying until the
// supervisor's patience ends; then the scoreboard has the outcomes that it could not settle.
void Worker::pause(std::chrono::milliseconds length) {
  log::flush();
  if (!orders_.told_to_stop() && shard_.is_one_of_several()) {
    if (!leaves()) orders_.pause(length);
    if (leaves()) throw ShardIsAway{};
    return;
  }
  if (!orders_.told_to_stop()) return orders_.pause(length);
  if (!unsettled_) throw ToldToStop{};
  orders_.wait(length);
}

// Takes the outcomes to send them to Redis.  From now on they count as unsettled: their jobs have run.
std::vector<Outcome> Worker::take_outcomes() {
  unsettled_ = !outcomes_.empty();
  std::vector<Outcome> outcomes = std::exchange(outcomes_, {});
  saves_iterations_ = true;
  runner_.services().save_iterations([this](std::chrono::milliseconds length) { pause(length); });
  saves_iterations_ = false;
  return outcomes;
}

}  // namespace brood
