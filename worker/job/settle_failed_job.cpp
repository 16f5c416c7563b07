#include "worker/job/settle_failed_job.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/log.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/job/random_bytes.hpp"
#include "shared/job/unreadable_job.hpp"
#include "shared/scoreboard/told_times.hpp"
#include "worker/job/hooks.hpp"
#include "worker/job/perform.hpp"

namespace brood {

Outcome settle_failure(const JobRegistry& registry, const Payload& job, std::string_view queue, const Failure& failure,
                       const RetryPolicy& policy, bool ask_hooks) {
  if (ask_hooks) run_error_handlers(registry, job, queue, failure);
  const HookAnswer hook = ask_hooks ? ask_retry_in(registry, job, queue, failure) : HookAnswer{};
  const WallTime now = redis_now();
  std::optional<RetryOption> retry_of_class = class_retry(registry, job);
  if (!retry_of_class) retry_of_class = policy.class_retry;
  Verdict verdict = judge_failure(job, failure, hook, retry_of_class, queue, now, RandomBytes().fraction(), policy);

  if (verdict.kind == Verdict::Kind::retry) {
    return {Outcome::Kind::retry, verdict.payload.text(), epoch_seconds(verdict.at)};
  }
  bool moved_to_dead = false;
  if (verdict.kind == Verdict::Kind::exhausted) {
    const bool discard = ask_hooks && ask_exhausted(registry, verdict.payload, queue, failure);
    moved_to_dead = goes_to_dead(verdict.payload, discard);
  }
  if (ask_hooks) {
    const bool discards = verdict.kind == Verdict::Kind::exhausted && !moved_to_dead;
    run_death_handlers(registry, discards ? discarded(verdict.payload, now) : verdict.payload, queue, failure);
  }
  log::warn(moved_to_dead ? "job_died" : "job_discarded", {{"jid", job.jid()},
                                                           {"class", job.display_class()},
                                                           {"queue", queue},
                                                           {"error", failure.error_class},
                                                           {"message", failure.message}});
  if (!moved_to_dead) return {.kind = Outcome::Kind::discard};
  return {Outcome::Kind::move_to_dead, verdict.payload.text(), epoch_seconds(now)};
}

RetryFor rule_of_retry_for(const Payload& job, std::optional<SidekiqRelease> configured, FleetRelease& fleet,
                           const AskRedis& ask) {
  if (!job.truthy("retry_for")) return RetryFor::alone;
  if (!configured) configured = fleet.oldest(ask);
  return configured ? configured->retry_for() : RetryFor::alone;
}

Outcome settle_by_hand(const Payload& job, std::string_view queue, const Failure& failure, WorkerDeath::Fate fate) {
  const WallTime now = redis_now();
  const auto say = [&](std::string_view now_in) {
    log::warn("job_ended_by_hand",
              {{"jid", job.jid()}, {"class", job.display_class()}, {"queue", queue}, {"now_in", now_in}});
  };
  switch (fate) {
    case WorkerDeath::Fate::retry: {
      say("retry");
      const Verdict verdict = retry_uncharged(job, failure, queue, now, RandomBytes().fraction());
      return {Outcome::Kind::retry, verdict.payload.text(), epoch_seconds(verdict.at)};
    }
    case WorkerDeath::Fate::dead:
      say("dead");
      return {Outcome::Kind::move_to_dead, with_failure(job, failure, now).text(), epoch_seconds(now)};
    case WorkerDeath::Fate::discard:
      break;
  }
  say("nothing");
  return {.kind = Outcome::Kind::discard};
}

Outcome settle_orphan(const JobRegistry& registry, const Payload& job, std::string_view queue, const Failure& failure,
                      bool ask_hooks) {
  const WallTime now = redis_now();
  const Payload record = with_failure(job, failure, now);
  const bool discard = ask_hooks && ask_exhausted(registry, record, queue, failure);
  const bool moved_to_dead = goes_to_dead(record, discard);
  if (ask_hooks) run_death_handlers(registry, moved_to_dead ? record : discarded(record, now), queue, failure);
  log::error("job_orphaned", {{"jid", job.jid()},
                              {"class", job.display_class()},
                              {"queue", queue},
                              {"now_in", moved_to_dead ? "dead" : "nothing"}});
  if (!moved_to_dead) return {.kind = Outcome::Kind::discard};
  return {Outcome::Kind::move_to_dead, record.text(), epoch_seconds(now)};
}

Outcome settle_undecipherable(const JobRegistry& registry, const Payload& job, std::string_view queue,
                              const Failure& failure) {
  const WallTime now = redis_now();
  const Payload record = with_failure(job, failure, now);
  const bool moves_to_dead = goes_to_dead(record, false);
  run_error_handlers(registry, job, queue, failure);
  run_death_handlers(registry, moves_to_dead ? record : discarded(record, now), queue, failure);
  log::error("job_not_decrypted", {{"jid", job.jid()},
                                   {"class", job.display_class()},
                                   {"queue", queue},
                                   {"message", failure.message},
                                   {"now_in", moves_to_dead ? "dead" : "nothing"}});
  if (!moves_to_dead) return {.kind = Outcome::Kind::discard};
  return {Outcome::Kind::move_to_dead, record.text(), epoch_seconds(now)};
}

Outcome settle_expired(const Payload& job, std::string_view queue, WallTime expiry, ExpiredJobs becomes) {
  const WallTime now = redis_now();
  const bool moves_to_dead = becomes == ExpiredJobs::dead && goes_to_dead(job, false);
  const double late = std::max(0.0, std::chrono::duration<double>(now - expiry).count());
  log::Fact seconds_late("late", fmt::format("{:.3f}", late));
  seconds_late.bare = true;  // a number
  log::info("job_expired", {{"jid", job.jid()},
                            {"class", job.display_class()},
                            {"queue", queue},
                            seconds_late,
                            {"now_in", moves_to_dead ? "dead" : "nothing"}});
  if (!moves_to_dead) return {};
  Failure failure;
  failure.error_class = "JobExpired";
  failure.message = fmt::format("came {:.1f}s too late to begin", late);
  const Payload record = with_failure(job, failure, now).with({{"expired_at", json_time(expiry, job.time_unit())}});
  return {Outcome::Kind::move_to_dead, record.text(), epoch_seconds(now)};
}

Outcome move_unreadable_to_dead(const std::string& payload, std::string_view queue, const std::string& reason) {
  log::error("job_unreadable", {{"queue", queue}, {"reason", reason}, {"bytes", payload.size()}, {"now_in", "dead"}});
  const WallTime now = redis_now();
  const std::string record =
      record_of_unreadable(payload, reason, RandomBytes().jid(), now, told_times().value_or(TimeUnit::float_seconds));
  return {Outcome::Kind::move_to_dead, record, epoch_seconds(now)};
}

}  // namespace brood
