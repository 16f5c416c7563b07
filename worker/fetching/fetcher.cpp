#include "worker/fetching/fetcher.hpp"

#include <algorithm>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t all = static_cast<std::size_t>(-1);
constexpr auto look_again = 20ms;        // at the queues, while Redis has not answered yet
constexpr auto idle_poll = 2s;           // if the worker waits outside of Redis: the supervisor looks and wakes it
constexpr auto ask_to_wait_again = 10s;  // after a refusal
constexpr auto time_to_unblock = 250ms;  // the supervisor has asked Redis to end our wait
constexpr auto say_batching_again = 500ms;
constexpr auto say_left_wait_again = 5s;  // the doorbell looks often for longer than that

// How many jobs a worker of this capsule may fetch at a time, at most `most`.  The only worker of a capsule performs
// jobs in the order of their queues.  If one of their classes has a cap, it fetches one by one: then a job that it
// defers is the next that it takes, if there is a place, and no job of a batch overtakes it.
int jobs_at_once(const CapsuleSettings& capsule, int most) {
  const std::vector<std::string> queues = capsule.queues.names();
  const bool may_defer = std::any_of(capsule.caps.begin(), capsule.caps.end(), [&](const CapSettings& cap) {
    return std::any_of(queues.begin(), queues.end(), [&](const std::string& queue) {
      return is_pattern(queue) ? !cap.classes.empty() : cap.may_set_aside(queue);
    });
  });
  return capsule.concurrency == 1 && may_defer ? 1 : most;
}

const CapsuleSettings& capsule_of(const Config& config, const WorkerSetup& setup) {
  return config.capsules.at(static_cast<std::size_t>(setup.capsule));
}

}  // namespace

Fetcher::Fetcher(const Config& config, const WorkerSetup& setup, ServedShard& shard, Session& session,
                 SupervisorOrders& orders)
    : setup_(setup),
      shard_(shard),
      session_(session),
      orders_(orders),
      draw_(capsule_of(config, setup), shard.redis(), setup.queue_changes),
      filled_queues_(shard.redis(), *setup.record),
      batch_size_(jobs_at_once(capsule_of(config, setup), config.worker_of(setup.capsule).max_batch)) {}

void Fetcher::forget_shard() {
  draw_.forget();
  filled_queues_.forget();
  refused_at_.reset();
}

Session::Want Fetcher::want(std::vector<std::string> draw, int most) {
  const bool waits = most > 0 && draw_.is_over() && may_wait();
  return {.draw = std::move(draw),
          .most = most,
          .wait_queue = waits ? draw_.wait_queue(setup_.number) : "",
          .caps = &shard_.caps(),
          .tenants = &draw_.tenants()};
}

Session::Next Fetcher::settle_and_fetch(const std::vector<Outcome>& outcomes, bool begins) {
  orders_.note_asking();
  const Session::Next next =
      session_.next(outcomes, want(draw_.take(max_queues_asked), begins ? batch_size_.want() : 0));
  say_whether_batching();
  return next;
}

Session::Next Fetcher::fetch_from_rest() {
  if (draw_.is_over() || draw_.is_stale() || !session_.batch().entries.empty()) return Session::Next::held;
  const std::vector<std::string> filled = filled_queues_.among(draw_.take(all));
  const Session::Next next = session_.next({}, want(filled, batch_size_.want()));
  filled_queues_.note_fetched(filled, session_.batch().entries.empty() ? "" : session_.batch().queue);
  say_whether_batching();
  return next;
}

void Fetcher::say_now_and_then(ControlByte byte, SteadyTime& said, std::chrono::nanoseconds again) {
  const SteadyTime now = steady_now();
  if (now - said <= again) return;
  orders_.say(byte);
  said = now;
}

void Fetcher::say_whether_batching() {
  if (session_.batch().entries.size() > 1) say_now_and_then(ControlByte::batching, said_batching_, say_batching_again);
}

Session::Waited Fetcher::wait(bool looks_again_soon) {
  log::flush();
  if (draw_.is_stale()) return Session::Waited::nothing;
  if (!may_wait() || session_.batch().queue.empty()) {
    wait_outside_of_redis();
    return Session::Waited::nothing;
  }
  const std::vector<std::string> draw = other_queues();
  const Session::Waited waited = session_.wait({.draw = draw,
                                                .most = batch_size_.want(),
                                                .may_be_more_queues = draw_.may_grow() || draw_.has_capped(),
                                                .looks_again_soon = looks_again_soon,
                                                .wake_fd = orders_.descriptor(),
                                                .woken = [this] { return woken(); }});
  if (waited == Session::Waited::refused) refused_at_ = steady_now();
  say_whether_batching();
  // If all workers wait on one queue, the supervisor needs no message that this one has left its wait.
  if (waited == Session::Waited::job && (!draw.empty() || shard_.is_one_of_several()))
    say_now_and_then(ControlByte::left_wait, said_left_wait_, say_left_wait_again);
  return waited;
}

// Waits for the supervisor, since only it sees the next job now.  Without a message it might assume that all workers
// wait in Redis or are busy.
void Fetcher::wait_outside_of_redis() {
  say_now_and_then(ControlByte::left_wait, said_left_wait_, say_left_wait_again);
  if (!orders_.told_to_quiet()) orders_.wait(draw_.has_looked() ? idle_poll : look_again);
}

// The queues to fetch from after the wait; empty if a job can only come from the queue that is waited on.  Draws from
// what was known when that queue was chosen: if it asked Redis now, that would hide a change since the choice.
std::vector<std::string> Fetcher::other_queues() {
  draw_.begin_again();
  std::vector<std::string> draw = draw_.take(max_queues_asked_after_wait + 1);
  std::erase_if(draw, [this](const std::string& queue) { return draw_.is_capped(queue); });
  if (draw.size() == 1 && draw.front() == session_.batch().queue) draw.clear();
  return draw;
}

bool Fetcher::may_wait() {
  if (setup_.record->waits_outside.load() != 0) return false;
  return !refused_at_ || steady_now() - *refused_at_ > ask_to_wait_again;
}

// Returns how much longer the wait may last if the worker is wanted for something else: the process that wants it has
// asked Redis to end the wait.  nullopt: it is not wanted.
std::optional<std::chrono::milliseconds> Fetcher::woken() {
  const bool is_wanted = orders_.wait(0ms) || orders_.told_to_quiet() || orders_.beat_is_missed() || draw_.is_stale();
  return is_wanted ? std::optional(time_to_unblock) : std::nullopt;
}

}  // namespace brood
