#include "worker/run/job_code.hpp"

#include <fmt/format.h>
#include <new>
#include <utility>
#include <vector>

#include "shared/base/host_memory.hpp"
#include "shared/base/log.hpp"
#include "shared/base/log_line.hpp"
#include "shared/job/random_bytes.hpp"
#include "shared/store/deferral.hpp"
#include "worker/crash/throw_watch.hpp"
#include "worker/crash/thrown_stack.hpp"
#include "worker/job/encrypted_job.hpp"
#include "worker/job/program_job.hpp"
#include "worker/job/settle_failed_job.hpp"

namespace brood {
namespace {

// The result of an iterable job that has ended itself when its timeout had passed, as it was asked to.  It counts as
// failed: if it were requeued each time, it would go on for ever.
Performed wound_up_at_timeout(SteadyTime started) {
  Performed performed;
  performed.kind = Performed::Kind::failed;
  performed.failure.error_class = "JobTimeout";
  performed.failure.message = fmt::format("wound up after {:.1f}s, when its timeout had passed",
                                          std::chrono::duration<double>(steady_now() - started).count());
  return performed;
}

Performed failed_with(Failure failure) {
  Performed performed;
  performed.kind = Performed::Kind::failed;
  performed.failure = std::move(failure);
  return performed;
}

}  // namespace

std::optional<std::chrono::milliseconds> RunClock::time_left() const {
  const auto deadline = slot_.deadline();
  if (!deadline) return std::nullopt;
  return std::chrono::ceil<std::chrono::milliseconds>(*deadline - steady_now());
}

void RunClock::set_time_left(std::chrono::milliseconds left) {
  if (moves_deadline_) slot_.set_deadline(steady_now() + left);
}

// If the deadline cannot be moved, the run ends in time, and the next one goes on.
bool RunClock::ends_between_items() {
  const SteadyTime now = steady_now();
  const auto left = time_left();
  items_.next_item(now, left);
  if (!items_.timeout() || !left) return false;
  if (items_.overran(now, left)) return true;
  if (!moves_deadline_) return !items_.fits_another(left);
  if (*left < *items_.timeout()) slot_.set_deadline(now + *items_.timeout());
  return false;
}

bool RunClock::was_too_long() const {
  return items_.iterates() ? items_.overran(steady_now(), time_left()) : out_of_time();
}

Failure out_of_memory(std::string message) {
  Failure failure;
  failure.error_class = "OutOfMemory";
  failure.message = std::move(message);
  return failure;
}

std::optional<Failure> failure_of_victim(const Payload& job, std::uint64_t peak_kb, std::uint64_t share_bytes) {
  if (share_bytes > 0 && peak_kb > share_bytes / 1024)
    return out_of_memory(
        "out of memory: the kernel ended it when the host had none left, and it had more than its share");
  log::warn("job_given_back",
            {{"jid", job.jid()},
             {"class", job.display_class()},
             {"reason", "the kernel ended it when the host had no memory left, and it had no more than its share"}});
  return std::nullopt;
}

JobCode::JobCode(Workplace& place, JobServices& services, JobMeter& meter)
    : place_(place),
      services_(&services),
      meter_(meter),
      clock_(place.slot),
      host_{.stopping = [this] { return place_.orders.told_to_stop() || clock_.out_of_time(); },
            .time_left = [this] { return clock_.time_left(); },
            .set_time_left = [this](std::chrono::milliseconds left) { clock_.set_time_left(left); },
            .capsule = place.capsule,
            .iterations = iteration_host(),
            .limits = limit_host(),
            .result_of =
                [this](std::string_view bid, std::string_view step) {
                  end_if_a_copy();
                  return services_->step_result(bid, step);
                },
            .batch_cancelled =
                [this](std::string_view bid) {
                  end_if_a_copy();
                  return services_->batch_cancelled(bid);
                },
            .log_with = [](std::string_view name, std::string_view value) { log::set_standing_fact(name, value); },
            .keep_result =
                [this](std::string json) {
                  if (run_->keeps_report) run_->result = std::move(json);
                },
            .note_progress = [this](const JobProgress& progress) { services_->note_progress(progress); }} {}

IterationHost JobCode::iteration_host() {
  return {.max_runtime = place_.config.max_iteration_runtime,
          .interrupt = [this] { return clock_.ends_between_items() || place_.orders.told_to_quiet(); },
          .load =
              [this] {
                end_if_a_copy();
                return services_->load_iteration();
              },
          .save =
              [this](const IterationState& state) {
                end_if_a_copy();
                return services_->save_iteration(state);
              },
          .end = [this] { run_->iteration_ended = true; }};
}

LimitHost JobCode::limit_host() {
  return {.take =
              [this](const std::vector<Limit>& limits, std::chrono::milliseconds wait) {
                end_if_a_copy();
                return services_->take_limits({limits, wait}, [] { return true; });
              },
          .give_back =
              [this](const std::vector<LimitUse>& uses) {
                end_if_a_copy();
                services_->give_back_limits(uses);
              }};
}

void JobCode::become_a_job(JobServices& services) {
  services_ = &services;
  watches_ = false;
}

void JobCode::end_if_a_copy() const { place_.end_if_a_copy(run_->job); }

bool JobCode::came_in_clear(const Payload& job) const {
  return !is_encrypted(job) && place_.rules.encrypts(job.code_class());
}

void JobCode::open(JobRun& run) {
  if (is_encrypted(run.job)) run.locked = open_arguments(run.job, place_.registry.keys(), place_.config.encryption);
  if (came_in_clear(run.job) && place_.config.encryption.require) run.locked = not_encrypted(run.job);
}

void JobCode::perform(JobRun& run) {
  run_ = &run;
  run.performed = perform_within_limits(run);
  if (run.expired) run.performed.kind = Performed::Kind::succeeded;  // even if the hook failed
}

// Runs the job within its limits.  A job that finds no memory under its limit has failed; the memory that it has leaked
// is still used.
Performed JobCode::perform_within_limits(JobRun& run) {
  Performed performed;
  clock_.begin(steady_now(), host_.timeout);
  try {
    const auto imposed = memory_limit_->impose();
    performed = perform_watched(run);
  } catch (const std::bad_alloc&) {  // thrown by the code around the job's own
    if (!memory_limit_->in_force()) throw;
    performed.kind = Performed::Kind::failed;
    performed.failure.error_class = "std::bad_alloc";
  }
  if (performed.kind == Performed::Kind::interrupted && clock_.was_too_long()) return wound_up_at_timeout(run.started);
  if (performed.kind != Performed::Kind::failed) return performed;
  if (auto out_of_memory = memory_limit_->judge(performed.failure)) {
    performed.failure = std::move(*out_of_memory);
    place_.age.ran_out_of_memory = true;
  }
  return defer_over_limit(std::move(performed), run.job, RandomBytes().fraction());
}

// Runs `code`, and finds out whether it makes system calls.
template <typename Code>
void JobCode::watched(JobRun& run, Code code) {
  if (watches_) watch_.begin_job();
  code();
  place_.output.flush();
  if (watches_) run.made_calls = watch_.end_job();
}

Performed JobCode::perform_watched(JobRun& run) {
  run.made_calls = true;
  if (run.locked && !run.expired) return failed_with(*run.locked);
  Performed performed;
  if (run.expired) {
    watched(run, [&] { run_expired_hook(run); });
    return performed;
  }
  if (const CommandSettings* program = place_.registry.find_program(run.job.code_class()))
    return run_program(*program, run);
  watched(run, [&] {
    std::optional<ThrowWatch> throws;
    if (run.job.truthy("backtrace") || place_.config.errors.backtrace) throws.emplace();
    performed = brood::perform(place_.registry, run.job, run.queue, host_);
    Failure& failure = performed.failure;
    failure.message = shown_message(run.job, failure.error_class, std::move(failure.message));
    if (throws) run.thrown_at = throws->stack_of(performed.thrown);
  });
  return performed;
}

void JobCode::run_expired_hook(const JobRun& run) {
  const auto threw = tell_expired(place_.registry, run.job, run.queue);
  if (!threw) return;
  log::error("on_expired_threw", {{"class", run.job.display_class()},
                                  {"jid", run.job.jid()},
                                  {"error", threw->error_class},
                                  {"message", shown_message(run.job, threw->error_class, threw->message)}});
}

Performed JobCode::run_program(const CommandSettings& program, const JobRun& run) {
  return perform_in_middleware(place_.registry, run.job, run.queue, host_, [&](const Payload& as_changed) {
    const std::uint64_t kills = host_oom_kills();
    ProgramRun of_program =
        perform_program(program, as_changed, run.job, run.queue, host_, place_.settings.timeout_grace);
    meter_.note_child_peak(of_program.peak_kb);
    // In a sandbox it is most often the job's own limit that was reached.
    const bool is_in_sandbox = place_.rules.sandbox(run.job.code_class()) != nullptr;
    if (!of_program.was_killed || is_in_sandbox || host_oom_kills() <= kills) return std::move(of_program.performed);
    if (auto failure = failure_of_victim(run.job, of_program.peak_kb, share_of_host(place_)))
      return failed_with(std::move(*failure));
    Performed given_back;
    given_back.kind = Performed::Kind::interrupted;
    return given_back;
  });
}

Outcome JobCode::judge(JobRun& run, bool ask_hooks) {
  const FailureRule rule = services_->failure_rule();  // also for Redis's time
  if (run.locked) return settle_undecipherable(place_.registry, run.job, run.queue, run.performed.failure);
  RetryPolicy policy{place_.config.max_retries, place_.settings.max_crashes};
  policy.retry_for = rule.retry_for;
  Failure& failure = run.performed.failure;
  if (failure.backtrace.empty()) failure.backtrace = describe_throw(run.thrown_at);
  const std::optional<Payload> anew = without_times_over_limit(run.job);
  Outcome outcome = settle_failure(place_.registry, anew ? *anew : run.job, run.queue, failure, policy, ask_hooks);
  if (run.runs_hooks) place_.end_if_a_copy(run.job);
  return outcome;
}

std::uint64_t share_of_host(const Workplace& place) {
  return place.setup.host_bytes / (static_cast<std::uint64_t>(place.config.concurrency()) + 1);
}

}  // namespace brood
