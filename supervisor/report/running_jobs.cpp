#include "supervisor/report/running_jobs.hpp"

#include <algorithm>

#include "shared/job/page_text.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/store/worker_field.hpp"
#include "supervisor/report/heartbeat_info_json.hpp"

namespace brood {

namespace {

bool runs_a_job(const SlotSnapshot& seen) {
  return seen.pid > 0 && seen.current >= 0 && static_cast<std::size_t>(seen.current) < seen.entries.size() &&
         seen.entries[seen.current] == EntryState::running;
}

BusyWorker busy_worker(int slot, const SlotSnapshot& seen) {
  BusyWorker busy;
  busy.field = worker_field(slot, seen.incarnation);
  busy.number = seen.number;
  busy.entry = seen.current;
  busy.thread_id = thread_id(slot, seen.incarnation);
  busy.queue = seen.queue;
  busy.run_at = std::chrono::floor<std::chrono::seconds>(seen.started_at.time_since_epoch()).count();
  busy.progress = seen.progress;
  if (seen.class_flags & (class_is_unsafe_html | job_is_large)) busy.neutral_payload = neutral_payload(seen);
  return busy;
}

}  // namespace

std::vector<RunningJob> what_runs(const std::vector<SeenSlot>& slots) {
  std::vector<RunningJob> running;
  for (const auto& [slot, seen] : slots) {
    if (runs_a_job(seen)) running.emplace_back(slot, seen.incarnation, seen.number, seen.current);
  }
  return running;
}

std::vector<BusyWorker> busy_workers(const std::vector<SeenSlot>& slots) {
  std::vector<BusyWorker> busy;
  for (const auto& [slot, seen] : slots) {
    // Without the queue the job's list is unknown.
    if (runs_a_job(seen) && seen.text_is_whole) busy.push_back(busy_worker(slot, seen));
  }
  return busy;
}

bool is_on_trial(const SlotSnapshot& seen) {
  return (seen.class_flags & job_is_on_trial) != 0 && runs_a_job(seen) && seen.text_is_whole;
}

std::string neutral_payload(const SlotSnapshot& seen) {
  return JsonWriter()
      .text("class", page_name(seen.job_class))
      .text("jid", page_name(seen.jid))
      .json("args", "[]")
      .object();
}

}  // namespace brood
