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
    expire,      // it came too late, at `expiry`, to begin: it ends, and of its class the on_expired hook alone runs
    defer,       // it waits: see `deferral`
    drop,        // another job holds its lock, and it does not want a turn
    skip,        // its batch was cancelled
    unreadable,  // it is no job: see `why`
    not_now,     // settle what is done, then ask again
  } kind = Kind::run;
  Deferral deferral = {};
  WallTime expiry = {};
  std::string why = {};
  bool settles_at_once = false;  // Redis was asked for its lock or its sequence, which goes with the next settle

  // It waits for its class: the jobs behind it may be looked at too.
  bool waits_for_class() const {
    using Why = Deferral::Why;
    return kind == Kind::defer && deferral.why != Why::lock && deferral.why != Why::behind &&
           deferral.why != Why::sequence;
  }
};

// Whether the jobs of one worker may begin, one after the other.  Each payload is parsed here, once on its way.
class Admission {
 public:
  // `redis` is idle while it is asked here.  `knows` tells whether the worker has code for a class.
  Admission(Session& session, Channel& redis, const Config& config, std::function<bool(const std::string&)> knows);

  // A batch begins, which was fetched from `queue`.  `caps` hold in this shard.
  void begin_batch(const std::string& queue, const std::vector<CapSettings>& caps);
  // Brings up to date which classes are in quarantine, and which are paused: see Quarantine::note_pauses().  May ask
  // Redis, so call it before each look whether a job may begin at all.
  void look_at_classes(const NameSet* paused) { classes_may_wait_ = quarantine_.may_defer(paused); }
  // Asks the gates in their order, which admission.cpp lists.  May wait for Redis.
  Decision decide(std::string_view payload);
  // The job of the last decision, unless it was unreadable; its memory serves them all.
  Payload& job() { return job_; }
  // The last decision was carried out.
  void note(const Decision& decision);

  // The code of a job has run for so long, and then: what becomes of the job is known.
  void note_run(const Payload& job, std::chrono::nanoseconds took) { short_classes_.ran(job.code_class(), took); }
  void note_end(const Payload& job) { quarantine_.ended(job); }

  bool is_on_trial() const { return quarantine_.is_kept_trial(); }  // the job of the last decision
  Quarantine& quarantine() { return quarantine_; }
  QuarantinedJobs& quarantined_jobs() { return quarantined_jobs_; }
  // The worker has gone to another shard.
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
  std::optional<WallTime> expired_;  // the job came too late
  bool asked_for_lock_ = false;
  int begun_ = 0, deferred_ = 0;  // jobs of the batch
};

}  // namespace brood
