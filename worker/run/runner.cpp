#include "worker/run/runner.hpp"

#include <algorithm>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/errors/error_services.hpp"
#include "shared/job/job_report.hpp"
#include "shared/job/page_text.hpp"
#include "shared/job/random_bytes.hpp"
#include "shared/json/json.hpp"
#include "shared/otlp/span_pipe.hpp"
#include "shared/store/deferral.hpp"
#include "worker/crash/crash_handler.hpp"
#include "worker/guard/own_memory.hpp"
#include "worker/job/libraries_digest.hpp"
#include "worker/job/retry_flags.hpp"
#include "worker/job/settle_failed_job.hpp"

namespace brood {
namespace {

constexpr std::size_t largest_shown = 1 << 20;

// The last run for the report of the job; null if the job keeps none.
std::shared_ptr<const EndOfRun> last_run(const JobRun& run) {
  if (!run.keeps_report) return nullptr;
  EndOfRun last;
  last.elapsed = std::chrono::duration<double>(run.ended - run.started).count();
  if (!run.failed()) {
    last.result = run.result;
  } else {
    last.error_class = run.performed.failure.error_class;
    last.message = run.performed.failure.message;
  }
  return std::make_shared<const EndOfRun>(std::move(last));
}

// The same for a job that ends without a run.
std::shared_ptr<const EndOfRun> not_run(const Payload& job, const char* error_class, const char* message) {
  if (!keeps_report(job)) return nullptr;
  EndOfRun none;
  none.error_class = error_class;
  none.message = message;
  return std::make_shared<const EndOfRun>(std::move(none));
}

}  // namespace

Runner::Runner(Workplace& place, Admission& admission, Channel& redis, LimitPlaces& limits,
               std::function<LimitHolder()> holder, const Identity& of_supervisor)
    : place_(place),
      admission_(admission),
      services_(place, redis, limits, std::move(holder)),
      code_(place, services_, meter_),
      book_(place.slot, place.setup, place.config.statsd),
      log_(place.config, code_),
      left_behind_(place, book_),
      in_process_(place, code_, book_, left_behind_) {
  stages_ = {&book_, &log_, &title_};
  if (reports_errors(place.config)) reports_.emplace(place, of_supervisor);
  if (place.config.otlp.endpoint.empty()) return;
  spans_.emplace(place.config.otlp, of_supervisor.name, place.setup.slot,
                 span_pipe_path(of_supervisor.runtime_directory, of_supervisor.name), place.setup.usage, code_.host());
  stages_.insert(stages_.begin() + 1, &*spans_);  // before the log, whose lines name the trace
}

void Runner::load_libraries() {
  // A crash in a static constructor then names the library.
  place_.registry.load(place_.config, {.begins = [this](const std::string& path) {
                         place_.slot.set_printing(std::string(loading_prefix) + path);
                       }});
  place_.slot.set_printing("");
  place_.registry.require_isolated_classes(place_.config);
  place_.end_if_a_copy("", "");
}

void Runner::prepare() {
  note_libraries();
  code_.limit_memory(place_.setup.in_memory_cgroup ? 0 : place_.settings.memory_limit_bytes);
  left_behind_.note_state();  // with the limit of memory
  const std::uint64_t libraries = libraries_digest(place_.registry);
  place_.slot.record().libraries.store(libraries);
  admission_.quarantine().set_libraries(libraries, steady_now());

  const std::vector<std::string> names = place_.registry.class_names();
  const auto isolated = std::find_if(names.begin(), names.end(),
                                     [this](const std::string& name) { return place_.rules.is_isolated(name); });
  if (isolated == names.end()) return;
  place_.slot.record().forks_jobs.store(1);
  JobForker::require_one_thread(*isolated);
  sandboxes_.emplace(place_);
  forked_.emplace(place_, services_, meter_,
                  JobProcess{place_, code_, spans_ ? &*spans_ : nullptr, title_, left_behind_, *sandboxes_}, *isolated);
}

void Runner::leave() {
  if (forked_) forked_->leave();
  if (sandboxes_) sandboxes_->remove();
}

void Runner::begin_handlers(std::string_view event) {
  event_ = "Event::" + std::string(event);
  place_.slot.set_printing(event_);
}

void Runner::end_handlers() {
  place_.end_if_a_copy("", event_);
  left_behind_.put_right_after_handlers();
  place_.slot.set_printing("");
}

void Runner::begin_batch(std::size_t jobs) {
  if (jobs == 0) return;
  meter_.begin();
  place_.slot.record().cpu_before_us.store(meter_.cpu_before().count());
}

// The jobs of one batch are too short to measure the usage of each.
void Runner::end_batch() {
  const JobUsage together = meter_.end(std::exchange(batch_made_calls_, false));
  if (spans_) spans_->send();
  book_.end_batch(together);
}

std::optional<RecycleReason> Runner::reason_to_recycle() {
  if (place_.settings.max_rss_bytes > 0) place_.age.rss_bytes = read_own_memory().resident_bytes;
  return judge_recycling(place_.settings, place_.age);
}

std::optional<Outcome> Runner::carry_out(const Decision& decision, int entry, Payload& job, const std::string& text,
                                         const std::string& queue) {
  switch (decision.kind) {
    case Decision::Kind::run:
      return run(entry, job, queue, std::nullopt);
    case Decision::Kind::expire:
      return run(entry, job, queue, decision.expiry);
    case Decision::Kind::defer:
      return defer_job(decision.deferral, entry, job, queue);
    case Decision::Kind::drop:
      return drop("job_dropped", entry, job, queue);
    case Decision::Kind::skip:
      return drop("job_skipped", entry, job, queue);
    case Decision::Kind::unreadable:
      return bury(decision.why, entry, text, queue);
    case Decision::Kind::not_now:
      break;
  }
  return std::nullopt;
}

// Defers a job.  It has not begun, and no statistics count it.
std::optional<Outcome> Runner::defer_job(const Deferral& deferral, int entry, const Payload& job,
                                         const std::string& queue) {
  const bool needs_time = deferral.why != Deferral::Why::cap;
  // Make the outcome before the slot is changed: there may be no memory for it.
  Outcome outcome = defer(job, deferral, queue, needs_time ? services_.redis_time() : WallTime{});
  if (!place_.slot.defer(entry)) return std::nullopt;
  if (deferral.why == Deferral::Why::lock || deferral.why == Deferral::Why::behind)
    log_.deferred("job_waits_for_its_turn", job, queue);
  return outcome;
}

std::optional<Outcome> Runner::drop(const char* event, int entry, const Payload& job, const std::string& queue) {
  if (!place_.slot.defer(entry)) return std::nullopt;
  log_.deferred(event, job, queue);
  Outcome outcome;
  outcome.last_run = not_run(job, "JobDropped", "another job held its lock, or its batch was cancelled");
  return outcome;
}

std::optional<Outcome> Runner::bury(const std::string& why, int entry, const std::string& text,
                                    const std::string& queue) {
  if (!place_.slot.begin(entry, "", "", wall_now(), steady_now(), 0)) return std::nullopt;
  ++place_.age.jobs;
  place_.end_entry(entry, EntryState::failed);
  services_.redis_time();
  Outcome outcome = move_unreadable_to_dead(text, queue, why);
  place_.finish_entry(entry, note_of(outcome));
  return outcome;
}

// The class of such a job is unknown, so the flags let the recovery look whether it has hooks.
void Runner::begin_unread(int entry) {
  place_.slot.begin(entry, "", "", wall_now(), steady_now(), class_has_hooks | class_has_handlers);
}

std::uint32_t Runner::class_flags(const Payload& job) const {
  std::uint32_t flags = flags_of_retry(class_retry(place_.registry, job));
  const auto* known = place_.registry.find(job.code_class());
  if (known != nullptr && known->has_hooks()) flags |= class_has_hooks;
  if (place_.registry.has_failure_handlers(job.code_class())) flags |= class_has_handlers;
  for (const std::string* name : {&job.code_class(), &job.jid(), &job.counted_class(), &job.display_class()}) {
    if (has_markup(*name)) flags |= class_is_unsafe_html;
  }
  if (admission_.is_on_trial()) flags |= job_is_on_trial;
  if (job.text().size() > largest_shown) flags |= job_is_large;
  return flags;
}

std::optional<Outcome> Runner::run(int entry, Payload& job, const std::string& queue, std::optional<WallTime> expired) {
  // A job that was pushed without an id gets one, and keeps it: its cursor is stored by it, and people find the job by
  // it.
  if (!job.truthy("jid")) job = job.with({{"jid", json_string(RandomBytes().jid())}});
  const bool apart = forked_ && place_.rules.is_isolated(job.code_class());
  if (apart && !forked_->is_there()) {
    place_.age.lost_forker = true;
    return std::nullopt;
  }
  JobRun run{.entry = entry, .job = job, .queue = queue, .expired = expired};
  run.keeps_report = keeps_report(job);
  if (!begin(run, apart)) return std::nullopt;
  if (expired && !place_.rules.has_on_expired(job.code_class())) return expire(run);

  services_.serve(job);
  const auto timeout = timeout_of(place_.registry, job, place_.settings.job_timeout);
  code_.set_timeout(timeout);
  if (timeout) place_.slot.set_deadline(run.started + *timeout);
  Performer& performer = apart ? static_cast<Performer&>(*forked_) : in_process_;
  for (Stage* const stage : stages_) stage->begin(run);
  performer.perform(run);
  run.ended = steady_now();
  admission_.note_run(job, run.ended - run.started);
  for (Stage* const stage : stages_) stage->end(run);
  batch_made_calls_ |= run.made_calls || run.runs_hooks;
  Outcome outcome = settle(run, performer);
  admission_.note_end(job);
  performer.put_right(run);
  for (Stage* const stage : stages_) stage->settled(run);
  return outcome;
}

// Begins a run.  Returns false if the supervisor has taken the job back.
bool Runner::begin(JobRun& run, bool apart) {
  const std::string& job_class = run.job.code_class();
  run.started = steady_now();
  run.started_at = wall_now();
  run.class_flags = class_flags(run.job);
  if (!book_.speaks_of(run.job))
    book_.speak_of(run.job, {.has_code = place_.rules.has_code(job_class),
                             .allows_threads = place_.rules.threads(job_class) == LeftThreads::allow,
                             .is_isolated = apart});
  book_.note_begin(run);
  if (!place_.slot.begin(run.entry, run.job.jid(), run.job.display_class(), run.started_at, run.started,
                         run.class_flags)) {
    book_.forget(run.entry);
    return false;
  }
  ++place_.age.jobs;
  return true;
}

Outcome Runner::settle(JobRun& run, Performer& performer) {
  if (run.only_expired()) return expire(run);
  switch (run.performed.kind) {
    case Performed::Kind::succeeded:
      return succeed(run);
    case Performed::Kind::interrupted:
      place_.end_entry(run.entry, EntryState::interrupted);
      place_.slot.record().failed.fetch_add(1);  // Sidekiq counts an interruption among the failed runs
      log_.interrupted(run);
      return defer(run.job, Deferral::interrupted(steady_now() - run.started, run.performed.delay), run.queue,
                   services_.redis_time());
    case Performed::Kind::over_limit: {
      place_.end_entry(run.entry, EntryState::interrupted);
      const WallTime now = services_.redis_time();
      log_.over_limit(run);
      return defer(run.job, {.why = Deferral::Why::limit, .delay = run.performed.delay}, run.queue, now);
    }
    case Performed::Kind::failed:
      break;
  }
  // End the entry before the hooks run: if a hook crashes the worker, this must not look like a run that never ended.
  if (place_.slot.entry(run.entry) != EntryState::failed) place_.end_entry(run.entry, EntryState::failed);
  Outcome outcome = performer.judge(run);
  outcome.last_run = last_run(run);
  place_.finish_entry(run.entry, note_of(outcome));
  log_.failed(run);
  if (reports_) reports_->report(run, outcome);
  return outcome;
}

Outcome Runner::succeed(const JobRun& run) {
  Outcome outcome;
  outcome.last_run = last_run(run);
  if (outcome.last_run) place_.slot.note_result(run.entry, note_of_result(*outcome.last_run));
  place_.end_entry(run.entry, EntryState::succeeded);
  if (run.iteration_ended) services_.drop_iteration();
  log_.done(run);
  return outcome;
}

// A job that came too late to begin does not count as a run of its class.
Outcome Runner::expire(const JobRun& run) {
  Outcome outcome = settle_expired(run.job, run.queue, *run.expired, place_.rules.expired(run.job.code_class()));
  if (outcome.kind == Outcome::Kind::acknowledge) {
    outcome.last_run = not_run(run.job, "JobExpired", "it had not begun when it expired");
    place_.end_entry(run.entry, EntryState::succeeded);
  } else {
    place_.end_entry(run.entry, EntryState::failed);
    place_.finish_entry(run.entry, note_of(outcome));
  }
  book_.expire(run.entry);
  return outcome;
}

}  // namespace brood
