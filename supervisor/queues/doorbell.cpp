#include "supervisor/queues/doorbell.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "shared/redis/answer_time.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/queue_sizes.hpp"
#include "supervisor/queues/doorbell_plan.hpp"
#include "supervisor/queues/idle_watch.hpp"
#include "supervisor/queues/queue_backoff.hpp"
#include "supervisor/queues/queue_peek.hpp"
#include "supervisor/redis/send_scripts.hpp"

namespace brood {

using namespace std::chrono_literals;
using Result = AsyncConnection::Result;

namespace {

constexpr auto look_interval = 100ms;
constexpr int share_of_looks = 10;  // the time from one to the next is at least so many times what the first took
// Each look wakes the supervisor, which costs more than the look itself: some 60 us.
constexpr auto calm_look_interval = 250ms;  // when nothing has changed for a while
constexpr auto a_while = 10s;
constexpr auto rare_look_interval = 1s;  // where each worker waits on the only queue that it has

constexpr auto connection_kept = 60s;  // when nobody needs it
constexpr auto peek_again_after = 10s;
constexpr auto look_at_type_again_after = 60s;
constexpr auto between_reports = 60s;

// By weight, where there are any; then as listed.
std::vector<std::string> by_priority(const QueueOrder& order) {
  std::vector<std::string> names = order.names();
  std::map<std::string, int> weights = order.weights();
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) { return weights[a] > weights[b]; });
  return names;
}

}  // namespace

// Callbacks on the supervisor's own connection hold it weakly: an answer that comes after the end finds nobody.  Those
// on the doorbells' connections end with them.
struct Doorbell::State : std::enable_shared_from_this<State> {
  State(EventLoop& event_loop, AsyncConnection& connection, QueueWorkers& all)
      : loop(event_loop), redis(connection), workers(all), next(loop, [this] { tick(); }), watch(workers) {}

  EventLoop& loop;
  AsyncConnection& redis;
  QueueWorkers& workers;
  Timer next;
  bool listening = false;

  std::vector<CapsuleSettings> capsules;
  KnownQueues known;
  CapsuleQueues queues;
  bool has_a_choice = false;  // some capsule has more than one

  IdleWatch watch;
  DoorbellPlan plan;
  bool plan_is_carried_out = false;
  SteadyTime changed_at{};

  std::vector<std::unique_ptr<QueuePeek>> peeks;
  QueueBackoff backoff;
  std::set<std::string> no_lists;
  SteadyTime no_lists_until{}, no_lists_reported{};
  SteadyTime peeks_refused_until{}, refusal_reported{};
  bool looks = false;  // some queue must be looked at
  bool looking = false;
  SteadyTime next_look{};

  void read_capsules();
  void tick();
  void replan();
  void carry_out(const std::vector<IdleWorker>& idle, SteadyTime now);
  std::chrono::milliseconds interval(SteadyTime now) const;
  void set_timer(SteadyTime now);
  bool wake_one(const std::string& queue);

  bool keep_peeking(const std::string& queue, const std::vector<IdleWorker>& idle, SteadyTime now);
  QueuePeek::Candidate candidate_for(const std::string& queue, const std::vector<IdleWorker>& idle) const;
  void answered(QueuePeek& peek, const QueuePeek::Answer& answer);
  void refused(std::string queue, const std::string& why, SteadyTime now);
  void leave_out(const std::vector<std::string>& found, SteadyTime now);
  void drop_unneeded(SteadyTime now);

  void look_at(const std::vector<std::string>& wanted);
  void read_look(const std::vector<std::vector<std::string>>& asked, const std::vector<Result>& results);
};

void Doorbell::State::read_capsules() {
  queues.clear();
  has_a_choice = false;
  for (const CapsuleSettings& capsule : capsules) {
    has_a_choice |= capsule.follows_all_queues || capsule.queues.names().size() > 1;
    queues.push_back(expand_queues(by_priority(capsule.queues), known));
  }
}

// ---- The rhythm

void Doorbell::State::tick() {
  if (!listening) return;
  const SteadyTime now = steady_now();
  if (!redis.connected()) {
    // Redis may come back elsewhere.
    peeks.clear();
    watch.forget();
    plan = {};
    return next.start_in(look_interval);
  }
  const bool changed = watch.changed() || !plan_is_carried_out;
  if (changed) changed_at = now;
  if (changed)
    replan();
  else
    set_timer(now);
}

void Doorbell::State::replan() {
  if (!listening || !redis.connected()) return;
  const SteadyTime now = steady_now();
  if (workers.may_unblock()) {
    for (const OccupiedSlot& slot : workers.fetching_slots()) slot.record->waits_outside.store(0);
  }
  const std::vector<IdleWorker> idle = watch.look();
  if (now >= no_lists_until) no_lists.clear();
  plan = plan_doorbells(queues, idle, no_lists, now < peeks_refused_until ? 0 : most_doorbells);
  carry_out(idle, now);
  drop_unneeded(now);
  set_timer(now);
}

void Doorbell::State::carry_out(const std::vector<IdleWorker>& idle, SteadyTime now) {
  std::vector<std::string> to_look_at;
  bool all_peek = true;
  for (const std::string& queue : plan.doorbells) {
    if (now < backoff.until(queue))
      all_peek = false;
    else if (!keep_peeking(queue, idle, now))
      to_look_at.push_back(queue);
  }
  to_look_at.insert(to_look_at.end(), plan.looked_at.begin(), plan.looked_at.end());
  looks = !to_look_at.empty();
  if (looks && !looking && now >= next_look) look_at(to_look_at);
  plan_is_carried_out = all_peek && !looks && no_lists.empty();
}

std::chrono::milliseconds Doorbell::State::interval(SteadyTime now) const {
  if (!has_a_choice && plan.doorbells.empty() && plan.looked_at.empty()) return rare_look_interval;
  return plan_is_carried_out && now - changed_at >= a_while ? calm_look_interval : look_interval;
}

void Doorbell::State::set_timer(SteadyTime now) {
  SteadyTime at = now + interval(now);
  for (const std::string& queue : plan.doorbells) {
    if (const SteadyTime rested = backoff.until(queue); rested > now) at = std::min(at, rested);
  }
  if (looks && next_look > now) at = std::min(at, next_look);
  next.start_in(at - now);
}

// False: nobody can be.
bool Doorbell::State::wake_one(const std::string& queue) {
  const std::vector<IdleWorker> idle = watch.look();
  plan_is_carried_out = false;
  const auto slot = worker_to_free(queue, queues, idle);
  if (!slot) return false;
  watch.freed(*slot);
  for (const OccupiedSlot& occupied : workers.fetching_slots()) {
    if (occupied.slot != *slot) continue;
    const bool waits_in_redis = occupied.record->waiting_client.load() != 0;
    if (waits_in_redis && workers.may_unblock()) {
      workers.unblock(*occupied.record);
    } else {
      // It gives its wait up, which costs it a quarter of a second and an incarnation: once.
      if (waits_in_redis) occupied.record->waits_outside.store(1);
      workers.wake(*slot);
    }
  }
  return true;
}

// ---- Peeks

// False when this queue has no doorbell now and must be looked at.
bool Doorbell::State::keep_peeking(const std::string& queue, const std::vector<IdleWorker>& idle, SteadyTime now) {
  QueuePeek* free = nullptr;
  for (const auto& peek : peeks) {
    if (peek->under_way() && peek->queue() == queue) {
      peek->needed = now;
      return true;
    }
    if (!peek->under_way() && (!free || !free->connected())) free = peek.get();
  }
  if (!free) {
    if (peeks.size() >= most_doorbells) return false;
    free = peeks
               .emplace_back(std::make_unique<QueuePeek>(
                   loop, redis.address(),
                   QueuePeek::Events{.connected = [this] { replan(); },
                                     .answered = [this](QueuePeek& peek,
                                                        const QueuePeek::Answer& answer) { answered(peek, answer); }}))
               .get();
  }
  free->needed = now;
  if (!free->connected()) return false;
  free->begin(queue, candidate_for(queue, idle));
  return true;
}

// Rather somebody whom no other peek is to free.
QueuePeek::Candidate Doorbell::State::candidate_for(const std::string& queue,
                                                    const std::vector<IdleWorker>& idle) const {
  if (!workers.may_unblock()) return {};
  std::vector<IdleWorker> others = idle;
  std::erase_if(others, [&](const IdleWorker& worker) {
    return std::any_of(peeks.begin(), peeks.end(),
                       [&](const auto& peek) { return peek->under_way() && peek->candidate().slot == worker.slot; });
  });
  auto slot = worker_to_free(queue, queues, others);
  if (!slot) slot = worker_to_free(queue, queues, idle);
  for (const IdleWorker& worker : idle) {
    if (slot == worker.slot) return {worker.slot, worker.client};
  }
  return {};
}

void Doorbell::State::answered(QueuePeek& peek, const QueuePeek::Answer& answer) {
  if (!listening) return;
  const SteadyTime now = steady_now();
  if (!answer.job.empty()) {
    backoff.rang(peek.queue(), answer.job, now);
    if (answer.freed)
      watch.freed(peek.candidate().slot);
    else
      wake_one(peek.queue());
    plan_is_carried_out = false;
  } else {
    backoff.found_empty(peek.queue());
    // A lost connection is opened anew by itself.
    if (!answer.refusal.empty()) refused(peek.queue(), answer.refusal, now);
  }
  replan();
}

void Doorbell::State::refused(std::string queue, const std::string& why, SteadyTime now) {
  if (classify_error(why) == ErrorKind::other && why.starts_with("WRONGTYPE"))
    return leave_out({std::move(queue)}, now);
  peeks_refused_until = now + peek_again_after;
  if (classify_error(why) == ErrorKind::not_applied_reconnect) peeks.clear();
  if (refusal_reported != SteadyTime{} && now - refusal_reported < between_reports) return;
  refusal_reported = now;
  log::warn("doorbell_refused", {{"reason", why}, {"hint", "queues that no worker waits on are looked at instead"}});
}

void Doorbell::State::leave_out(const std::vector<std::string>& found, SteadyTime now) {
  if (found.empty()) return;
  if (no_lists.empty()) no_lists_until = now + look_at_type_again_after;
  no_lists.insert(found.begin(), found.end());
  if (no_lists_reported != SteadyTime{} && now - no_lists_reported < between_reports) return;
  no_lists_reported = now;
  log::warn("queues_are_no_lists", {{"queues", fmt::format("{}", fmt::join(no_lists, " "))}});
}

void Doorbell::State::drop_unneeded(SteadyTime now) {
  for (const auto& peek : peeks) {
    const auto& wanted = plan.doorbells;
    if (peek->under_way() && std::find(wanted.begin(), wanted.end(), peek->queue()) != wanted.end()) peek->needed = now;
  }
  std::erase_if(peeks, [&](const auto& peek) { return now - peek->needed >= connection_kept; });
}

// ---- Looks

void Doorbell::State::look_at(const std::vector<std::string>& wanted) {
  const std::vector<std::vector<std::string>> asked = slices_to_size(wanted);
  std::vector<ScriptCall> calls;
  for (const std::vector<std::string>& queues : asked) calls.push_back(queue_sizes(queues));
  looking = true;
  const SteadyTime begun = steady_now();
  send_scripts(redis, std::move(calls), longest_answer_time,
               [weak = weak_from_this(), asked, begun](const std::vector<Result>& results) {
                 const auto self = weak.lock();
                 if (!self) return;
                 self->looking = false;
                 // So that thousands of queues keep neither Redis nor us busy.
                 self->next_look =
                     begun + std::max<std::chrono::nanoseconds>(look_interval, share_of_looks * (steady_now() - begun));
                 if (!self->listening) return;
                 self->read_look(asked, results);
                 self->replan();
               });
}

void Doorbell::State::read_look(const std::vector<std::vector<std::string>>& asked,
                                const std::vector<Result>& results) {
  std::vector<std::string> found_no_lists;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].ok()) continue;  // the next look asks again
    const QueueSizes sizes = read_queue_sizes(asked[i], results[i].reply.view());
    for (const QueueSizes::Filled& filled : sizes.filled) {
      for (std::int64_t job = 0; job < filled.jobs && wake_one(filled.queue); ++job) continue;
    }
    found_no_lists.insert(found_no_lists.end(), sizes.no_lists.begin(), sizes.no_lists.end());
  }
  leave_out(found_no_lists, steady_now());
}

Doorbell::Doorbell(EventLoop& loop, AsyncConnection& redis, QueueWorkers& workers)
    : state_(std::make_shared<State>(loop, redis, workers)) {}

Doorbell::~Doorbell() { stop(); }

void Doorbell::listen() {
  state_->listening = true;
  state_->tick();
}

void Doorbell::look() {
  state_->changed_at = steady_now();
  state_->tick();
}

void Doorbell::set_capsules(std::vector<CapsuleSettings> capsules) {
  state_->capsules = std::move(capsules);
  state_->read_capsules();
  state_->watch.forget();
  state_->replan();
}

void Doorbell::know(const KnownQueues& known) {
  state_->known = known;
  state_->read_capsules();
  state_->replan();
}

void Doorbell::stop() {
  state_->listening = false;
  state_->next.stop();
  state_->peeks.clear();
}

int Doorbell::connections() const { return static_cast<int>(state_->peeks.size()); }

}  // namespace brood
