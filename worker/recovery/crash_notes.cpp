#include "worker/recovery/crash_notes.hpp"

#include <exception>

#include "shared/base/log.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/store/worker_field.hpp"

namespace brood {

std::optional<ChargedCrash> charged_crash(const WorkerDeath& worker_death, const Payload& job, const std::string& queue,
                                          const CrashReport& report) {
  if (worker_death.fate || report.fingerprint.empty()) return std::nullopt;
  Crash crash;
  crash.fingerprint = report.fingerprint;
  crash.at = epoch_seconds(redis_now());
  crash.job_class = job.display_class();
  crash.error_class = report.failure.error_class;
  crash.message = report.failure.message;
  crash.jid = job.jid();
  crash.queue = queue;
  crash.identity = worker_death.worker.identity;
  crash.frames = report.stack;
  crash.has_names = report.has_names;
  return ChargedCrash{std::move(crash), job.code_class()};
}

std::optional<ChargedCrash> charged_crash(const WorkerDeath& worker_death, const Payload& job) {
  if (worker_death.fate || !worker_death.cause || !worker_death.cause->facts) return std::nullopt;
  Crash crash;
  crash.job_class = job.display_class();
  crash.fingerprint =
      crash_fingerprint(crash.job_class, worker_death.cause->error_class, worker_death.cause->facts->stack);
  return ChargedCrash{std::move(crash), job.code_class()};
}

void note_for_people(Channel& redis, const ChargedCrash& charged) try {
  note_crash(redis, charged.crash);
} catch (const std::exception& refused) {
  log::debug("crash_not_noted", {{"fingerprint", charged.crash.fingerprint}, {"reason", refused.what()}});
}

namespace {

// Ends the trial of a job that has timed out, which is no crash: another job of the class may be tried.
void end_trial(Channel& redis, const ChargedCrash& charged) try {
  redis.run(leave_probe(charged.job_class, charged.crash.jid));
} catch (const std::exception& refused) {
  log::debug("quarantine_not_read", {{"reason", refused.what()}});
}

}  // namespace

void count_for_quarantine(Channel& redis, const ChargedCrash& charged, const WorkerDeath& worker_death,
                          const QuarantineRules& rules) {
  const bool has_facts = worker_death.cause && worker_death.cause->facts;
  if (rules.after == 0 || !has_facts || charged.job_class.empty()) return;
  if (!worker_death.cause->counts_as_crash) return end_trial(redis, charged);
  const DeadWorker& worker = worker_death.worker;
  const QuarantineCrash crash{charged.job_class, charged.crash.fingerprint,
                              fmt::format("{:016x}", worker_death.cause->facts->libraries),
                              worker.identity + " " + worker_field(worker.slot, worker.incarnation)};
  try {
    const CountedCrash counted = read_counted_crash(redis.run(count_quarantine_crash(crash, rules)).view());
    if (!counted.begins) return;
    log::error("class_quarantined",
               {{"class", charged.crash.job_class},
                {"fingerprint", crash.fingerprint},
                {"crashes", counted.crashes},
                {"hint", "its jobs wait until other libraries come, or `brood quarantine release`"}});
  } catch (const std::exception& refused) {
    log::warn("crash_not_counted", {{"fingerprint", crash.fingerprint}, {"reason", refused.what()}});
  }
}

}  // namespace brood
