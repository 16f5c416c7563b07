#include "supervisor/workers/end/exit_evidence.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <utility>

#include "shared/base/host_memory.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

std::chrono::microseconds duration_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

ExitEvidence::ExitEvidence(std::string identity)
    : identity_(std::move(identity)), host_bytes_(host_memory_bytes()), host_kills_(host_oom_kills()) {}

void ExitEvidence::note_host_memory(SteadyTime now) { host_kills_.forget_old(host_oom_kills(), now); }

EndedWorker ExitEvidence::examine(WorkerExit seen, const ProcessTable::Slot& taken, const SlotRecord& record) {
  seen.place = taken.place;
  seen.by = taken.ended_by;
  seen.began = taken.occupied_since;
  seen.ready_at = taken.ready_at;
  seen.processed_before = taken.processed_before;
  seen.last = last_words(record);
  seen.stack = read_stack(record.crash);
  blame_who_left_threads(seen);
  seen.host_bytes = host_bytes_;
  const bool was_killed = !seen.status.exited && seen.status.value == SIGKILL;
  // The kernel counts before it kills, so we need not wait for the count.
  if (was_killed && seen.by == EndedBy::itself) seen.host_oom_kill = host_kills_.take(host_oom_kills());
  seen.memory = judge_memory(seen);

  EndedWorker ended{.exit = std::move(seen), .end = {}, .death = {}};
  ended.end = judge_worker_end(ended.exit);
  // A worker that was never ready has registered nothing, so it has no jobs in flight.  Neither sign of readiness is
  // certain: a job may have overwritten the record, and the worker's byte may still be under way.  So either one
  // counts.
  if (!ended.end.nothing_to_recover && (ended.exit.last.ready || taken.ready_at))
    ended.death = death_of(ended.exit, ended.end, taken);
  return ended;
}

WorkerDeath ExitEvidence::death_of(const WorkerExit& exit, const WorkerEnd& end,
                                   const ProcessTable::Slot& taken) const {
  WorkerDeath worker_death;
  // The record belongs to the incarnation that the worker had registered.  It does not cover a later one that was
  // assigned, but perhaps never reached the worker.
  worker_death.worker = {.identity = identity_,
                         .slot = exit.slot,
                         .incarnation = taken.incarnation,
                         .record = std::nullopt,
                         .ended_by_brood = exit.by == EndedBy::brood};
  if (exit.last.incarnation == taken.incarnation) worker_death.worker.record = record_of(exit.last);
  worker_death.cause = end.cause ? end.cause : end.cause_before_begin;
  worker_death.fate = taken.fate;
  worker_death.class_flags =
      end.cause_before_begin ? class_has_hooks | class_has_handlers : exit.last.class_flags;  // its class is unknown
  worker_death.jid = exit.last.jid;
  if (exit.last.current >= 0)
    worker_death.run = {.began = exit.last.started_at, .took = exit.now - exit.last.started_steady};
  if (worker_death.cause) {
    std::error_code ignored;
    // If the job had a process of its own, that process crashed.
    const bool was_apart = exit.last.job_pid > 0;
    worker_death.cause->facts =
        CrashFacts{.pid = was_apart ? exit.last.job_pid : exit.pid,
                   .slot = exit.slot,
                   .signal = exit.status.exited ? 0 : exit.status.value,
                   .exit_status = exit.status.exited ? exit.status.value : 0,
                   .core_dumped = exit.status.core_dumped || (was_apart && exit.last.job_core_dumped),
                   .working_directory = std::filesystem::current_path(ignored).string(),
                   .uptime = exit.now - exit.began,
                   .user_time = duration_of(exit.used.ru_utime),
                   .system_time = duration_of(exit.used.ru_stime),
                   .max_rss_kb = exit.used.ru_maxrss,
                   .stack = exit.stack,
                   .libraries = exit.last.libraries};
  }
  return worker_death;
}

JobUsage usage_of_last_job(const WorkerExit& exit, const SlotRecord& record) {
  const auto cpu = duration_of(exit.used.ru_utime) + duration_of(exit.used.ru_stime);
  const auto before = std::chrono::microseconds(record.cpu_before_us.load());
  return {.cpu = cpu - std::clamp(before, 0us, cpu),
          .wall = std::chrono::duration_cast<std::chrono::microseconds>(exit.now - exit.last.started_steady),
          .peak_rss_kb = static_cast<std::uint64_t>(exit.used.ru_maxrss)};
}

}  // namespace brood
