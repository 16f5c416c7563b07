#include "supervisor/queues/batch_watch.hpp"

#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/redis/answer_time.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/worker_field.hpp"
#include "supervisor/redis/send_scripts.hpp"

namespace brood {

using namespace std::chrono_literals;

namespace {

constexpr auto batch_look_interval = 10ms;
constexpr auto slow = 20ms;  // four times the work that a batch is meant to be
constexpr auto looks_last = 1s;

EntryState state_in(std::uint32_t word) { return static_cast<EntryState>(word & 0xff); }

}  // namespace

bool BatchAges::holds_up(int slot, const SlotRecord& record, SteadyTime now) {
  const int current = record.current.load();
  // The unbegun entries come last, so it is enough to look at the next one.
  const bool unbegun_behind =
      current >= 0 && current + 1 < max_batch_entries &&
      state_in(record.entries[static_cast<std::size_t>(current) + 1].load()) == EntryState::fetched;
  if (!unbegun_behind) return false;
  last_seen_ = now;
  const std::uint64_t incarnation = record.own_incarnation.load(), number = record.number.load();
  Batch& batch = batches_.try_emplace(slot, Batch{incarnation, number, now}).first->second;
  if (batch.incarnation != incarnation || batch.number != number) batch = {incarnation, number, now};
  const SteadyTime started{std::chrono::nanoseconds(record.started_steady.load())};
  return now - batch.since >= slow || (started > SteadyTime{} && started <= now - slow);
}

struct BatchWatch::State {
  State(EventLoop& loop, AsyncConnection& connection, std::string name, QueueWorkers& all)
      : redis(connection), identity(std::move(name)), workers(all), next_look(loop, [this] { look(); }) {}

  AsyncConnection& redis;
  const std::string identity;
  QueueWorkers& workers;
  Timer next_look;
  BatchAges ages;
  SteadyTime asked_at{};

  void look();
  void take_back(const OccupiedSlot& slot);
};

void BatchWatch::State::look() {
  const SteadyTime now = steady_now();
  // With Redis away there is nowhere to return a job to.
  if (redis.connected()) {
    for (const OccupiedSlot& slot : workers.occupied_slots()) {
      if (ages.holds_up(slot.slot, *slot.record, now)) take_back(slot);
    }
  }
  const SteadyTime last = std::max(asked_at, ages.last_seen().value_or(SteadyTime{}));
  if (now - last < looks_last) next_look.start_in(batch_look_interval);
}

// The script may be lost, refused or too late, and is not repeated.  The worker finds that it cannot begin the next
// entry, settles what is done, and the batch's number moves on.  If the script came first, the list ends there.  If it
// comes too late it does nothing, and the reply to that settle gives the worker the rest of the list, as fetched anew.
void BatchWatch::State::take_back(const OccupiedSlot& slot) {
  const SlotSnapshot seen = snapshot(*slot.record);
  if (!seen.text_is_whole || seen.queue.empty()) return;  // being written, or scribbled over: the next look may know
  const int count = static_cast<int>(seen.entries.size());
  const int kept = take_back_unbegun(*slot.record, seen.number, count);
  if (kept == count) return;
  const std::string field = worker_field(slot.slot, seen.incarnation);
  send_scripts(redis, {give_back(identity, field, seen.queue, seen.number, kept)}, longest_answer_time,
               [slot = slot.slot, taken = count - kept](const std::vector<AsyncConnection::Result>& results) {
                 const AsyncConnection::Result& result = results.front();
                 if (!result.ok()) return log::debug("jobs_not_returned", {{"slot", slot}, {"reason", result.why()}});
                 log::debug("jobs_taken_back", {{"slot", slot}, {"taken", taken}});
               });
}

BatchWatch::BatchWatch(EventLoop& loop, AsyncConnection& redis, std::string identity, QueueWorkers& workers)
    : state_(std::make_unique<State>(loop, redis, std::move(identity), workers)) {}

BatchWatch::~BatchWatch() = default;

void BatchWatch::look_for_a_while() {
  state_->asked_at = steady_now();
  if (!state_->next_look.running()) state_->next_look.start_in(batch_look_interval);
}

bool BatchWatch::looks() const { return state_->next_look.running(); }

}  // namespace brood
