#include "worker/run/run_book.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "shared/statsd/statsd_lines.hpp"

namespace brood {
RunsForStatsd::RunsForStatsd(const StatsdSettings& settings, UsageTable& table)
    : table_(table), statsd_(settings, &table.datagrams_dropped) {}

void RunsForStatsd::note_error(int entry, const std::string& error_class) {
  if (entry >= 0 && entry < max_run_notes) errors_[static_cast<std::size_t>(entry)] = error_class;
}

void RunsForStatsd::note_expired(int class_index, int queue_index) {
  const std::string job_class = statsd_class(table_, class_index), queue = statsd_queue(table_, queue_index);
  statsd_.lines().count("jobs.expired", 1, {job_class, queue, {}});
}

void RunsForStatsd::take(const RunNotes& notes) {
  for (std::size_t entry = 0; entry < notes.size(); ++entry) {
    const std::string error = std::exchange(errors_[entry], {});
    const RunNote note = RunNote::read(notes[entry].run.load(std::memory_order_relaxed));
    if (note.state <= RunNote::State::begun) continue;
    const RunStart start = RunStart::read(notes[entry].start.load(std::memory_order_relaxed));
    if (std::exchange(class_index_, note.class_index) != note.class_index)
      class_ = statsd_class(table_, note.class_index);
    if (std::exchange(queue_index_, start.queue_index) != start.queue_index)
      queue_ = statsd_queue(table_, start.queue_index);
    statsd_.lines().add_run(note.state == RunNote::State::failed, note.ms, {class_, queue_, error});
  }
}

void RunsForStatsd::send() { statsd_.send(); }

RunBook::RunBook(WorkerSlot& slot, const WorkerSetup& worker_setup, const StatsdSettings& statsd)
    : slot_(slot), usage_(worker_setup.usage), generation_(worker_setup.generation) {
  if (!statsd.address.empty() && usage_) statsd_.emplace(statsd, *usage_);
}

void RunBook::speak_of(const Payload& job, const ClassFacts& facts) {
  class_ = {job.job_class(), job.counted_class(), std::nullopt};
  if (!usage_ || !facts.has_code) return;
  // A wrapped class may have any name; a registered class has a plain one.
  class_.index = usage_index(*usage_, is_countable(class_.name) ? class_.name : class_.job_class);
  UsageEntry& usage = usage_->at(*class_.index);
  usage.allows_threads.store(facts.allows_threads ? 1 : 0);
  usage.isolated.store(facts.is_isolated ? 1 : 0);
}

// The client's clock gives the time of the enqueue.  If it is ahead of this one, the job counts as not having waited.
void RunBook::note_begin(const JobRun& run) {
  using namespace std::chrono_literals;
  if (!has_room(run.entry)) return;
  if (run.queue != queue_.name) queue_ = {run.queue, queue_index(usage_->queues, run.queue)};
  RunStart start{.queue_index = queue_.index, .waited_ms = std::nullopt};
  if (const auto enqueued = run.job.time("enqueued_at"))
    start.waited_ms = static_cast<std::uint64_t>(std::max<std::int64_t>((run.started_at - *enqueued) / 1ms, 0));
  notes_of(run.entry).start.store(start.word(), std::memory_order_relaxed);
  note(run.entry, RunNote::State::begun, {});
}

// The time is counted as in Sidekiq, as the difference of whole milliseconds, so that many short runs add up to the
// right sum.
void RunBook::end(const JobRun& run) {
  using std::chrono::milliseconds;
  const auto took = std::chrono::floor<milliseconds>(run.ended).time_since_epoch() -
                    std::chrono::floor<milliseconds>(run.started).time_since_epoch();
  if (has_room(run.entry)) note(run.entry, run.failed() ? RunNote::State::failed : RunNote::State::ended_well, took);
}

void RunBook::settled(const JobRun& run) {
  if (statsd_ && run.failed()) statsd_->note_error(run.entry, run.performed.failure.error_class);
}

void RunBook::note(int entry, RunNote::State state, std::chrono::milliseconds took) {
  if (!class_.index) return;
  const RunNote note{state, *class_.index, static_cast<std::uint64_t>(took.count())};
  notes_of(entry).run.store(note.word(), std::memory_order_release);
}

void RunBook::forget(int entry) {
  if (entry >= 0 && entry < max_run_notes) notes_of(entry).run.store(0);
}

void RunBook::expire(int entry) {
  forget(entry);
  slot_.record().expired.fetch_add(1);
  if (!class_.index) return;
  usage_->at(*class_.index).expired.fetch_add(1);
  if (statsd_) statsd_->note_expired(*class_.index, queue_.index);
}

void RunBook::note_recent() {
  if (class_.index)
    slot_.record().recent_classes.note(*class_.index, slot_.record().processed.load(std::memory_order_relaxed));
}

bool RunBook::note_left_threads() { return class_.index && usage_->at(*class_.index).left_threads.fetch_add(1) > 0; }

void RunBook::end_batch(const JobUsage& together) {
  if (!usage_) return;
  if (statsd_) statsd_->take(slot_.record().run_notes);
  add_noted_runs(*usage_, slot_.record().run_notes, together, generation_);
  if (statsd_) statsd_->send();
}

}  // namespace brood
