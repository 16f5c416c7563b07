#include "worker/recovery/charge_and_return_jobs.hpp"

#include <sysexits.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/base/log_facts.hpp"
#include "shared/base/paths.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/config/redis_location.hpp"
#include "shared/config/told_keys.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "shared/otlp/span_pipe.hpp"
#include "shared/redis/pace.hpp"
#include "shared/scoreboard/told_times.hpp"
#include "shared/statsd/statsd.hpp"
#include "shared/store/gem_lock.hpp"
#include "shared/store/in_flight/crash_book.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/locks.hpp"
#include "shared/store/in_flight/orphan_return_count.hpp"
#include "shared/store/in_flight/quarantine.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/in_flight/running_lock.hpp"
#include "shared/store/name_list.hpp"
#include "shared/store/redis_time.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/report/owners.hpp"
#include "shared/store/worker_field.hpp"
#include "worker/crash/core_file.hpp"
#include "worker/crash/crash_report.hpp"
#include "worker/crash/signs_of_life.hpp"
#include "worker/crash/symboliser.hpp"
#include "worker/guard/seccomp_filter.hpp"
#include "worker/job/encrypted_job.hpp"
#include "worker/job/hooks.hpp"
#include "worker/job/job_registry.hpp"
#include "worker/job/settle_failed_job.hpp"
#include "worker/recovery/free_slots.hpp"
#include "worker/recovery/span_of_crash.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto look_for_life_again = 2s;
constexpr Connection::Timeouts timeouts{2'000ms, 2'000ms};
constexpr const char* client_name = "brood-recovery";

// The supervisor ends a child whose line moves nothing for 5 s, or less than the slowest one does.  Other work is
// counted as what that line moves in twice as long.
constexpr std::uint64_t bytes_of_a_step = 10 * Pace::slowest;

class RecoveryChild {
 public:
  RecoveryChild(RecoveryMode mode, const Config& config, const RedisAddress& address,
                std::atomic<std::uint64_t>* bytes = nullptr)
      : mode_(mode), config_(config), redis_(address, timeouts, client_name), progress_(bytes) {
    redis_.count_bytes_in(bytes);
    if (!config.statsd.address.empty()) statsd_.emplace(config.statsd, nullptr);
  }

  // False when its owner lives after all.
  bool recover_from(const WorkerDeath& worker_death) {
    const auto charge = [&](const std::string& payload, const std::string& fetched_from) {
      const std::string queue = home(fetched_from);
      return worker_death.cause_unknown ? give_back_a_few_times(payload, queue)
                                        : charge_job(worker_death, payload, queue);
    };
    const auto orphan = [&](const std::string& payload, const std::string& queue) {
      return move_orphan_to_dead(payload, home(queue));
    };
    DeadWorker worker = worker_death.worker;
    worker.ended_by_brood = !worker_death.cause && !worker_death.fate && !worker_death.cause_unknown;
    const DeadLimits limits{config_.dead_max_jobs, config_.dead_timeout.count()};
    returned_ = 0;
    noted_.reset();
    poison_.clear();
    span_.reset();
    ask_redis_time(redis_);
    const RecoveryResult result = recover(redis_, worker, limits, charge, orphan);
    log::clear_standing_facts();
    if (result.owner_lives) return false;
    if (result.somebody_was_first) return true;
    add_to_total(result);
    if (statsd_) tell(worker, result);
    if (span_ && result.charged > 0) tell_span(worker);
    if (noted_ && result.charged > 0) {
      note(*noted_);
      count_for_quarantine(worker_death);
    }
    log::info("worker_recovered", {{"slot", worker.slot},
                                   {"incarnation", worker.incarnation},
                                   {"acknowledged", result.acknowledged},
                                   {"charged", result.charged},
                                   {"given_back", result.given_back},
                                   {"orphaned", result.orphaned}});
    return true;
  }

  // A recovery that Redis refuses, say for a queue of the wrong type, must not hold up the others.
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
    // The script that empties the hash forgets the identity; one that never held anything is forgotten here.
    forget_process(redis_, orphaned_jobs.identity);
  }

  const RecoveryResult& total() const { return total_; }

  // Locks that somebody's deletion has left, of jobs and of fields.
  void sweep_locks(const OwnIncarnations& own) {
    std::set<std::string> others;
    let_go_of_stray_locks(redis_, [&](const RunningHolder& holder) {
      if (holder.identity == own.identity) return own.lives(holder.field);
      others.insert(holder.identity);
      return true;
    });
    if (!others.empty()) {
      const std::set<std::string> silent = without_sign_of_life(others);
      let_go_of_stray_locks(redis_, [&](const RunningHolder& holder) { return !silent.contains(holder.identity); });
    }
    let_go_of_abandoned_locks(redis_);
  }

  // Slots that nobody has asked for since their holders ended, or their holders' shard was taken out.
  void sweep_slots(const OwnIncarnations& own, const std::vector<RedisAddress>& shards) {
    std::map<std::string, std::optional<Connection>> others;
    for (const RedisAddress& shard : shards) others[shard.shard];
    SlotWitnesses witnesses;
    for (const auto& [name, none] : others) witnesses.shards.insert(name);
    witnesses.shard = [&](const std::string& name) -> Channel& {
      std::optional<Connection>& there = others.at(name);
      const auto address =
          std::find_if(shards.begin(), shards.end(), [&](const RedisAddress& shard) { return shard.shard == name; });
      if (!there) there.emplace(*address, timeouts, client_name);
      return *there;
    };
    witnesses.own = own;
    witnesses.silent = [this](const std::set<std::string>& supervisors) { return without_sign_of_life(supervisors); };
    free_slots_of_the_gone(redis_, witnesses);
  }

  void sweep(const OwnIncarnations& own, const std::vector<RedisAddress>& shards) {
    list_unlisted_processes(redis_);
    std::set<std::string> others;
    int jobs = give_back_lists_without_field(redis_, [&](const InFlightList& list) {
      if (list.identity == own.identity) return own.lives(list.field);
      others.insert(list.identity);
      return true;
    });
    if (!others.empty()) {
      const std::set<std::string> silent = without_sign_of_life(others);
      jobs += give_back_lists_without_field(redis_,
                                            [&](const InFlightList& list) { return !silent.contains(list.identity); });
    }
    if (jobs > 0) log::warn("stray_jobs_given_back", {{"jobs", jobs}});
    sweep_locks(own);
    sweep_slots(own, shards);
  }

 private:
  // Of a queue of jobs that a cap has set aside the one that they come from, whichever capsule serves it.
  std::string home(const std::string& fetched_from) const {
    for (const CapsuleSettings& capsule : config_.capsules) {
      const std::string_view home = home_of(capsule.caps, fetched_from);
      if (home != fetched_from) return std::string(home);
    }
    return fetched_from;
  }

  // What a stop or a deploy gives back is not told: nothing has gone wrong.
  void tell(const DeadWorker& worker, const RecoveryResult& result) {
    StatsdLines& lines = statsd_->lines();
    const std::string queue = worker.record ? worker.record->queue : "";
    const int recovered = result.charged + result.given_back + result.orphaned;
    if (!worker.ended_by_brood)
      lines.count("jobs.recovered.fetch", static_cast<std::uint64_t>(recovered), {{}, queue, {}});
    // The newest: where the dead had settled in between, others were judged before.
    const auto dead = std::min(poison_.size(), static_cast<std::size_t>(result.charged + result.orphaned));
    for (auto job = poison_.end() - static_cast<std::ptrdiff_t>(dead); job != poison_.end(); ++job)
      lines.count("jobs.poison", 1, {job->first, job->second, {}});
    const std::uint64_t lost = statsd_->send();
    if (lost > 0) log::warn("statsd_dropped", {{"datagrams", lost}});
  }

  // The run that the crash ended, where its worker would have told of it.
  void note_span(const WorkerDeath& worker_death, const Payload& job, const std::string& queue,
                 const CrashReport& report) {
    span_.reset();
    if (config_.otlp.endpoint.empty() || !worker_death.run) return;
    const RunSpan span = span_of_crash(config_.otlp, worker_death, job, queue, report);
    log::set_standing_fact("trace_id", hex_of(span.trace.own.trace.data(), span.trace.own.trace.size()));
    if (span.trace.own.is_sampled()) span_ = span;
  }

  void tell_span(const DeadWorker& worker) {
    std::string record;
    append_record(record, *span_);
    std::atomic<std::uint64_t> lost = 0;
    SpanPipe(span_pipe_path(runtime_directory(), worker.identity), &lost).write(record, 1);
    if (lost > 0) log::warn("span_dropped", {{"jid", span_->jid}});
  }

  Outcome noted_if_poison(const Payload& job, const std::string& queue, Outcome outcome) {
    if (outcome.kind == Outcome::Kind::move_to_dead) poison_.emplace_back(job.job_class(), queue);
    return outcome;
  }

  Outcome charge_job(const WorkerDeath& worker_death, const std::string& payload, const std::string& queue) {
    try {
      Payload job = Payload::parse(payload);
      const CrashReport report = describe(worker_death, job);
      note_span(worker_death, job, queue, report);
      if (!worker_death.fate) log_crash(job, queue, report);
      noted_ = crash_of(worker_death, job, queue, report);
      noted_class_ = job.job_class();
      if (worker_death.fate) return settle_by_hand(job, queue, report.failure, *worker_death.fate);
      if (mode_ == RecoveryMode::move_to_dead) {
        const WallTime now = redis_now();
        Outcome outcome{Outcome::Kind::move_to_dead, with_failure(job, report.failure, now).text(), epoch_seconds(now)};
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
      Outcome outcome = settle_failure(registry_, job, queue, report.failure, policy, ask_hooks);
      if (report.failure.crash) outcome = noted_if_poison(job, queue, std::move(outcome));
      if (outcome.kind == Outcome::Kind::acknowledge) log_stack(job, report);
      return outcome;
    } catch (const BadPayload& bad) {
      return move_unreadable_to_dead(payload, queue, bad.what());
    }
  }

  // Each mode risks less: what ended the child before may have been the symboliser, or any text of the record.
  CrashReport describe(const WorkerDeath& worker_death, const Payload& job) const {
    const WorkerDeath::Cause cause = worker_death.cause.value_or(WorkerDeath::Cause{"Killed", "ended by hand", false});
    std::vector<Frame> frames;
    std::optional<std::string> core;
    if (cause.facts && mode_ != RecoveryMode::move_to_dead) {
      const CapturedStack& stack = cause.facts->stack;
      const bool with_names = mode_ == RecoveryMode::full && !worker_death.leave_out_symbols;
      frames =
          frames_of_job(with_names ? symbolise(stack, {.frame_done = [this] { step_done(); }}) : raw_frames(stack));
      core = core_file(*cause.facts);
      step_done();
    }
    return report_crash(cause, frames, job.display_class(), core, redis_now());
  }

  void step_done() const {
    if (progress_ != nullptr) progress_->fetch_add(bytes_of_a_step);
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

  // The whole report of a job that is stored nowhere.
  static void log_stack(const Payload& job, const CrashReport& report) {
    for (const std::string& line : report.stack) log::error("crash_stack", {{"jid", job.jid()}, {"frame", line}});
    if (!report.failure.crash_json.empty())
      log::error("crash_facts", {{"jid", job.jid()}, {"facts", report.failure.crash_json}});
  }

  // What somebody ended by hand is no crash.
  static std::optional<Crash> crash_of(const WorkerDeath& worker_death, const Payload& job, const std::string& queue,
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
    return crash;
  }

  // The book is for people: a crash that it lacks is in its job's record and in the log all the same.
  void note(const Crash& crash) {
    try {
      note_crash(redis_, crash);
    } catch (const std::exception& refused) {
      log::debug("crash_not_noted", {{"fingerprint", crash.fingerprint}, {"reason", refused.what()}});
    }
  }

  // From now on the class's jobs may have to wait.  If Redis does not answer, they go on crashing.
  void count_for_quarantine(const WorkerDeath& worker_death) {
    const QuarantineRules rules{config_.crashes.quarantine_after, config_.crashes.within};
    const bool has_facts = worker_death.cause && worker_death.cause->facts;
    if (rules.after == 0 || !has_facts || noted_class_.empty()) return;
    const DeadWorker& worker = worker_death.worker;
    const QuarantineCrash crash{noted_class_, noted_->fingerprint,
                                fmt::format("{:016x}", worker_death.cause->facts->libraries),
                                worker.identity + " " + worker_field(worker.slot, worker.incarnation)};
    try {
      const CountedCrash counted = read_counted_crash(send(redis_, count_quarantine_crash(crash, rules)).view());
      if (!counted.begins) return;
      log::error("class_quarantined",
                 {{"class", noted_->job_class},
                  {"fingerprint", crash.fingerprint},
                  {"crashes", counted.crashes},
                  {"hint", "its jobs wait until other libraries come, or `brood quarantine release`"}});
    } catch (const std::exception& refused) {
      log::warn("crash_not_counted", {{"fingerprint", crash.fingerprint}, {"reason", refused.what()}});
    }
  }

  // Nobody knows how its worker ended, so the job is not charged.  But a job that takes its supervisor down each time
  // must not do so for ever.
  Outcome give_back_a_few_times(const std::string& payload, const std::string& queue) {
    const Reply before = send(redis_, orphan_return_count(payload));
    const bool known = before.view().is_integer();
    if (known && before.view().integer() + 1 >= returns_before_death) return move_orphan_to_dead(payload, queue);
    ++returned_;
    return {Outcome::Kind::give_back, "", 0};
  }

  // The script counts a job that is given back for an unknown end as charged; everybody else counts it as given back.
  void add_to_total(const RecoveryResult& result) {
    const int returned = std::min(result.charged, returned_);
    total_.acknowledged += result.acknowledged;
    total_.charged += result.charged - returned;
    total_.given_back += result.given_back + returned;
    total_.orphaned += result.orphaned;
  }

  Outcome move_orphan_to_dead(const std::string& payload, const std::string& queue) {
    try {
      const Payload job = Payload::parse(payload);
      Failure failure;
      failure.error_class = "Orphaned";
      failure.message = "recovered " + std::to_string(returns_before_death) +
                        " times within 72 hours from workers whose end nobody saw (a host or a supervisor died)";
      const bool ask_hooks = mode_ == RecoveryMode::full;
      if (ask_hooks) load_libraries();
      return noted_if_poison(job, queue, settle_orphan(registry_, job, queue, failure, ask_hooks));
    } catch (const BadPayload& bad) {
      return move_unreadable_to_dead(payload, queue, bad.what());
    }
  }

  // Takes up to two minutes.
  std::set<std::string> without_sign_of_life(const std::set<std::string>& identities) {
    SignsOfLife signs(identities, steady_now());
    for (;;) {
      for (const std::string& identity : signs.doubtful(steady_now())) {
        const Reply beats = redis_.call(ask_whether_beats(identity));
        // A refusal, say by an access list, does not show that the heartbeat is missing.
        if (read_whether_beats(beats.view()).value_or(true)) signs.seen(identity, steady_now());
      }
      const SteadyTime now = steady_now();
      if (signs.doubtful(now).empty()) return signs.silent(now);
      std::this_thread::sleep_for(look_for_life_again);
    }
  }

  // A hook that is no static one is called on the job's own arguments.
  void open_for_hooks(Payload& job) {
    if (!is_encrypted(job)) return;
    try {
      registry_.read_keys(config_.encryption);
      open_arguments(job, registry_.keys(), config_.encryption);
    } catch (const LibraryError& error) {
      log::warn("keys_not_read", {{"reason", error.what()}});
    }
  }

  void load_libraries() {
    if (config_.worker.seccomp) shield_parent();
    tell_jobs_of_redis(config_.redis);
    tell_jobs_of_keys(config_.encryption, config_.redis.share_with_jobs);
    tell_times(config_.compatibility.time_unit());
    tell_to_serve_gem_locks(config_.compatibility.serves_unique_jobs_gem);
    for (const std::string& path : config_.require) registry_.load(path);
    registry_.tell_errors_to(config_.on_error);
  }

  const RecoveryMode mode_;
  const Config& config_;
  Connection redis_;
  std::atomic<std::uint64_t>* const progress_;  // read by the supervisor; null: nobody watches
  FleetRelease fleet_;
  JobRegistry registry_;
  std::optional<Crash> noted_;                               // the crash that the recovery under way charges
  std::string noted_class_;                                  // as the payload calls it
  std::vector<std::pair<std::string, std::string>> poison_;  // class and queue of jobs that are dead since they crashed
  std::optional<RunSpan> span_;                              // of the run that it charges
  std::optional<Statsd> statsd_;                             // where somebody wants to be told
  int returned_ = 0;                                         // what the recovery under way gives back uncharged
  RecoveryResult total_;
};

// A recovery can be repeated without harm, so losing Redis is only reported.
template <typename Work>
int answer(Work work) {
  try {
    work();
    return EX_OK;
  } catch (const ConnectionLost& lost) {
    log::debug("autopsy_lost_redis", {{"reason", lost.what()}});
    return EX_TEMPFAIL;
  } catch (const UnexpectedReply& refused) {
    log::warn("recovery_refused", {{"reason", refused.what()}});
    return EX_TEMPFAIL;
  } catch (const LibraryError& error) {
    log::error("library_refused", {{"reason", error.what()}});
    return EX_CONFIG;
  }
}

}  // namespace

int run_recovery_child(const std::vector<WorkerDeath>& worker_deaths, RecoveryMode mode, const Config& config,
                       const RedisAddress& redis, std::atomic<std::uint64_t>* bytes) {
  return answer([&] { RecoveryChild(mode, config, redis, bytes).recover_from(worker_deaths); });
}

int settle_orphaned_jobs(const OrphanedJobs& orphaned_jobs, RecoveryMode mode, const Config& config,
                         const RedisAddress& redis, std::atomic<std::uint64_t>* bytes) {
  return answer([&] { RecoveryChild(mode, config, redis, bytes).recover_from(orphaned_jobs); });
}

RecoveryResult recover_orphaned_jobs(const OrphanedJobs& orphaned_jobs, const Config& config,
                                     const RedisAddress& redis) {
  RecoveryChild child(RecoveryMode::no_library, config, redis);
  child.recover_from(orphaned_jobs);
  return child.total();
}

int sweep_strays(const OwnIncarnations& own, const RedisAddress& redis, const std::vector<RedisAddress>& shards) {
  return answer([&] { RecoveryChild(RecoveryMode::no_library, Config{}, redis).sweep(own, shards); });
}

}  // namespace brood
