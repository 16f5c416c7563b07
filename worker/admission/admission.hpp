#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/config/cap_settings.hpp"
#include "shared/config/config.hpp"
#include "shared/job/payload.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/deferral.hpp"
#include "worker/admission/cancelled_batches.hpp"
#include "worker/admission/quarantine.hpp"
#include "worker/admission/quarantined_jobs.hpp"
#include "worker/admission/short_classes.hpp"
#include "worker/session/session.hpp"

namespace brood {

// The decision about a fetched job whose turn it is.
struct Decision {
  enum class Kind {
    run,         // it begins now
    expire,      // it expired at `expiry`: it ends, and only the on_expired hook of its class runs
    defer,       // it waits: see `deferral`
    drop,        // another job holds its lock, and this job does not wait for the lock
    skip,        // its batch was cancelled
    unreadable,  // it is no job: see `why`
    not_now,     // settle what is done, then ask again
  } kind = Kind::run;
  Deferral deferral = {};
  WallTime expiry = {};
  std::string why = {};
  bool settles_at_once = false;  // it may have got a lock or its sequence, which goes with the next settle

  // Whether it waits because of its class: then the jobs behind it may begin before it.
  bool waits_for_class() const {
    using Why = Deferral::Why;
    return kind == Kind::defer && deferral.why != Why::lock && deferral.why != Why::behind &&
           deferral.why != Why::sequence;
  }
};

// Decides for the jobs of one worker, one after the other, whether they may begin.  Each payload is parsed only here.
class Admission {
 public:
  // `redis` is idle while it is asked here.  `knows` tells whether the worker has code for a class.
  Admission(Session& session, Channel& redis, const Config& config, std::function<bool(const std::string&)> knows);

  // Call it when a batch begins, which was fetched from `queue`.  `caps` are those of this shard.
  void begin_batch(const std::string& queue, const std::vector<CapSettings>& caps);
  // Updates which classes are in quarantine, and which are paused: see Quarantine::note_pauses().  It may ask Redis, so
  // call it before you check whether a job may begin at all.
  void look_at_classes(const NameSet* paused) { classes_may_wait_ = quarantine_.may_defer(paused); }
  // Asks the gates in their order, which admission.cpp lists.  May wait for Redis.
  Decision decide(std::string_view payload);
  // The job of the last decision, unless it was unreadable; the next decision reuses its memory.
  Payload& job() { return job_; }
  // Call it when the last decision was carried out.
  void note(const Decision& decision);

  // Call note_run() when the code of a job has run for `took`, and note_end() when the job's outcome is known.
  void note_run(const Payload& job, std::chrono::nanoseconds took) { short_classes_.ran(job.code_class(), took); }
  void note_end(const Payload& job) { quarantine_.ended(job); }

  bool is_on_trial() const { return quarantine_.is_kept_trial(); }  // the job of the last decision
  Quarantine& quarantine() { return quarantine_; }
  QuarantinedJobs& quarantined_jobs() { return quarantined_jobs_; }
  // Call it when the worker has gone to another shard.
  void forget_shard();

 private:
  using Answer = std::optional<Decision>;  // nullopt: the next gate is asked
  Answer batch();
  Answer cap();
  Answer expiry();
  Answer class_waits();
  Answer order();
  Answer length();
  Answer sequence();
  Answer turn();

  Session& session_;
  Channel& redis_;
  CancelledBatches batches_;
  Quarantine quarantine_;
  QuarantinedJobs quarantined_jobs_;
  ShortClasses short_classes_;
  Payload job_;
  std::string queue_;
  const std::vector<CapSettings>* caps_ = nullptr;
  bool classes_may_wait_ = false;
  std::optional<WallTime> expired_;  // when the job expired; nullopt: it has not
  bool asked_for_lock_ = false;
  int begun_ = 0, deferred_ = 0;  // jobs of the batch
};

}  // namespace brood
