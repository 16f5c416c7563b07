#include "supervisor/workers/end/end_overdue_jobs.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "shared/base/log.hpp"

namespace brood {

using namespace std::chrono_literals;

void kill_worker(pid_t pid) {
  if (pid == 0) return;
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
}

JobEnder::JobEnder(EventLoop& loop, ProcessTable& table, Scoreboard& scoreboard,
                   std::function<std::chrono::milliseconds(int slot)> grace_of)
    : table_(table), scoreboard_(scoreboard), grace_of_(std::move(grace_of)), wake_(loop) {}

std::optional<JobEnder::Ended> JobEnder::end_job(const std::string& jid, WorkerDeath::Fate fate) {
  for (int slot = 0; slot < table_.used_slots(); ++slot) {
    if (!table_.is_living(slot) || table_[slot].kill_at) continue;
    const SlotSnapshot seen = snapshot(scoreboard_.slot(slot));
    if (seen.current < 0 || !seen.text_is_whole || seen.jid != jid) continue;
    const SteadyTime now = steady_now();
    if (!abort_for_job(slot, seen, EndedBy::by_hand, now)) continue;
    table_[slot].fate = fate;
    return Ended{slot, table_[slot].pid, seen.job_class, seen.queue, now - seen.started_steady};
  }
  return std::nullopt;
}

// Aborts the worker for the job that it was seen running.  Returns false if that job has ended since.  Sends the signal
// to the thread that runs jobs, so that the crash record shows the stack of that thread.
bool JobEnder::abort_for_job(int slot, const SlotSnapshot& seen, EndedBy by, SteadyTime now) {
  if (!mark_being_killed(scoreboard_.slot(slot), seen.number, seen.current)) return false;
  ProcessTable::Slot& taken = table_[slot];
  taken.ended_by = by;
  taken.kill_at = JobTimeout(grace_of_(slot)).kill_at(now);
  log::warn("worker_aborted",
            {{"slot", slot},
             {"worker_pid", taken.pid},
             {"jid", seen.jid},
             {"class", seen.job_class},
             {"reason", by == EndedBy::timeout ? "its job runs on after its timeout" : "brood kill"}});
  syscall(SYS_tgkill, taken.pid, taken.pid, SIGABRT);
  return true;
}

void JobEnder::end_overdue(SteadyTime now) {
  look(now);
  wake_.start_at(next_end());
}

void JobEnder::look(SteadyTime now) {
  const auto due = next_end();
  if (!due || *due > now) return;
  next_look_ = now + 1s;
  for (int slot = 0; slot < table_.used_slots(); ++slot) {
    ProcessTable::Slot& taken = table_[slot];
    if (taken.pid == 0) continue;
    const JobTimeout overdue(grace_of_(slot));
    next_look_ = std::min<SteadyTime>(next_look_, now + overdue.look_interval());
    if (taken.kill_at) {
      if (now >= *taken.kill_at) {
        kill_worker(taken.pid);
        taken.kill_at = overdue.kill_at(now);  // a worker that cannot die at once must not keep the loop busy
      }
      continue;
    }
    const SlotRecord& record = scoreboard_.slot(slot);
    if (record.deadline.load() == 0 || record.current.load() < 0) continue;
    const SlotSnapshot seen = snapshot(record);
    if (!seen.deadline) continue;
    const SteadyTime abort_at = overdue.abort_at(*seen.deadline);
    if (now < abort_at)
      next_look_ = std::min(next_look_, abort_at);
    else
      abort_for_job(slot, seen, EndedBy::timeout, now);
  }
}

bool JobEnder::under_way() const {
  for (int slot = 0; slot < table_.used_slots(); ++slot) {
    if (table_.is_living(slot) && table_[slot].ended_by != EndedBy::itself) return true;
  }
  return false;
}

std::optional<SteadyTime> JobEnder::next_end() const {
  if (table_.occupied() == 0) return std::nullopt;
  SteadyTime next = next_look_;
  for (int slot = 0; slot < table_.used_slots(); ++slot) {
    if (table_.is_living(slot) && table_[slot].kill_at) next = std::min(next, *table_[slot].kill_at);
  }
  return next;
}

}  // namespace brood
