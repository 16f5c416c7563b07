#include "supervisor/queues/doorbell.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "shared/config/tenants.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/in_flight/caps.hpp"
#include "shared/store/queues/queue_sizes.hpp"

namespace brood {

using namespace std::chrono_literals;
using Result = AsyncConnection::Result;

namespace {

constexpr auto look_interval = 100ms;
constexpr int share_of_looks = 50;  // the pause between two looks is at least this many times as long as the first took
constexpr std::chrono::nanoseconds longest_between_looks = 5s;  // a Redis that was slow may have recovered
// Each look wakes the supervisor, which costs more than the look itself: some 60 us.
constexpr auto calm_look_interval = 250ms;  // when nothing has changed for a while
constexpr auto a_while = 10s;
constexpr auto rare_look_interval = 1s;  // if each worker waits on its only queue

constexpr auto connection_kept = 60s;  // after its last use
constexpr auto peek_again_after = 10s;
constexpr auto between_reports = 60s;

}  // namespace

Doorbell::Doorbell(EventLoop& loop, AsyncConnection& redis, QueueWorkers& workers)
    : loop_(loop), redis_(redis), workers_(workers), next_(loop, [this] { tick(); }), watch_(workers) {}

// Earlier peeks may wait at a server that is gone, or have ended with a stop: begins without any.
void Doorbell::listen() {
  listening_ = true;
  redis_has_moved();
  tick();
}

void Doorbell::look() {
  told_at_ = changed_at_ = steady_now();
  tick();
}

void Doorbell::set_capsules(std::vector<CapsuleSettings> capsules) {
  plan_.set_capsules(std::move(capsules));
  watch_.forget();
  replan();
}

void Doorbell::know(const KnownQueues& known) {
  plan_.know(known);
  replan();
}

void Doorbell::rely_on_reports(AsyncConnection* reader) {
  reader_ = reader;
  forget_what_is_empty();
  replan();
}

// The answer to a look under way is outdated too, and may never come.
void Doorbell::forget_what_is_empty() {
  plan_.notes.forget_empty();
  looking_ = false;
  ++looks_begun_;
}

void Doorbell::note_changes(const std::vector<std::string>& queues) {
  bool is_news = queues.empty();
  if (is_news) forget_what_is_empty();
  for (const std::string& queue : queues) is_news |= plan_.notes.note_change(queue);
  if (!is_news || !listening_) return;
  plan_is_carried_out_ = false;
  next_.start_in(std::max<std::chrono::nanoseconds>(next_look_ - steady_now(), 0ns));
}

void Doorbell::stop() {
  listening_ = false;
  next_.stop();
  peeks_.clear();
}

void Doorbell::redis_has_moved() {
  peeks_.clear();
  plan_.refuse_peeks_until({});
  plan_.clear();
  watch_.forget();
  plan_is_carried_out_ = false;
  next_look_ = {};
}

int Doorbell::connections() const { return static_cast<int>(peeks_.size()); }

// ---- The rhythm

void Doorbell::tick() {
  if (!listening_) return;
  const SteadyTime now = steady_now();
  if (!redis_.connected()) {
    // Redis may return at another address.
    redis_has_moved();
    return next_.start_in(look_interval);
  }
  const bool changed = watch_.changed() || workers_.capsules_to_call() != to_call_ || !plan_is_carried_out_;
  if (changed) changed_at_ = now;
  if (changed)
    replan();
  else
    set_timer(now);
}

void Doorbell::replan() {
  if (!listening_ || !redis_.connected()) return;
  const SteadyTime now = steady_now();
  if (workers_.may_unblock()) {
    for (const OccupiedSlot& slot : workers_.fetching_slots()) slot.record->waits_outside.store(0);
  }
  const std::vector<IdleWorker> idle = watch_.look();
  to_call_ = workers_.capsules_to_call();
  plan_.make(idle, to_call_, now);
  carry_out(idle, now);
  drop_unneeded(now);
  set_timer(now);
}

void Doorbell::carry_out(const std::vector<IdleWorker>& idle, SteadyTime now) {
  std::vector<std::string> without_doorbell;
  bool all_peek = true;
  for (const std::string& queue : plan_.doorbells()) {
    if (now < plan_.notes.rests_until(queue))
      all_peek = false;
    else if (!keep_peeking(queue, idle, now))
      without_doorbell.push_back(queue);
  }
  const std::vector<std::string> to_look_at = plan_.to_look_at(std::move(without_doorbell));
  looks_ = !to_look_at.empty();
  if (looks_ && !looking_ && now >= next_look_) look_at(to_look_at);
  plan_is_carried_out_ = all_peek && !looks_ && plan_.notes.no_lists().empty();
}

std::chrono::milliseconds Doorbell::interval(SteadyTime now) const {
  const bool others_may_come = workers_.others_may_come();
  // By now workers would have reported it if Redis did not let them wait there.
  if (plan_.nothing_can_be_missed() && now - told_at_ >= a_while && !others_may_come) return rare_look_interval;
  return plan_is_carried_out_ && !(others_may_come && workers_.somebody_is_busy()) && now - changed_at_ >= a_while
             ? calm_look_interval
             : look_interval;
}

void Doorbell::set_timer(SteadyTime now) {
  SteadyTime at = now + interval(now);
  for (const std::string& queue : plan_.doorbells()) {
    if (const SteadyTime rested = plan_.notes.rests_until(queue); rested > now) at = std::min(at, rested);
  }
  if (looks_ && next_look_ > now) at = std::min(at, next_look_);
  next_.start_in(at - now);
}

// Returns false if no worker can be woken.
bool Doorbell::wake_one(const std::string& queue) {
  const std::vector<IdleWorker> idle = watch_.look();
  plan_is_carried_out_ = false;
  const auto slot = plan_.worker_to_free(queue, idle);
  if (!slot) return call_one(queue, idle);
  watch_.freed(*slot);
  for (const OccupiedSlot& occupied : workers_.fetching_slots()) {
    if (occupied.slot != *slot) continue;
    note_rung_for(*occupied.record, queue);
    const bool waits_in_redis = occupied.record->waiting_client.load() != 0;
    if (waits_in_redis && workers_.may_unblock()) {
      workers_.unblock(*occupied.record);
    } else {
      // The worker gives up its wait in Redis.  This costs it a quarter of a second and its incarnation, but only once.
      if (waits_in_redis) occupied.record->waits_outside.store(1);
      workers_.wake(*slot);
    }
  }
  return true;
}

// Calls no worker if one waits on this very queue: that worker has the job already.
bool Doorbell::call_one(const std::string& queue, const std::vector<IdleWorker>& idle) {
  if (std::any_of(idle.begin(), idle.end(), [&](const IdleWorker& worker) { return worker.waits_on == queue; }))
    return false;
  return workers_.call(plan_.capsules_of(queue));
}

// ---- Peeks

// Returns false if this queue has no doorbell now and must be looked at.
bool Doorbell::keep_peeking(const std::string& queue, const std::vector<IdleWorker>& idle, SteadyTime now) {
  QueuePeek* free = nullptr;
  for (const auto& peek : peeks_) {
    if (peek->under_way() && peek->queue() == queue) {
      peek->needed = now;
      return true;
    }
    if (!peek->under_way() && (!free || !free->connected())) free = peek.get();
  }
  if (!free) {
    if (peeks_.size() >= most_doorbells) return false;
    free = peeks_
               .emplace_back(std::make_unique<QueuePeek>(
                   loop_, redis_.connection().address(),
                   QueuePeek::Events{.connected = [this] { replan(); },
                                     .answered = [this](QueuePeek& peek,
                                                        const QueuePeek::Answer& answer) { answered(peek, answer); }}))
               .get();
  }
  free->needed = now;
  if (!free->connected()) return false;
  const QueuePeek::Candidate candidate = candidate_for(queue, idle);
  for (const OccupiedSlot& occupied : workers_.fetching_slots()) {
    if (occupied.slot == candidate.slot) note_rung_for(*occupied.record, queue);
  }
  free->begin(queue, candidate);
  return true;
}

// Prefers a worker that no other peek is about to free.
QueuePeek::Candidate Doorbell::candidate_for(const std::string& queue, const std::vector<IdleWorker>& idle) const {
  if (!workers_.may_unblock()) return {};
  std::vector<IdleWorker> others = idle;
  std::erase_if(others, [&](const IdleWorker& worker) {
    return std::any_of(peeks_.begin(), peeks_.end(),
                       [&](const auto& peek) { return peek->under_way() && peek->candidate().slot == worker.slot; });
  });
  auto slot = plan_.worker_to_free(queue, others);
  if (!slot) slot = plan_.worker_to_free(queue, idle);
  for (const IdleWorker& worker : idle) {
    if (slot == worker.slot) return {worker.slot, worker.client};
  }
  return {};
}

void Doorbell::answered(QueuePeek& peek, const QueuePeek::Answer& answer) {
  plan_is_carried_out_ = false;  // what ended this peek may also delay the next plan
  if (!listening_) return;
  const SteadyTime now = steady_now();
  if (!answer.job.empty()) {
    plan_.notes.note_ring(peek.queue(), answer.job, now);
    if (answer.freed)
      watch_.freed(peek.candidate().slot);
    else
      wake_one(peek.queue());
  } else {
    plan_.notes.note_no_job(peek.queue());
    // A lost connection reopens by itself.
    if (!answer.refusal.empty()) refused(peek.queue(), answer.refusal, now);
  }
  replan();
}

void Doorbell::refused(std::string queue, const std::string& why, SteadyTime now) {
  if (classify_error(why) == ErrorKind::other && why.starts_with("WRONGTYPE"))
    return leave_out({std::move(queue)}, now);
  plan_.refuse_peeks_until(now + peek_again_after);
  if (classify_error(why) == ErrorKind::not_applied_reconnect) peeks_.clear();
  if (refusal_reported_ != SteadyTime{} && now - refusal_reported_ < between_reports) return;
  refusal_reported_ = now;
  log::warn("doorbell_refused", {{"reason", why}, {"hint", "queues that no worker waits on are looked at instead"}});
}

void Doorbell::leave_out(const std::vector<std::string>& found, SteadyTime now) {
  if (found.empty()) return;
  plan_.notes.note_no_lists(found, now);
  if (no_lists_reported_ != SteadyTime{} && now - no_lists_reported_ < between_reports) return;
  no_lists_reported_ = now;
  log::warn("queues_are_no_lists", {{"queues", fmt::format("{}", fmt::join(plan_.notes.no_lists(), " "))}});
}

void Doorbell::drop_unneeded(SteadyTime now) {
  for (const auto& peek : peeks_) {
    if (peek->under_way() && plan_.has_doorbell(peek->queue())) peek->needed = now;
  }
  std::erase_if(peeks_, [&](const auto& peek) { return now - peek->needed >= connection_kept; });
}

// ---- Looks

void Doorbell::look_at(const std::vector<std::string>& wanted) {
  std::vector<std::string> uncapped, capped;
  for (const std::string& queue : wanted) (plan_.is_capped(queue) ? capped : uncapped).push_back(queue);
  const std::vector<std::vector<std::string>> asked = slices_to_size(uncapped);
  std::vector<ScriptCall> calls;
  for (const std::vector<std::string>& slice : asked) calls.push_back(queue_sizes(slice));
  if (!capped.empty()) calls.push_back(free_places(capped, plan_.caps()));
  looking_ = true;
  plan_.notes.begin_look();
  const SteadyTime begun = steady_now();
  (reader_ ? *reader_ : redis_.connection())
      .run_all(std::move(calls), longest_answer_time,
               redis_.guard([this, asked, capped, begun, look = ++looks_begun_](const std::vector<Result>& results) {
                 if (look != looks_begun_) return;
                 looking_ = false;
                 // So that thousands of queues keep neither Redis nor us busy.
                 const SteadyTime now = steady_now();
                 next_look_ = now + std::clamp<std::chrono::nanoseconds>((share_of_looks - 1) * (now - begun),
                                                                         look_interval, longest_between_looks);
                 if (!listening_) return;
                 read_look(asked, results);
                 if (!capped.empty() && results.size() > asked.size()) read_places(capped, results.back());
                 replan();
               }));
}

void Doorbell::read_look(const std::vector<std::vector<std::string>>& asked, const std::vector<Result>& results) {
  std::vector<std::string> found_no_lists;
  for (std::size_t i = 0; i < asked.size() && i < results.size(); ++i) {
    if (!results[i].ok()) continue;  // the next look asks again
    const QueueSizes sizes = read_queue_sizes(asked[i], results[i].reply.view());
    note_empty(asked[i], sizes);
    for (const QueueSizes::Filled& filled : sizes.filled) {
      for (std::int64_t job = 0; job < filled.jobs && wake_one(filled.queue); ++job) continue;
    }
    found_no_lists.insert(found_no_lists.end(), sizes.no_lists.begin(), sizes.no_lists.end());
  }
  leave_out(found_no_lists, steady_now());
}

// Does not note empty capped queues: whether their jobs may be taken depends on other keys too.  Nor does it note some
// of a base's tenants, "images~b*": their changes are reported as changes of "images~*".
void Doorbell::note_empty(const std::vector<std::string>& asked, const QueueSizes& sizes) {
  if (!reader_) return;
  std::unordered_set<std::string> others(sizes.no_lists.begin(), sizes.no_lists.end());
  for (const std::string& queue : asked) {
    if (is_tenants(queue) && queue != all_tenants_of(base_of_tenants(queue))) others.insert(queue);
  }
  for (const QueueSizes::Filled& filled : sizes.filled) others.insert(filled.queue);
  plan_.notes.note_empty(asked, others);
}

void Doorbell::read_places(const std::vector<std::string>& asked, const Result& result) {
  if (!result.ok()) return;
  const std::vector<std::int64_t> free = read_free_places(result.reply.view());
  for (std::size_t i = 0; i < free.size() && i < asked.size(); ++i) {
    for (std::int64_t job = 0; job < free[i] && wake_one(asked[i]); ++job) continue;
  }
}

}  // namespace brood
