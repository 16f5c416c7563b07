#include "worker/recovery/charge_and_return_jobs.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/job/job_report.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "shared/json/json.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/in_flight/entry_mark.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/places_of_jobs.hpp"
#include "shared/store/redis_time.hpp"
#include "shared/store/report/owners.hpp"
#include "shared/store/scan.hpp"
#include "shared/store/worker_field.hpp"
#include "worker/crash/core_file.hpp"
#include "worker/crash/crash_report.hpp"
#include "worker/crash/symboliser.hpp"
#include "worker/job/encrypted_job.hpp"
#include "worker/job/environment_of_jobs.hpp"
#include "worker/job/hooks.hpp"
#include "worker/job/job_registry.hpp"
#include "worker/job/retry_flags.hpp"
#include "worker/job/settle_failed_job.hpp"
#include "worker/recovery/crash_notes.hpp"
#include "worker/recovery/recovery_news.hpp"
#include "worker/recovery/recovery_process.hpp"

namespace brood {
namespace {

constexpr std::size_t most_logged_frames = 25, innermost_logged_frames = 20;

class RecoveryChild {
 public:
  RecoveryChild(RecoveryMode mode, const Config& config, const RedisAddress& address,
                std::atomic<std::uint64_t>* bytes = nullptr, const std::string& supervisor = {})
      : mode_(mode), config_(config), redis_(address, bytes), news_(config, supervisor) {
    forget_time_of_another(address);
  }

  // Returns false if the owner lives after all.
  bool recover_from(const WorkerDeath& worker_death) {
    const auto charge = [&](const std::string& payload, const std::string& fetched_from) {
      const std::string queue = home(fetched_from);
      Outcome outcome = worker_death.cause_unknown ? give_back_a_few_times(worker_death.worker, payload, queue)
                                                   : charge_job(worker_death, payload, queue);
      return worker_death.fate ? outcome : noted_if_dead(std::move(outcome));  // a job that a person ended did not die
    };
    const auto orphan = [&](const std::string& payload, const std::string& queue) {
      return noted_if_dead(move_orphan_to_dead(worker_death.worker, payload, home(queue)));
    };
    DeadWorker worker = worker_death.worker;
    worker.ended_by_brood = !worker_death.cause && !worker_death.fate && !worker_death.cause_unknown;
    worker.ran_out_of_memory = worker_death.cause && worker_death.cause->error_class == "OutOfMemory";
    const DeadLimits limits{config_.dead_max_jobs, config_.dead_timeout.count()};
    returned_ = 0;
    charged_.reset();
    news_.begin();
    ask_redis_time(redis_);
    const RecoveryResult result = recover(redis_, worker, limits, charge, orphan);
    log::clear_standing_facts();
    if (result.owner_lives) return false;
    if (result.somebody_was_first) return true;
    add_to_total(result);
    news_.tell(worker, result);
    if (charged_ && result.charged > 0) {
      note_for_people(redis_, *charged_);
      count_for_quarantine(redis_, *charged_, worker_death, {config_.crashes.quarantine_after, config_.crashes.within});
    }
    log::info("worker_recovered", {{"slot", worker.slot},
                                   {"incarnation", worker.incarnation},
                                   {"acknowledged", result.acknowledged},
                                   {"charged", result.charged},
                                   {"given_back", result.given_back},
                                   {"orphaned", result.orphaned}});
    return true;
  }

  // If Redis refuses one recovery, for a queue of the wrong type for example, that must not hold up the others.
  bool recover_from(const std::vector<WorkerDeath>& worker_deaths) {
    std::optional<UnexpectedReply> refused;
    for (const WorkerDeath& worker_death : worker_deaths) {
      try {
        if (!recover_from(worker_death)) return false;
      } catch (const UnexpectedReply& reply) {
        refused = reply;
      }
    }
    if (refused) throw UnexpectedReply(*refused);
    return true;
  }

  void recover_from(const OrphanedJobs& orphaned_jobs) {
    const Reply fields = redis_.call(ask_incarnations(orphaned_jobs.identity));
    std::vector<WorkerDeath> worker_deaths = orphaned_jobs.known;
    for (const std::string& name : read_name_list(fields.view())) {
      const auto field = parse_worker_field(name);
      if (!field) continue;
      WorkerDeath unknown;
      unknown.worker.identity = orphaned_jobs.identity;
      unknown.worker.slot = field->slot;
      unknown.worker.incarnation = field->incarnation;
      unknown.cause_unknown = true;
      worker_deaths.push_back(std::move(unknown));
    }
    for (WorkerDeath& worker_death : worker_deaths)
      worker_death.worker.only_while_silent = orphaned_jobs.only_while_silent;
    if (!recover_from(worker_deaths)) {
      log::info("supervisor_beats_again", {{"identity", orphaned_jobs.identity}});
      total_.owner_lives = true;
      return;
    }
    // The script that empties the hash also forgets the identity.  One that never held anything is forgotten here.
    forget_process(redis_, orphaned_jobs.identity);
  }

  const RecoveryResult& total() const { return total_; }

 private:
  // The queue that a job belongs to, also if it was fetched from a queue beside it.  Redis is asked, since the
  // configuration is not enough: the worker may have had another one, with a cap that has another name by now or is
  // gone.
  std::string home(const std::string& fetched_from) {
    const std::string_view home = home_by_name(fetched_from);
    if (home.empty()) return fetched_from;
    const Reply known = redis_.call(ask_is_set_aside(fetched_from));
    const bool is_configured = std::any_of(
        config_.capsules.begin(), config_.capsules.end(),
        [&](const CapsuleSettings& capsule) { return home_of(capsule.caps, fetched_from) != fetched_from; });
    return is_configured || read_is_set_aside(known.view()) ? std::string(home) : fetched_from;
  }

  // Adds the reason to an outcome, for the report of a job that is stored nowhere.
  static Outcome with_reason(Outcome outcome, const Payload& job, const Failure& failure) {
    if (!outcome.leaves_nothing() || !keeps_report(job)) return outcome;
    outcome.last_run = std::make_shared<const EndOfRun>(EndOfRun{{}, failure.error_class, failure.message});
    return outcome;
  }

  Outcome noted_if_dead(Outcome outcome) {
    if (outcome.kind == Outcome::Kind::move_to_dead) news_.note_death();
    return outcome;
  }

  Outcome noted_if_poison(const Payload& job, const std::string& queue, Outcome outcome) {
    if (outcome.kind == Outcome::Kind::move_to_dead) news_.note_poison(job.code_class(), queue);
    return outcome;
  }

  Outcome charge_job(const WorkerDeath& worker_death, const std::string& payload, const std::string& queue) {
    try {
      Payload job = Payload::parse(payload);
      if (!job.truthy("jid") && !worker_death.jid.empty())
        job = job.with({{"jid", json_string(worker_death.jid)}});  // the next run finds its cursor by it
      count_before_names_are_known(worker_death, job);
      const CrashReport report = describe(worker_death, job);
      news_.note_crash(worker_death, job, queue, report);
      if (!worker_death.fate) log_crash(job, queue, report);
      charged_ = charged_crash(worker_death, job, queue, report);
      if (worker_death.fate)
        return with_reason(settle_by_hand(job, queue, report.failure, *worker_death.fate), job, report.failure);
      if (mode_ == RecoveryMode::move_to_dead) {
        const WallTime now = redis_now();
        Outcome outcome{Outcome::Kind::move_to_dead, with_failure(job, report.failure, now).text(), epoch_seconds(now)};
        news_.note_failure(worker_death.worker, job, queue, report.failure, outcome);
        return report.failure.crash ? noted_if_poison(job, queue, std::move(outcome)) : outcome;
      }
      const bool ask_hooks =
          mode_ == RecoveryMode::full && (worker_death.class_flags & (class_has_hooks | class_has_handlers)) != 0;
      if (ask_hooks) {
        load_libraries();
        open_for_hooks(job);
        run_crash_handlers(registry_, job, queue, report.failure, worker_death.worker.slot, in_lines(report));
      }
      RetryPolicy policy{config_.max_retries, worker_death.max_crashes.value_or(config_.worker.max_crashes)};
      policy.retry_for = retry_for(job);
      policy.class_retry = retry_of_flags(worker_death.class_flags);
      Outcome outcome = settle_failure(registry_, job, queue, report.failure, policy, ask_hooks);
      news_.note_failure(worker_death.worker, job, queue, report.failure, outcome);
      if (report.failure.crash) outcome = noted_if_poison(job, queue, std::move(outcome));
      if (outcome.leaves_nothing()) log_stack(job, report);
      return with_reason(std::move(outcome), job, report.failure);
    } catch (const BadPayload& bad) {
      return move_unreadable_to_dead(payload, queue, bad.what());
    }
  }

  // Counts the crash at once: to find the names of the stack takes a second or two, in which the next workers would
  // meet the same crash.  A worker's crash counts once, so it does no harm that the recovery or a second child counts
  // it again.
  void count_before_names_are_known(const WorkerDeath& worker_death, const Payload& job) {
    const auto charged = charged_crash(worker_death, job);
    if (charged)
      count_for_quarantine(redis_, *charged, worker_death, {config_.crashes.quarantine_after, config_.crashes.within});
  }

  // Each mode risks less: the symboliser, or any text of the record, may have ended the child before.
  CrashReport describe(const WorkerDeath& worker_death, const Payload& job) const {
    const WorkerDeath::Cause cause = worker_death.cause.value_or(WorkerDeath::Cause{"Killed", "ended by hand", false});
    std::vector<Frame> frames;
    std::optional<std::string> core;
    if (cause.facts && mode_ != RecoveryMode::move_to_dead) {
      const CapturedStack& stack = cause.facts->stack;
      const bool with_names = mode_ == RecoveryMode::full && !worker_death.leave_out_symbols;
      frames = frames_of_job(with_names ? symbolise(stack, {.frame_done = [this] { redis_.step_done(); }})
                                        : raw_frames(stack));
      core = core_file(*cause.facts);
      redis_.step_done();
    }
    return report_crash(cause, frames, job.display_class(), core, redis_now());
  }

  static void log_crash(const Payload& job, const std::string& queue, const CrashReport& report) {
    log::error("job_crashed", {{"jid", job.jid()},
                               {"class", job.display_class()},
                               {"queue", queue},
                               {"error", report.failure.error_class},
                               {"message", report.failure.message},
                               {"signal", report.signal},
                               {"address", report.address},
                               {"fingerprint", report.fingerprint},
                               {"top", report.top}});
  }

  RetryFor retry_for(const Payload& job) {
    return rule_of_retry_for(job, config_.compatibility.sidekiq, fleet_,
                             [this](const std::vector<Command>& commands) { return redis_.pipeline(commands); });
  }

  static std::string in_lines(const CrashReport& report) {
    std::string lines = report.failure.message;
    for (const std::string& frame : report.stack) lines += "\n" + frame;
    return lines;
  }

  // Logs the stack of a job that is stored nowhere.  For a long recursion logs the innermost frames and the outermost
  // ones.
  static void log_stack(const Payload& job, const CrashReport& report) {
    const std::size_t all = report.stack.size(), left_out = all > most_logged_frames ? all - most_logged_frames : 0;
    for (std::size_t i = 0; i < all; ++i) {
      if (left_out > 0 && i == innermost_logged_frames) {
        log::error("crash_stack", {{"jid", job.jid()}, {"frame", fmt::format("{} more", left_out)}});
        i += left_out;
      }
      log::error("crash_stack", {{"jid", job.jid()}, {"frame", report.stack[i]}});
    }
    if (!report.failure.crash_json.empty())
      log::error("crash_facts", {{"jid", job.jid()}, {"facts", report.failure.crash_json}});
  }

  // For a job of a worker whose end is unknown: it is not charged.  But a job that ends its supervisor each time must
  // not do so for ever.
  Outcome give_back_a_few_times(const DeadWorker& worker, const std::string& payload, const std::string& queue) {
    const Reply before = redis_.run(orphan_return_count(payload));
    const bool known = before.view().is_integer();
    if (known && before.view().integer() + 1 >= returns_before_death)
      return move_orphan_to_dead(worker, payload, queue);
    ++returned_;
    return {Outcome::Kind::give_back, "", 0};
  }

  // The script counts a job that goes back for an unknown end as charged.  Reports count it as given back.
  void add_to_total(const RecoveryResult& result) {
    const int returned = std::min(result.charged, returned_);
    total_.acknowledged += result.acknowledged;
    total_.charged += result.charged - returned;
    total_.given_back += result.given_back + returned;
    total_.orphaned += result.orphaned;
  }

  Outcome move_orphan_to_dead(const DeadWorker& worker, const std::string& payload, const std::string& queue) {
    try {
      Payload job = Payload::parse(payload);
      Failure failure;
      failure.error_class = "Orphaned";
      failure.message = "recovered " + std::to_string(returns_before_death) +
                        " times within 72 hours from workers whose end nobody saw (a host or a supervisor died)";
      const bool ask_hooks = mode_ == RecoveryMode::full;
      if (ask_hooks) {
        load_libraries();
        open_for_hooks(job);
      }
      Outcome outcome = settle_orphan(registry_, job, queue, failure, ask_hooks);
      news_.note_failure(worker, job, queue, failure, outcome);
      return noted_if_poison(job, queue, with_reason(std::move(outcome), job, failure));
    } catch (const BadPayload& bad) {
      return move_unreadable_to_dead(payload, queue, bad.what());
    }
  }

  // Decrypts the arguments: a hook that is not static is called on an object made of them.
  void open_for_hooks(Payload& job) {
    if (!is_encrypted(job)) return;
    try {
      registry_.read_keys(config_);
      open_arguments(job, registry_.keys(), config_.encryption);
    } catch (const LibraryError& error) {
      log::warn("keys_not_read", {{"reason", error.what()}});
    }
  }

  void load_libraries() {
    set_environment_of_jobs(config_);
    registry_.load_libraries(config_, {.ended = [this] { redis_.step_done(); }});
  }

  const RecoveryMode mode_;
  const Config& config_;
  RecoveryConnection redis_;
  FleetRelease fleet_;
  JobRegistry registry_;
  std::optional<ChargedCrash> charged_;  // by the recovery under way
  RecoveryNews news_;
  int returned_ = 0;  // how many jobs the recovery under way gives back uncharged
  RecoveryResult total_;
};

}  // namespace

int run_recovery_child(const std::vector<WorkerDeath>& worker_deaths, RecoveryMode mode, const Config& config,
                       const RedisAddress& redis, std::atomic<std::uint64_t>* bytes, const std::string& supervisor) {
  return end_of_recovery([&] { RecoveryChild(mode, config, redis, bytes, supervisor).recover_from(worker_deaths); });
}

int settle_orphaned_jobs(const OrphanedJobs& orphaned_jobs, RecoveryMode mode, const Config& config,
                         const RedisAddress& redis, std::atomic<std::uint64_t>* bytes, const std::string& supervisor) {
  return end_of_recovery([&] { RecoveryChild(mode, config, redis, bytes, supervisor).recover_from(orphaned_jobs); });
}

RecoveryResult recover_orphaned_jobs(const OrphanedJobs& orphaned_jobs, const Config& config,
                                     const RedisAddress& redis) {
  RecoveryChild child(RecoveryMode::no_library, config, redis);
  child.recover_from(orphaned_jobs);
  return child.total();
}

}  // namespace brood
