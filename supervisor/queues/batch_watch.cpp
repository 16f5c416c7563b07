#include "supervisor/queues/batch_watch.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/worker_field.hpp"

namespace brood {

using namespace std::chrono_literals;

namespace {

constexpr auto batch_look_interval = 10ms;
constexpr auto slow = 20ms;  // four times the intended work of a batch
constexpr auto looks_last = 1s;
constexpr auto between_returns = 500ms;  // between two attempts to return jobs that were taken back

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

  AsyncConnection::Scope redis;
  const std::string identity;
  QueueWorkers& workers;
  // Jobs taken back from a worker that may not be in their queue again yet.
  struct Unreturned {
    std::uint64_t incarnation, number;
    std::string queue;
    int kept;
    SteadyTime not_before;
  };

  Timer next_look;
  BatchAges ages;
  SteadyTime asked_at{};
  std::map<int, Unreturned> unreturned;  // by slot

  void look();
  void take_back(const OccupiedSlot& slot);
  void return_jobs(int slot, Unreturned jobs);
  void try_again(const OccupiedSlot& slot, SteadyTime now);
  void plan(SteadyTime now);
};

void BatchWatch::State::look() {
  const SteadyTime now = steady_now();
  // Without Redis a job cannot be returned.
  if (redis.connected()) {
    const std::vector<OccupiedSlot> occupied = workers.occupied_slots();
    for (const OccupiedSlot& slot : occupied) {
      try_again(slot, now);
      if (ages.holds_up(slot.slot, *slot.record, now)) take_back(slot);
    }
    std::erase_if(unreturned, [&](const auto& jobs) {
      return std::none_of(occupied.begin(), occupied.end(), [&](auto& slot) { return slot.slot == jobs.first; });
    });
  }
  plan(now);
}

void BatchWatch::State::plan(SteadyTime now) {
  const SteadyTime last = std::max(asked_at, ages.last_seen().value_or(SteadyTime{}));
  if (now - last < looks_last)
    next_look.start_in(batch_look_interval);
  else if (!unreturned.empty())
    next_look.start_in(between_returns);
}

// Meanwhile the worker finds that it cannot begin the next entry, settles what is done, and the batch's number moves
// on. If the script comes first, the list ends there.  If it comes too late it does nothing, and the reply to that
// settle gives the worker the rest of the list, as if fetched anew.
void BatchWatch::State::take_back(const OccupiedSlot& slot) {
  const SlotSnapshot seen = snapshot(*slot.record);
  if (!seen.text_is_whole || seen.queue.empty()) return;  // being written, or overwritten by a job: look again later
  const int count = static_cast<int>(seen.entries.size());
  const int kept = take_back_unbegun(*slot.record, seen.number, count);
  if (kept == count) return;
  log::debug("jobs_taken_back", {{"slot", slot.slot}, {"taken", count - kept}});
  return_jobs(slot.slot, {seen.incarnation, seen.number, seen.queue, kept, {}});
}

// The script checks the batch's number and the list, so it may be sent twice.
void BatchWatch::State::return_jobs(int slot, Unreturned jobs) {
  const std::string field = worker_field(slot, jobs.incarnation);
  redis.run_all({give_back(identity, field, jobs.queue, jobs.number, jobs.kept)}, longest_answer_time,
                [this, slot, jobs](const std::vector<AsyncConnection::Result>& results) mutable {
                  const AsyncConnection::Result& result = results.front();
                  if (result.ok()) return;
                  log::debug("jobs_not_returned", {{"slot", slot}, {"reason", result.why()}});
                  jobs.not_before = steady_now() + between_returns;
                  unreturned[slot] = std::move(jobs);
                  if (!next_look.running()) plan(steady_now());
                });
}

void BatchWatch::State::try_again(const OccupiedSlot& slot, SteadyTime now) {
  const auto found = unreturned.find(slot.slot);
  if (found == unreturned.end() || now < found->second.not_before) return;
  Unreturned jobs = std::move(found->second);
  unreturned.erase(found);
  const bool is_the_same_batch =
      slot.record->own_incarnation.load() == jobs.incarnation && slot.record->number.load() == jobs.number;
  if (is_the_same_batch) return_jobs(slot.slot, std::move(jobs));
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
