#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/identity.hpp"
#include "shared/store/outcome.hpp"
#include "worker/admission/admission.hpp"
#include "worker/guard/job_meter.hpp"
#include "worker/run/failure_reports.hpp"
#include "worker/run/forked.hpp"
#include "worker/run/in_process.hpp"
#include "worker/run/job_code.hpp"
#include "worker/run/job_log.hpp"
#include "worker/run/job_run.hpp"
#include "worker/run/job_title.hpp"
#include "worker/run/left_behind.hpp"
#include "worker/run/run_book.hpp"
#include "worker/run/run_spans.hpp"
#include "worker/run/sandboxes.hpp"
#include "worker/run/worker_services.hpp"
#include "worker/run/workplace.hpp"

namespace brood {

// Carries out the decision about each job of a worker, one after the other, and returns its outcome.
class Runner {
 public:
  // `holder`: see LimitKeeper.  Spans go to the exporter of `of_supervisor`.
  Runner(Workplace& place, Admission& admission, Channel& redis, LimitPlaces& limits,
         std::function<LimitHolder()> holder, const Identity& of_supervisor);

  // Loads the libraries, unless they are loaded already.  Throws LibraryError.
  void load_libraries();
  // Call it before the first job.  Each job will find the state of this moment.  If there are isolated classes, it
  // makes the copy of this worker that forks their processes.  Throws LibraryError.
  void prepare();
  // Call it when the worker ends in order.
  void leave();

  // Call these around library code that is no job.  They restore the state as after a job.
  void begin_handlers(std::string_view event);
  void end_handlers();

  // A batch of `jobs` jobs begins.  If there are several, they are short, and their usage is measured once for all.
  void begin_batch(std::size_t jobs);
  void end_batch();

  // Carries out the decision about the job of entry `entry` of the held batch, which was fetched from `queue`.
  // nullopt: it was not carried out, since the supervisor has taken the job back, the job must not begin now, or there
  // is a reason to recycle.  Does not return if the supervisor ends this worker because of the job, or if the job's own
  // process has crashed.
  std::optional<Outcome> carry_out(const Decision& decision, int entry, Payload& job, const std::string& text,
                                   const std::string& queue);
  // Call it when there is no memory for entry `entry`.  It counts as begun, so it is charged when the worker ends for
  // that.
  void begin_unread(int entry);

  WorkerServices& services() { return services_; }
  // Why this worker must be replaced by a new one; nullopt: it goes on.
  std::optional<RecycleReason> reason_to_recycle();

 private:
  std::optional<Outcome> defer_job(const Deferral& deferral, int entry, const Payload& job, const std::string& queue);
  std::optional<Outcome> drop(const char* event, int entry, const Payload& job, const std::string& queue);
  std::optional<Outcome> bury(const std::string& why, int entry, const std::string& text, const std::string& queue);
  std::optional<Outcome> run(int entry, Payload& job, const std::string& queue, std::optional<WallTime> expired);
  bool begin(JobRun& run, bool apart);
  Outcome settle(JobRun& run, Performer& performer);
  Outcome succeed(const JobRun& run);
  Outcome expire(const JobRun& run);
  std::uint32_t class_flags(const Payload& job) const;

  Workplace& place_;
  Admission& admission_;
  WorkerServices services_;
  JobMeter meter_;
  JobCode code_;
  RunBook book_;
  std::optional<RunSpans> spans_;  // if runs are traced
  JobLog log_;
  JobTitle title_;
  std::optional<FailureReports> reports_;  // if failures are reported
  std::vector<Stage*> stages_;
  LeftBehind left_behind_;
  InProcess in_process_;
  std::optional<Sandboxes> sandboxes_;  // of a worker that knows isolated classes, as the next
  std::optional<Forked> forked_;
  bool batch_made_calls_ = false;
  std::string event_;  // the event whose handlers run
};

}  // namespace brood
