#include "worker/run/runs_for_statsd.hpp"

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

}  // namespace brood
