#include "worker/performing/performer.hpp"

#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <new>
#include <utility>

#include "shared/base/host_memory.hpp"
#include "shared/base/log.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/job/expiry.hpp"
#include "shared/job/page_text.hpp"
#include "shared/job/random_bytes.hpp"
#include "shared/json/json.hpp"
#include "shared/store/deferral.hpp"
#include "shared/store/redis_time.hpp"
#include "worker/crash/crash_handler.hpp"
#include "worker/crash/throw_watch.hpp"
#include "worker/crash/thrown_stack.hpp"
#include "worker/guard/own_memory.hpp"
#include "worker/job/encrypted_job.hpp"
#include "worker/job/libraries_digest.hpp"
#include "worker/job/library_text.hpp"
#include "worker/job/program_job.hpp"
#include "worker/job/retry_flags.hpp"
#include "worker/job/settle_failed_job.hpp"
#include "worker/performing/memory_victim.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto look_for_the_end = 1000ms;
constexpr std::size_t largest_shown = 1 << 20;
constexpr auto longest_look_at_fleet = 2000ms;

std::uint32_t class_flags(const JobRegistry& registry, const Payload& job) {
  std::uint32_t flags = flags_of_retry(class_retry(registry, job));
  const auto* known = registry.find(job.job_class());
  if (known != nullptr && known->has_hooks()) flags |= class_has_hooks;
  if (registry.has_failure_handlers(job.job_class())) flags |= class_has_handlers;
  for (const std::string* name : {&job.job_class(), &job.jid(), &job.counted_class(), &job.display_class()}) {
    if (has_markup(*name)) flags |= class_is_unsafe_html;
  }
  return flags;
}

double seconds_since(SteadyTime start) { return std::chrono::duration<double>(steady_now() - start).count(); }

// For an iterable job that ended when its timeout had passed.  It did what it was asked to; but if it were requeued
// each time its time is up, it would go on for ever.
Performed wound_up_at_timeout(SteadyTime started) {
  Failure failure;
  failure.error_class = "JobTimeout";
  failure.message = fmt::format("wound up after {:.1f}s, when its timeout had passed", seconds_since(started));
  return {Performed::Kind::failed, std::move(failure)};
}

log::Fact elapsed_since(SteadyTime started) {
  log::Fact elapsed("elapsed", fmt::format("{:.3f}", seconds_since(started)));
  elapsed.bare = true;  // a number
  return elapsed;
}

void log_end(log::Level level, std::string_view event, const Payload& job, const std::string& queue,
             SteadyTime started) {
  if (!log::enabled(level)) return;
  log::write(level, event,
             {{"jid", job.jid()}, {"class", job.display_class()}, {"queue", queue}, elapsed_since(started)});
}

}  // namespace

Performer::Performer(const Config& config, const Identity& of_supervisor, const WorkerSetup& worker_setup,
                     WorkerSlot& slot, SupervisorOrders& control, Channel& redis, JobRegistry& registry)
    : config_(config),
      worker_setup_(worker_setup),
      settings_(config.worker_of(worker_setup.capsule)),
      slot_(slot),
      orders_(control),
      redis_(redis),
      runs_(slot, worker_setup, config.statsd),
      output_(worker_setup.output, worker_setup.output_token),
      iterations_(redis),
      ask_redis_([&redis](const std::vector<Command>& commands) {
        return redis.call_patiently(commands, {longest_look_at_fleet, longest_look_at_fleet});
      }),
      host_{.stopping = [this] { return orders_.told_to_stop() || out_of_time(); },
            .time_left = [this] { return time_left(); },
            .set_time_left = [this](std::chrono::milliseconds left) { slot_.set_deadline(steady_now() + left); },
            .capsule = config.capsules.at(static_cast<std::size_t>(worker_setup.capsule)).name,
            .iterations = iteration_host(),
            .limits = limit_host(),
            .log_with = [](std::string_view name, std::string_view value) { log::set_standing_fact(name, value); }},
      registry_(registry),
      rules_(config, settings_, registry_),
      quarantine_(redis, {config.crashes.quarantine_after, config.crashes.within},
                  [&registry](const std::string& job_class) { return registry.find(job_class) != nullptr; }),
      left_behind_(slot.record(), output_, rules_, runs_, age_) {
  if (!config.otlp.endpoint.empty())
    spans_.emplace(config.otlp, of_supervisor.name, worker_setup.slot,
                   span_pipe_path(of_supervisor.runtime_directory, of_supervisor.name), worker_setup.usage, host_);
}

// A copy of this worker, forked by a job, must not touch the connection.
IterationHost Performer::iteration_host() {
  return {.max_runtime = config_.max_iteration_runtime,
          .interrupt = [this] { return ends_between_items() || orders_.told_to_quiet(); },
          .load =
              [this] {
                end_if_a_copy(job_.jid(), job_.display_class());
                return iterations_.load(job_.jid(), [&](std::chrono::milliseconds length) {
                  orders_.wait(length);
                  return !orders_.told_to_quiet() && !out_of_time();
                });
              },
          .save =
              [this](const IterationState& state) {
                end_if_a_copy(job_.jid(), job_.display_class());
                return iterations_.save(job_.jid(), state);
              },
          .end = [this] { iteration_ended_ = true; }};
}

LimitHost Performer::limit_host() {
  return {.take =
              [this](const std::vector<Limit>& limits, std::chrono::milliseconds wait) {
                end_if_a_copy(job_.jid(), job_.display_class());
                if (!limits_) return LimitResult{LimitResult::Kind::refused, 0, "this worker keeps no limits"};
                return limits_->take(limits, wait);
              },
          .give_back =
              [this](const std::vector<LimitUse>& uses) {
                end_if_a_copy(job_.jid(), job_.display_class());
                if (limits_) limits_->give_back(uses);
              }};
}

void Performer::keep_limits(LimitKeeper::Setup setup) {
  setup.pause = [this](std::chrono::milliseconds length) {
    if (length.count() > 0) orders_.wait(length);
    return !orders_.told_to_quiet() && !out_of_time();
  };
  limits_.emplace(std::move(setup));
}

void Performer::load_libraries() {
  // A crash in a static constructor then names the library.
  registry_.load(
      config_, {.begins = [this](const std::string& path) { slot_.set_printing(std::string(loading_prefix) + path); }});
  slot_.set_printing("");
  registry_.require_isolated_classes(config_);
  end_if_a_copy("", "");
}

void Performer::note_process_state() {
  note_libraries();
  memory_limit_.emplace(worker_setup_.in_memory_cgroup ? 0 : settings_.memory_limit_bytes);
  left_behind_.note_state();  // with the limit of memory
  const std::uint64_t libraries = libraries_digest(registry_);
  slot_.record().libraries.store(libraries);
  quarantine_.set_libraries(libraries);
}

std::optional<Outcome> Performer::perform_entry(int entry, const std::string& text, const std::string& queue,
                                                bool others_wait) {
  try {
    read_job(text);
  } catch (const BadPayload& bad) {
    if (!slot_.begin(entry, "", "", wall_now(), steady_now(), 0)) return std::nullopt;
    ++age_.jobs;
    return move_to_dead(entry, text, queue, bad.what());
  }
  if (others_wait && !short_classes_.contain(job_.job_class())) return std::nullopt;
  const bool too_late = came_too_late();
  const bool apart = forker_ && rules_.is_isolated(job_.job_class());
  if (apart && !forker_->is_there()) {
    age_.lost_forker = true;
    return std::nullopt;
  }
  const SteadyTime started = steady_now();
  const std::uint32_t flags = class_flags(registry_, job_) | (quarantine_.is_kept_trial() ? job_is_on_trial : 0U) |
                              (text.size() > largest_shown ? job_is_large : 0U);
  const WallTime started_at = wall_now();
  if (!runs_.speaks_of(job_)) runs_.speak_of(job_, class_facts());
  runs_.begin(entry, job_, queue, started_at);
  if (!slot_.begin(entry, job_.jid(), job_.display_class(), started_at, started, flags)) {
    runs_.forget(entry);
    return std::nullopt;
  }
  ++age_.jobs;
  if (too_late && !rules_.has_on_expired(job_.job_class())) {
    quarantine_.does_not_begin(job_);
    return expire(entry, queue);
  }

  host_.timeout = timeout_of(registry_, job_, settings_.job_timeout);
  if (host_.timeout) slot_.set_deadline(started + *host_.timeout);
  if (spans_) spans_->begin(job_, queue, started_at);
  if (log::enabled(level_of_jobs()))
    log::write(level_of_jobs(), "job_started",
               {{"jid", job_.jid()}, {"class", job_.display_class()}, {"queue", queue}});
  warn_of_clear_job(queue);
  foreign_batches_.note(job_, started);
  ignored_options_.note(job_, started);
  title_.begin(job_.display_class(), std::chrono::system_clock::to_time_t(started_at));
  if (apart) return perform_apart(entry, job_.text(), queue, started);
  runs_.note_recent();
  open_job();
  const Performed performed = perform_within_limits(job_, queue, started);
  if (made_calls_) end_if_a_copy(job_.jid(), job_.display_class());
  const bool failed = performed.kind == Performed::Kind::failed && !expired_;
  runs_hooks_ = failed && (flags & (class_has_hooks | class_has_handlers)) != 0;
  batch_made_calls_ |= made_calls_ || runs_hooks_;
  if (made_calls_) left_behind_.look(job_);
  const SteadyTime ended = steady_now();
  short_classes_.ran(job_.job_class(), ended - started);
  runs_.end(entry, failed, whole_ms(started, ended));
  Outcome outcome = expired_ ? expire(entry, queue) : settle(entry, job_, queue, performed, started);
  if (failed) runs_.note_error(entry, performed.failure.error_class);
  if (spans_ && expired_) spans_->drop();
  if (spans_ && !expired_) spans_->end(performed, ended - started);
  quarantine_.ended(job_);
  if (runs_hooks_) left_behind_.look(job_);
  log::clear_standing_facts();
  title_.end();
  left_behind_.put_right(made_calls_ || runs_hooks_);
  return outcome;
}

// ---- The guards around a job

// A job that finds no memory under its limit has failed like any other; but what it has leaked is still there.
Performed Performer::perform_within_limits(const Payload& job, const std::string& queue, SteadyTime started) {
  Performed performed;
  item_clock_.begin(steady_now(), host_.timeout ? host_.timeout : time_left());
  try {
    const auto imposed = memory_limit_->impose();
    performed = perform_watched(job, queue);
  } catch (const std::bad_alloc&) {  // nor was there any left for what surrounds the job's code
    if (!memory_limit_->in_force()) throw;
    performed.kind = Performed::Kind::failed;
    performed.failure.error_class = "std::bad_alloc";
  }
  if (performed.kind == Performed::Kind::interrupted && ran_out_of_time()) return wound_up_at_timeout(started);
  if (performed.kind != Performed::Kind::failed) return performed;
  if (auto out_of_memory = memory_limit_->judge(performed.failure)) {
    performed.failure = std::move(*out_of_memory);
    age_.ran_out_of_memory = true;
  }
  return defer_over_limit(std::move(performed), job, RandomBytes().fraction());
}

Performed Performer::perform_watched(const Payload& job, const std::string& queue) {
  made_calls_ = true;
  iteration_ended_ = false;
  thrown_at_.clear();
  if (locked_ && !expired_) {
    Performed performed;
    performed.kind = Performed::Kind::failed;
    performed.failure = *locked_;
    return performed;
  }
  if (expired_) {
    if (!channel_) syscall_watch_.begin_job();
    if (const auto threw = tell_expired(registry_, job, queue))
      log::error("on_expired_threw", {{"class", job.display_class()},
                                      {"jid", job.jid()},
                                      {"error", threw->error_class},
                                      {"message", shown_message(job, threw->error_class, threw->message)}});
    output_.flush();
    if (!channel_) made_calls_ = syscall_watch_.end_job();
    return {};
  }
  if (const CommandSettings* program = registry_.find_program(job.job_class())) {
    return perform_in_middleware(registry_, job, queue, host_, [&](const Payload& as_changed) {
      const std::uint64_t kills = host_oom_kills();
      ProgramRun run = perform_program(*program, as_changed, job, queue, host_, settings_.timeout_grace);
      meter_.note_child_peak(run.peak_kb);
      // In a sandbox it is the job's own limit that has no memory left, most often.
      if (!run.was_killed || rules_.sandbox(job.job_class()) != nullptr || host_oom_kills() <= kills)
        return std::move(run.performed);
      Performed performed;
      performed.kind = Performed::Kind::interrupted;
      if (auto failure = failure_of_victim(job_, run.peak_kb, share_of_host())) {
        performed.kind = Performed::Kind::failed;
        performed.failure = std::move(*failure);
      }
      return performed;
    });
  }
  if (!channel_) syscall_watch_.begin_job();
  std::optional<ThrowWatch> throws;
  if (job.truthy("backtrace")) throws.emplace();
  Performed performed = perform(registry_, job, queue, host_);
  performed.failure.message = shown_message(job, performed.failure.error_class, std::move(performed.failure.message));
  thrown_at_ = throws ? throws->stack_of(performed.thrown) : std::vector<std::uint64_t>();
  throws.reset();
  output_.flush();
  if (!channel_) made_calls_ = syscall_watch_.end_job();
  return performed;
}

// In bytes.
std::uint64_t Performer::share_of_host() const {
  return worker_setup_.host_bytes / (static_cast<std::uint64_t>(config_.concurrency()) + 1);
}

Outcome Performer::settle(int entry, const Payload& job, const std::string& queue, const Performed& performed,
                          SteadyTime started) {
  switch (performed.kind) {
    case Performed::Kind::succeeded:
      end_entry(entry, EntryState::succeeded);
      if (iteration_ended_) iterations_.drop(job.jid());
      log_end(level_of_jobs(), "job_done", job, queue, started);
      return {};
    case Performed::Kind::interrupted:
      end_entry(entry, EntryState::interrupted);
      slot_.record().failed.fetch_add(1);  // Sidekiq counts an interruption among the failed runs
      log_end(level_of_jobs(), "job_interrupted", job, queue, started);
      ask_redis_time(redis_);
      return defer(job, Deferral::interrupted(steady_now() - started, performed.delay), queue, redis_now());
    case Performed::Kind::over_limit:
      end_entry(entry, EntryState::interrupted);
      return defer_for_limit(job, queue, performed);
    case Performed::Kind::failed:
      break;
  }
  // Before the hooks run: one that crashes the worker must not make this look like a run that never ended.
  end_entry(entry, EntryState::failed);
  Outcome outcome = judge(job, queue, performed.failure);
  if (!slot_.finish_entry(entry, note_of(outcome))) wait_for_the_end();
  log_failure(job, queue, started, performed.failure);
  return outcome;
}

bool Performer::came_in_clear() const { return !is_encrypted(job_) && rules_.encrypts(job_.job_class()); }

// Once for each class: whoever pushes one so, pushes all so.
void Performer::warn_of_clear_job(const std::string& queue) {
  if (config_.encryption.require || !came_in_clear() || !told_of_clear_.insert(job_.job_class()).second) return;
  log::warn("job_in_clear",
            {{"jid", job_.jid()},
             {"class", job_.display_class()},
             {"queue", queue},
             {"hint",
              "its class says that its jobs are encrypted, and this one was pushed in clear; [encryption] "
              "require = true refuses such jobs"}});
}

// In the process that performs it, and nowhere else.
void Performer::open_job() {
  locked_.reset();
  if (is_encrypted(job_)) locked_ = open_arguments(job_, registry_.keys(), config_.encryption);
  if (came_in_clear() && config_.encryption.require) locked_ = not_encrypted(job_);
}

// A job that was pushed without an id gets one for its run, and keeps it over what follows: by it its cursor is found,
// and people find the job.
void Performer::read_job(const std::string& text) {
  job_.read(text);
  if (job_.truthy("jid")) return;
  job_ = job_.with({{"jid", json_string(RandomBytes().jid())}});
}

// A clock that may be wrong drops no job: Redis is asked for the time first, which it told a moment ago in general.  A
// job of which nobody can tell runs.
bool Performer::came_too_late() {
  expired_.reset();
  const std::optional<WallTime> expiry = expiry_of(job_);
  if (!expiry || redis_now() <= *expiry) return false;
  ask_redis_time(redis_);
  if (!redis_time_is_known() || redis_now() <= *expiry) return false;
  expired_ = expiry;
  return true;
}

// Ends a job that came too late to begin.  It does not count as a run of its class.
Outcome Performer::expire(int entry, const std::string& queue) {
  Outcome outcome = settle_expired(job_, queue, *expired_, rules_.expired(job_.job_class()));
  if (outcome.kind == Outcome::Kind::acknowledge) {
    end_entry(entry, EntryState::succeeded);
  } else {
    end_entry(entry, EntryState::failed);
    if (!slot_.finish_entry(entry, note_of(outcome))) wait_for_the_end();
  }
  runs_.expire(entry);
  return outcome;
}

// What becomes of a job that failed: its hooks run.
Outcome Performer::judge(const Payload& job, const std::string& queue, Failure failure, bool ask_hooks) {
  if (locked_) {
    failure_rule();  // for Redis's time
    return settle_undecipherable(registry_, job, queue, failure);
  }
  RetryPolicy policy{config_.max_retries, settings_.max_crashes};
  policy.retry_for = failure_rule().retry_for;
  if (failure.backtrace.empty()) failure.backtrace = describe_throw(thrown_at_);
  const std::optional<Payload> anew = without_times_over_limit(job);
  Outcome outcome = settle_failure(registry_, anew ? *anew : job, queue, failure, policy, ask_hooks);
  if (runs_hooks_) end_if_a_copy(job.jid(), job.display_class());
  return outcome;
}

FailureRule Performer::failure_rule() {
  if (channel_) {
    const SteadyTime asked = steady_now();
    const FailureRule rule = channel_->ask_failure_rule();
    note_redis_time(rule.now, asked, steady_now());
    return rule;
  }
  ask_redis_time(redis_);
  return {rule_of_retry_for(job_, config_.compatibility.sidekiq, fleet_, ask_redis_), redis_now()};
}

Outcome Performer::move_to_dead(int entry, const std::string& text, const std::string& queue, const std::string& why) {
  end_entry(entry, EntryState::failed);
  ask_redis_time(redis_);
  Outcome outcome = move_unreadable_to_dead(text, queue, why);
  if (!slot_.finish_entry(entry, note_of(outcome))) wait_for_the_end();
  return outcome;
}

// Of its class nobody knows what it has: the recovery looks.
void Performer::begin_unread(int entry) {
  slot_.begin(entry, "", "", wall_now(), steady_now(), class_has_hooks | class_has_handlers);
}

bool Performer::is_to_park(const std::string& text) {
  try {
    job_.read(text);
  } catch (const BadPayload&) {
    return false;
  }
  return !came_too_late() && quarantine_.defers(job_);
}

bool Performer::is_too_late(const std::string& text) {
  try {
    job_.read(text);
  } catch (const BadPayload&) {
    return false;
  }
  return came_too_late();
}

// The job that was asked about last has not begun, and is counted nowhere.
std::optional<Outcome> Performer::park(int entry, const std::string& queue) {
  ask_redis_time(redis_);
  // Before the slot says so: there may be no memory for it.
  Outcome outcome = defer(job_, {.why = Deferral::Why::quarantine}, queue, redis_now());
  if (!slot_.defer(entry)) return std::nullopt;
  return outcome;
}

std::optional<Outcome> Performer::put_off(int entry, const std::string& text, const std::string& queue, bool dropped) {
  const Payload job = Payload::parse(text);
  Outcome outcome;
  if (!dropped) {
    ask_redis_time(redis_);
    outcome = defer(job, {.why = Deferral::Why::lock}, queue, redis_now());
  }
  if (!slot_.defer(entry)) return std::nullopt;
  quarantine_.does_not_begin(job);
  log::write(level_of_jobs(), dropped ? "job_dropped" : "job_waits_for_its_turn",
             {{"jid", job.jid()}, {"class", job.display_class()}, {"queue", queue}});
  return outcome;
}

Outcome Performer::defer_for_limit(const Payload& job, const std::string& queue, const Performed& performed) const {
  ask_redis_time(redis_);
  if (log::enabled(level_of_jobs()))
    log::write(level_of_jobs(), "job_over_limit",
               {{"jid", job.jid()},
                {"class", job.display_class()},
                {"queue", queue},
                {"reason", performed.failure.message},
                {"times", times_over_limit(job) + 1},
                {"in", fmt::format("{:.1f}s", std::chrono::duration<double>(performed.delay).count())}});
  return defer(job, {.why = Deferral::Why::limit, .delay = performed.delay}, queue, redis_now());
}

void Performer::begin_batch(std::size_t jobs) {
  if (jobs == 0) return;
  meter_.begin();
  slot_.record().cpu_before_us.store(meter_.cpu_before().count());
}

RunBook::ClassFacts Performer::class_facts() const {
  return {.has_code = rules_.has_code(job_.job_class()),
          .allows_threads = rules_.threads(job_.job_class()) == LeftThreads::allow,
          .is_isolated = forker_ && rules_.is_isolated(job_.job_class())};
}

// Jobs of one batch are too short to tell apart what each of them used.
void Performer::end_batch() {
  const JobUsage together = meter_.end(std::exchange(batch_made_calls_, false));
  if (spans_) spans_->send();
  runs_.end_batch(together);
}

void Performer::begin_handlers(std::string_view event) {
  event_ = "Event::" + std::string(event);
  slot_.set_printing(event_);
}

void Performer::end_handlers() {
  end_if_a_copy("", event_);
  left_behind_.put_right_after_handlers();
  slot_.set_printing("");
}

std::optional<RecycleReason> Performer::reason_to_recycle() {
  if (settings_.max_rss_bytes > 0) age_.rss_bytes = read_own_memory().resident_bytes;
  return judge_recycling(settings_, age_);
}

std::optional<std::chrono::milliseconds> Performer::time_left() const {
  const auto deadline = slot_.deadline();
  if (!deadline) return std::nullopt;
  return std::chrono::ceil<std::chrono::milliseconds>(*deadline - steady_now());
}

bool Performer::out_of_time() const { return time_left().value_or(1ms) <= 0ms; }

// Each item of an iterable job has all of the timeout.  From within a sandbox the deadline cannot be moved: then the
// run ends in time, and the next one goes on.
bool Performer::ends_between_items() {
  const SteadyTime now = steady_now();
  const auto left = time_left();
  item_clock_.next_item(now, left);
  if (!item_clock_.timeout() || !left) return false;
  if (item_clock_.overran(now, left)) return true;
  if (!moves_deadline_) return !item_clock_.fits_another(left);
  if (*left < *item_clock_.timeout()) slot_.set_deadline(now + *item_clock_.timeout());
  return false;
}

bool Performer::ran_out_of_time() const {
  return item_clock_.iterates() ? item_clock_.overran(steady_now(), time_left()) : out_of_time();
}

// As Sidekiq counts them: the difference of whole milliseconds, so that many short runs add up to what they took.
std::chrono::milliseconds Performer::whole_ms(SteadyTime from, SteadyTime to) {
  using std::chrono::milliseconds;
  return std::chrono::floor<milliseconds>(to).time_since_epoch() -
         std::chrono::floor<milliseconds>(from).time_since_epoch();
}

void Performer::log_failure(const Payload& job, const std::string& queue, SteadyTime started, const Failure& failure) {
  log::warn("job_failed", {{"jid", job.jid()},
                           {"class", job.display_class()},
                           {"queue", queue},
                           elapsed_since(started),
                           {"error", failure.error_class},
                           {"message", failure.message}});
}

void Performer::end_entry(int entry, EntryState state) {
  if (!slot_.end(entry, state)) wait_for_the_end();
}

// The supervisor has decided what becomes of this job, and ends this worker.
void Performer::wait_for_the_end() {
  log::flush();
  while (channel_) pause();  // it ends with the worker
  while (!orders_.supervisor_gone()) orders_.wait(look_for_the_end);
  _exit(EX_SOFTWARE);
}

// Code of a library that forks and lets both processes return: the copy holds the worker's connection and its slot, and
// must touch neither.
void Performer::end_if_a_copy(std::string_view jid, std::string_view job_class) const {
  if (getpid() == process_) return;
  log::error(
      "copy_of_worker_ended",
      {{"jid", jid}, {"class", job_class}, {"hint", "the job forked, and its child returned; it should end by _exit"}});
  log::flush();
  _exit(EX_SOFTWARE);
}

}  // namespace brood
