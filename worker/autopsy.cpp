#include "worker/autopsy.hpp"

#include <sysexits.h>

#include <optional>
#include <utility>
#include <vector>

#include "shared/job/failure.hpp"
#include "shared/job/payload.hpp"
#include "shared/log.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/recovery.hpp"
#include "shared/store/returns.hpp"
#include "worker/failed_job.hpp"
#include "worker/job_registry.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

class Autopsy {
 public:
  Autopsy(RecoveryMode mode, const Config& config, const RedisAddress& address)
      : mode_(mode), config_(config), redis_(address, {2'000ms, 2'000ms}, "brood-autopsy") {}

  void recover_from(const Casualty& casualty) {
    const auto charge = [&](const std::string& payload, const std::string& queue) {
      return casualty.cause_unknown ? give_back_a_few_times(payload, queue) : charge_job(casualty, payload, queue);
    };
    const auto orphan = [&](const std::string& payload, const std::string& queue) {
      return bury_orphan(payload, queue);
    };
    DeadWorker worker = casualty.worker;
    worker.ended_by_brood = !casualty.cause && !casualty.cause_unknown;
    const DeadLimits limits{config_.dead_max_jobs, config_.dead_timeout.count()};
    returned_.clear();
    const RecoveryResult result = recover(redis_, worker, limits, charge, orphan);
    if (result.somebody_was_first) return;
    count_returns();
    log::info("worker_recovered", {{"slot", worker.slot},
                                   {"incarnation", worker.incarnation},
                                   {"acknowledged", result.acknowledged},
                                   {"charged", result.charged},
                                   {"given_back", result.given_back},
                                   {"orphaned", result.orphaned}});
  }

  // One that is refused, for a queue of the wrong type, say, must not hold up the others.
  void recover_from(const std::vector<Casualty>& casualties) {
    std::optional<UnexpectedReply> refused;
    for (const Casualty& casualty : casualties) {
      try {
        recover_from(casualty);
      } catch (const UnexpectedReply& reply) {
        refused = reply;
      }
    }
    if (refused) throw UnexpectedReply(*refused);
  }

  void recover_from(const Estate& estate) {
    const std::string hash = keys::in_flight_hash(estate.identity);
    const Reply fields = redis_.call({"HKEYS", hash});
    std::vector<Casualty> casualties = estate.known;
    for (std::size_t i = 0; i < fields.view().size(); ++i) {
      const auto field = keys::parse_worker_field(fields.view()[i].text());
      if (!field) continue;
      Casualty unknown;
      unknown.worker.identity = estate.identity;
      unknown.worker.slot = field->slot;
      unknown.worker.incarnation = field->incarnation;
      unknown.cause_unknown = true;
      casualties.push_back(std::move(unknown));
    }
    recover_from(casualties);
    // The script that empties the hash forgets the identity; one that never held anything is forgotten here.
    if (redis_.call({"EXISTS", hash}).view().integer() == 0)
      redis_.call({"HDEL", keys::brood_processes, estate.identity});
  }

  void sweep() {
    const int jobs = give_back_lists_without_field(redis_);
    if (jobs > 0) log::warn("stray_jobs_given_back", {{"jobs", jobs}});
  }

 private:
  Outcome charge_job(const Casualty& casualty, const std::string& payload, const std::string& queue) {
    try {
      const Payload job = Payload::parse(payload);
      Failure failure;
      failure.error_class = casualty.cause->error_class;
      failure.message = casualty.cause->message;
      failure.crash = true;
      log::error("job_crashed", {{"jid", job.jid()},
                                 {"class", job.display_class()},
                                 {"queue", queue},
                                 {"error", failure.error_class},
                                 {"message", failure.message}});
      if (mode_ == RecoveryMode::bury)
        return {Outcome::Kind::move_to_dead, with_error(job, failure).text(), epoch_seconds(wall_now())};
      const bool ask_hooks =
          mode_ == RecoveryMode::full && (casualty.class_flags & (class_has_hooks | library_has_death_handlers)) != 0;
      if (ask_hooks) load_libraries();
      return settle_failure(registry_, job, queue, failure, config_, ask_hooks);
    } catch (const BadPayload& bad) {
      return bury_unreadable(payload, queue, bad.what());
    }
  }

  // How its worker ended nobody knows, so nobody is charged; but what takes its supervisor down each time must not do
  // so for ever.  The counter is the one that the recovery script keeps for jobs without a scoreboard.
  Outcome give_back_a_few_times(const std::string& payload, const std::string& queue) {
    const Reply before = send(redis_, returns(payload));
    const bool known = before.view().is_integer();
    if (known && before.view().integer() + 1 >= returns_before_death) return bury_orphan(payload, queue);
    returned_.push_back(payload);
    return {Outcome::Kind::requeue_head, payload, 0};
  }

  // Only once they are back: a recovery that is refused or loses Redis is repeated, and is one return all the same.
  void count_returns() {
    for (const std::string& payload : std::exchange(returned_, {})) send(redis_, count_return(payload));
  }

  Outcome bury_orphan(const std::string& payload, const std::string& queue) {
    try {
      const Payload job = Payload::parse(payload);
      Failure failure;
      failure.error_class = "Orphaned";
      failure.message = "recovered " + std::to_string(returns_before_death) +
                        " times within 72 hours from workers whose end nobody saw (a host or a supervisor died)";
      log::error("job_orphaned", {{"jid", job.jid()}, {"class", job.display_class()}, {"queue", queue}});
      return {Outcome::Kind::move_to_dead, with_error(job, failure).text(), epoch_seconds(wall_now())};
    } catch (const BadPayload& bad) {
      return bury_unreadable(payload, queue, bad.what());
    }
  }

  static Payload with_error(const Payload& job, const Failure& failure) {
    const std::string now = json_time(wall_now(), job.time_unit());
    return job.with({{"error_message", json_string(failure.message)},
                     {"error_class", json_string(failure.error_class)},
                     {job.raw("failed_at") ? "retried_at" : "failed_at", now}});
  }

  void load_libraries() {
    for (const std::string& path : config_.require) registry_.load(path);
  }

  const RecoveryMode mode_;
  const Config& config_;
  Connection redis_;
  JobRegistry registry_;
  std::vector<std::string> returned_;  // payloads that the recovery under way gives back uncharged
};

// Every recovery is harmless to repeat, so whoever loses Redis only says so.
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

int run_autopsy(const std::vector<Casualty>& casualties, RecoveryMode mode, const Config& config,
                const RedisAddress& redis) {
  return answer([&] { Autopsy(mode, config, redis).recover_from(casualties); });
}

int settle_estate(const Estate& estate, RecoveryMode mode, const Config& config, const RedisAddress& redis) {
  return answer([&] { Autopsy(mode, config, redis).recover_from(estate); });
}

int sweep_stray_lists(const RedisAddress& redis) {
  return answer([&] { Autopsy(RecoveryMode::no_library, Config{}, redis).sweep(); });
}

}  // namespace brood
