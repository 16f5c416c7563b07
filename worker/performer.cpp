#include "worker/performer.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <new>
#include <utility>

#include "shared/base/identity.hpp"
#include "shared/base/log.hpp"
#include "shared/base/log_facts.hpp"
#include "shared/base/process_title.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/job/page_text.hpp"
#include "shared/json/json.hpp"
#include "shared/scoreboard/left_threads.hpp"
#include "shared/store/redis_time.hpp"
#include "worker/crash/crash_handler.hpp"
#include "worker/crash/throw_watch.hpp"
#include "worker/crash/thrown_stack.hpp"
#include "worker/guard/offspring.hpp"
#include "worker/guard/own_memory.hpp"
#include "worker/isolation/run_in_process.hpp"
#include "worker/job/libraries_digest.hpp"
#include "worker/job/library_text.hpp"
#include "worker/job/program_job.hpp"
#include "worker/job/settle_failed_job.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto look_for_the_end = 1000ms;
constexpr auto fork_again = 100ms;
constexpr auto longest_look_at_fleet = 2000ms;

// A job that interrupts itself sooner than this would spin between queue and worker: it waits in `schedule` first.
constexpr auto shortest_run_before_requeue = 1s;

std::uint32_t class_flags(const JobRegistry& registry, const Payload& job) {
  std::uint32_t flags = 0;
  const auto* known = registry.find(job.job_class());
  if (known != nullptr && known->has_hooks()) flags |= class_has_hooks;
  if (registry.has_failure_handlers(job.job_class())) flags |= class_has_handlers;
  for (const std::string* name : {&job.job_class(), &job.jid(), &job.counted_class(), &job.display_class()}) {
    if (has_markup(*name)) flags |= class_is_unsafe_html;
  }
  return flags;
}

// As Sidekiq counts them: the difference of whole milliseconds, so that many short runs add up to what they took.
std::chrono::milliseconds whole_ms(SteadyTime from, SteadyTime to) {
  using std::chrono::milliseconds;
  return std::chrono::floor<milliseconds>(to).time_since_epoch() -
         std::chrono::floor<milliseconds>(from).time_since_epoch();
}

double seconds_since(SteadyTime start) { return std::chrono::duration<double>(steady_now() - start).count(); }

// It did what it was asked to; but a job that is requeued each time its time is up would go on for ever.
Performed wound_up_at_timeout(SteadyTime started) {
  Failure failure;
  failure.error_class = "JobTimeout";
  failure.message = fmt::format("wound up after {:.1f}s, when its timeout had passed", seconds_since(started));
  return {Performed::Kind::failed, std::move(failure)};
}

void log_end(log::Level level, std::string_view event, const Payload& job, const std::string& queue,
             SteadyTime started) {
  if (!log::enabled(level)) return;
  log::write(level, event,
             {{"jid", job.jid()},
              {"class", job.display_class()},
              {"queue", queue},
              {"elapsed", fmt::format("{:.3f}", seconds_since(started))}});
}

void log_failure(const Payload& job, const std::string& queue, SteadyTime started, const Failure& failure) {
  log::warn("job_failed", {{"jid", job.jid()},
                           {"class", job.display_class()},
                           {"queue", queue},
                           {"elapsed", fmt::format("{:.3f}", seconds_since(started))},
                           {"error", failure.error_class},
                           {"message", failure.message}});
}

}  // namespace

Performer::Performer(const Config& config, const WorkerSetup& worker_setup, WorkerSlot& slot, SupervisorOrders& control,
                     Channel& redis, JobRegistry& registry)
    : config_(config),
      worker_setup_(worker_setup),
      settings_(config.worker_of(worker_setup.capsule)),
      slot_(slot),
      orders_(control),
      redis_(redis),
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
            .log_with = [](std::string_view name, std::string_view value) { log::set_standing_fact(name, value); }},
      registry_(registry),
      quarantine_(redis, {config.crashes.quarantine_after, config.crashes.within},
                  [&registry](const std::string& job_class) { return registry.find(job_class) != nullptr; }) {}

// A copy of this worker, forked by a job, must not touch the connection.
IterationHost Performer::iteration_host() {
  const auto interrupt = [this] { return orders_.told_to_quiet() || out_of_time(); };
  return {.max_runtime = config_.max_iteration_runtime,
          .interrupt = interrupt,
          .load =
              [this, interrupt] {
                end_if_a_copy(job_.jid(), job_.display_class());
                return iterations_.load(job_.jid(), [&](std::chrono::milliseconds length) {
                  orders_.wait(length);
                  return !interrupt();
                });
              },
          .save =
              [this](const IterationState& state) {
                end_if_a_copy(job_.jid(), job_.display_class());
                return iterations_.save(job_.jid(), state);
              },
          .end = [this] { iteration_ended_ = true; }};
}

void Performer::load_libraries() {
  registry_.load(config_);
  end_if_a_copy("", "");
}

void Performer::note_process_state() {
  note_libraries();
  process_state_.emplace();
  memory_limit_.emplace(worker_setup_.in_memory_cgroup ? 0 : settings_.memory_limit_bytes);
  threads_.note_present();
  const std::uint64_t libraries = libraries_digest(registry_);
  slot_.record().libraries.store(libraries);
  quarantine_.set_libraries(libraries);
}

std::optional<Outcome> Performer::perform_entry(int entry, const std::string& text, const std::string& queue,
                                                bool failure_waits) {
  try {
    job_.read(text);
  } catch (const BadPayload& bad) {
    if (!slot_.begin(entry, "", "", wall_now(), steady_now(), 0)) return std::nullopt;
    ++age_.jobs;
    return move_to_dead(entry, text, queue, bad.what());
  }
  if (failure_waits && !short_classes_.contain(job_.job_class())) return std::nullopt;
  if (quarantine_.parks(job_)) return park(entry, queue);
  const bool apart = forker_ && is_isolated(job_.job_class());
  if (apart && !forker_->is_there()) {
    age_.lost_forker = true;
    return std::nullopt;
  }
  const SteadyTime started = steady_now();
  const std::uint32_t flags = class_flags(registry_, job_);
  note(entry, RunNote::State::begun, {});
  const WallTime started_at = wall_now();
  if (!slot_.begin(entry, job_.jid(), job_.display_class(), started_at, started, flags)) {
    forget_note(entry);
    return std::nullopt;
  }
  ++age_.jobs;

  if (const auto timeout = timeout_of(registry_, job_, settings_.job_timeout)) slot_.set_deadline(started + *timeout);
  if (log::enabled(level_of_jobs()))
    log::write(level_of_jobs(), "job_started",
               {{"jid", job_.jid()}, {"class", job_.display_class()}, {"queue", queue}});
  title_.begin(job_.display_class(), std::chrono::system_clock::to_time_t(started_at));
  if (!apart && counted_.index)
    slot_.record().recent_classes.note(*counted_.index, slot_.record().processed.load(std::memory_order_relaxed));
  if (apart) return perform_apart(entry, text, queue, started);
  const Performed performed = perform_within_limits(job_, queue, started);
  if (made_calls_) end_if_a_copy(job_.jid(), job_.display_class());
  const bool failed = performed.kind == Performed::Kind::failed;
  runs_hooks_ = failed && (flags & (class_has_hooks | class_has_handlers)) != 0;
  batch_made_calls_ |= made_calls_ || runs_hooks_;
  if (made_calls_) look_for_left_threads();  // while the entry runs: what they crash now is its own crash
  const SteadyTime ended = steady_now();
  short_classes_.ran(job_.job_class(), ended - started);
  note(entry, failed ? RunNote::State::failed : RunNote::State::ended_well, whole_ms(started, ended));
  Outcome outcome = settle(entry, job_, queue, performed, started);
  quarantine_.ended(job_);
  if (runs_hooks_) look_for_left_threads();  // which are code of the job too
  log::clear_standing_facts();
  title_.end();
  clean_up(made_calls_ || runs_hooks_);
  return outcome;
}

// ---- Jobs that run in a process of their own

bool Performer::is_isolated(const std::string& job_class) const {
  const auto configured = config_.classes.find(job_class);
  if (configured != config_.classes.end() && configured->second.isolation)
    return *configured->second.isolation == Isolation::process;
  const auto* known = registry_.find(job_class);
  return known != nullptr && known->job_class.isolation == abi::isolation_process;
}

void Performer::prepare_isolation() {
  const std::vector<std::string> names = registry_.class_names();
  const auto isolated =
      std::find_if(names.begin(), names.end(), [this](const std::string& name) { return is_isolated(name); });
  if (isolated == names.end()) return;
  slot_.record().forks_jobs.store(1);
  prepare_sandboxes();
  const std::string whose = fmt::format("{} {}", worker_setup_.slot, host_.capsule);
  forker_.emplace(JobForker::Setup{.title = "brood: forker " + whose,
                                   .let_go =
                                       [this] {
                                         redis_.disconnect();
                                         ::close(worker_setup_.control);
                                         orders_.become_a_job();
                                       },
                                   .begin = [this] { begin_job_process(); },
                                   .perform = [this](UniqueFd socket) { be_job_process(std::move(socket)); }},
                  *isolated);
  orders_.pass_term_by(pass_to_job_process);
  pass_signals_by(pass_to_job_process);
}

void Performer::leave_isolation() {
  if (forker_) forker_->leave();
  if (job_cgroup_) job_cgroup_->remove();
}

// ---- And in a sandbox there

const SandboxSettings* Performer::sandbox_of(const std::string& job_class) const {
  const auto configured = config_.classes.find(job_class);
  const bool has_one = configured != config_.classes.end() && configured->second.sandbox;
  return has_one ? &*configured->second.sandbox : nullptr;
}

void Performer::prepare_sandboxes() {
  const bool any = std::any_of(config_.classes.begin(), config_.classes.end(),
                               [](const auto& known) { return known.second.sandbox.has_value(); });
  if (!any) return;
  job_cgroup_.emplace(worker_setup_.slot, worker_setup_.supervisor);
  for (const LackingSandbox& one : lacking_sandboxes(config_, &*job_cgroup_)) {
    const std::string lacks = fmt::format("{}", fmt::join(one.lacks, "; "));
    if (one.strict)
      throw LibraryError(fmt::format(
          "the sandbox of class {} is strict, and lacks here: {}; take out of [classes.\"{}\".sandbox] what "
          "this machine cannot do, or strict = true",
          one.job_class, lacks, one.job_class));
    // Once for all workers of a capsule.
    if (worker_setup_.number == 0) log::warn("sandbox_incomplete", {{"class", one.job_class}, {"lacks", lacks}});
  }
  scratch_.emplace(slot_.record());
}

// In the job's process, before anything of its class runs.  The failure of a job that must not run without it.
std::optional<Failure> Performer::enter_class_sandbox() {
  const SandboxSettings* const sandbox = sandbox_of(job_.job_class());
  if (sandbox == nullptr) return std::nullopt;
  std::vector<std::string> code = config_.require;
  if (const CommandSettings* const program = registry_.find_program(job_.job_class())) code.push_back(program->run[0]);
  try {
    const SlotRecord* const orders = enter_sandbox(*sandbox, *job_cgroup_, *scratch_, code, channel_->descriptor());
    if (orders != nullptr) orders_.read_flags_of(*orders);
  } catch (const std::system_error& error) {
    Failure failure;
    failure.error_class = "SandboxError";
    failure.message = fmt::format("the sandbox of class {} cannot be entered: {}", job_.job_class(), error.what());
    return failure;
  }
  const std::uint64_t of_worker = settings_.memory_limit_bytes, of_class = sandbox->memory_bytes;
  if (of_class > 0) memory_limit_.emplace(of_worker > 0 ? std::min(of_worker, of_class) : of_class);
  return std::nullopt;
}

// In the job's process, which no signal can reach yet.
void Performer::begin_job_process() {
  process_ = getpid();
  slot_.record().job_start_time.store(process_start_time(process_));
  slot_.record().job_pid.store(process_);
  take_over_crash_handler();
  orders_.become_a_job();
  set_process_title(fmt::format("brood: job {} {}", worker_setup_.slot, host_.capsule));
}

// There, all that is code of the job's class runs, and nothing that is the worker's: its connection, its control pipe.
void Performer::be_job_process(UniqueFd socket) {
  channel_.emplace(std::move(socket));
  const JobOrder order = channel_->take_order();
  job_.read(order.payload);
  title_.begin(job_.display_class(), std::chrono::system_clock::to_time_t(wall_now()));
  host_.iterations->load = [this]() -> std::optional<IterationState> {
    end_if_a_copy(job_.jid(), job_.display_class());
    LoadedIteration loaded = channel_->load_iteration();
    if (loaded.kind == LoadedIteration::Kind::none) throw UnexpectedReply(loaded.why);
    if (loaded.kind == LoadedIteration::Kind::away) return std::nullopt;
    return std::move(loaded.state);
  };
  host_.iterations->save = [this](const IterationState& state) {
    end_if_a_copy(job_.jid(), job_.display_class());
    return channel_->save_iteration(state);
  };

  const std::optional<Failure> without_sandbox = enter_class_sandbox();
  Performed performed;
  if (without_sandbox) {
    performed.kind = Performed::Kind::failed;
    performed.failure = *without_sandbox;
  } else if (order.failure) {
    performed.kind = Performed::Kind::failed;
    performed.failure = *order.failure;
  } else {
    performed = perform_within_limits(job_, order.queue, order.started);
  }
  end_if_a_copy(job_.jid(), job_.display_class());
  JobEnd end{.kind = performed.kind, .iteration_ended = iteration_ended_, .delay = performed.delay};
  if (performed.kind == Performed::Kind::failed) {
    runs_hooks_ = true;
    if (slot_.entry(order.entry) != EntryState::failed) end_entry(order.entry, EntryState::failed);
    end.error_class = utf8_prefix(performed.failure.error_class, longest_text);
    end.message = utf8_prefix(performed.failure.message, longest_text);
    end.outcome = note_of(judge(job_, order.queue, performed.failure, !without_sandbox));
  }
  for (const log::Fact& fact : log::standing_facts()) end.facts.emplace_back(fact.name, fact.value);
  output_.flush();
  if (threads_.left_behind() == 0) std::fflush(nullptr);  // one that waits in a read has locked its file
  log::flush();
  channel_->end(end);
}

Outcome Performer::perform_apart(int entry, const std::string& text, const std::string& queue, SteadyTime started) {
  const JobEnd end = run_apart({.entry = entry, .payload = text, .queue = queue, .started = started});
  slot_.record().job_pid.store(0);
  const SteadyTime ended = steady_now();
  short_classes_.ran(job_.job_class(), ended - started);
  const bool failed = end.kind == Performed::Kind::failed;
  note(entry, failed ? RunNote::State::failed : RunNote::State::ended_well, whole_ms(started, ended));
  for (const auto& [name, value] : end.facts) log::set_standing_fact(name, value);
  Outcome outcome = settle_apart(entry, queue, started, end);
  quarantine_.ended(job_);
  log::clear_standing_facts();
  title_.end();
  output_.end_job(slot_.record());
  return outcome;
}

// The process is gone, and all that it had started: now what came of it counts.
Outcome Performer::settle_apart(int entry, const std::string& queue, SteadyTime started, const JobEnd& end) {
  Performed performed;
  performed.kind = end.kind;
  performed.delay = end.delay;
  iteration_ended_ = end.iteration_ended;
  if (end.kind != Performed::Kind::failed) return settle(entry, job_, queue, performed, started);
  if (slot_.entry(entry) != EntryState::failed) end_entry(entry, EntryState::failed);
  if (!slot_.finish_entry(entry, end.outcome)) wait_for_the_end();
  performed.failure.error_class = end.error_class;
  performed.failure.message = end.message;
  log_failure(job_, queue, started, performed.failure);
  return noted_outcome(end.outcome).value();
}

// Until a process has said what came of the job.
JobEnd Performer::run_apart(const JobOrder& first) {
  const auto interrupt = [this] { return orders_.told_to_quiet() || out_of_time(); };
  const JobServices services{
      .load_iteration =
          [&] {
            LoadedIteration loaded;
            try {
              std::optional<IterationState> state = iterations_.load(job_.jid(), [&](std::chrono::milliseconds length) {
                orders_.wait(length);
                return !interrupt();
              });
              loaded.kind = state ? LoadedIteration::Kind::loaded : LoadedIteration::Kind::away;
              if (state) loaded.state = std::move(*state);
            } catch (const UnexpectedReply& none) {
              loaded.kind = LoadedIteration::Kind::none;
              loaded.why = none.what();
            }
            return loaded;
          },
      .save_iteration = [&](const IterationState& state) { return iterations_.save(job_.jid(), state); },
      .failure_rule = [&] { return failure_rule(); },
      .term_came = [&] { return orders_.was_sent_term(); }};
  JobOrder order = first;
  for (bool said_waiting = false;;) {
    ProcessRun run;
    try {
      run = run_in_process(*forker_, order, job_, services);
    } catch (const ForkerGone& gone) {
      const int status = forker_->leave();
      end_offspring();  // the job's process has fallen to us
      log::error("job_forker_ended", {{"slot", worker_setup_.slot}, {"jid", job_.jid()}, {"reason", gone.what()}});
      end_like(WIFSIGNALED(status) ? status : SIGKILL);
    }
    meter_.note_apart(std::chrono::microseconds(run.end.cpu_us), run.end.peak_kb,
                      std::chrono::microseconds(run.end.forkers_cpu_us));
    if (run.end.fork_error != 0) {
      const std::string reason = std::generic_category().message(run.end.fork_error);
      if (!std::exchange(said_waiting, true))
        log::warn("job_process_waits", {{"jid", job_.jid()}, {"class", job_.display_class()}, {"reason", reason}});
      if (interrupt()) return {.kind = Performed::Kind::interrupted};
      orders_.wait(fork_again);
      continue;
    }
    if (run.end.killed > 0)
      log::info("job_left_processes",
                {{"jid", job_.jid()}, {"class", job_.display_class()}, {"killed", run.end.killed}});
    const bool was_refused = !run.bad.empty() && !order.failure;
    if (was_refused) {  // another process asks the class what is to become of it
      order.failure.emplace();
      order.failure->error_class = "JobProcessError";
      order.failure->message = "the process of the job wrote into its channel to the worker: " + run.bad;
      log::warn("job_process_refused", {{"jid", job_.jid()}, {"class", job_.display_class()}, {"reason", run.bad}});
      continue;
    }
    if (!run.said || run.end.status != 0) end_like(run.bad.empty() ? run.end.status : W_EXITCODE(EX_PROTOCOL, 0));
    return std::move(*run.said);
  }
}

// What has ended the process of a job ends the worker of that job: so there is one way in which a job is charged, and
// its supervisor sees to it.  The core file, and the stack in the record, are the process's.
void Performer::end_like(int status) {
  slot_.record().job_core_dumped.store(WCOREDUMP(status) ? 1 : 0);
  log::flush();
  if (scratch_ && sandbox_of(job_.job_class()) != nullptr) scratch_->take_crash();
  forker_->leave();  // what all of them have used counts for this process now
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    prctl(PR_SET_DUMPABLE, 0);
    struct sigaction by_default {};
    by_default.sa_handler = SIG_DFL;
    sigaction(signal, &by_default, nullptr);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    kill(getpid(), signal);
  }
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EX_SOFTWARE);
}

// ---- The guards around a job

// A job that finds no memory under its limit has failed like any other; but what it has leaked is still there.
Performed Performer::perform_within_limits(const Payload& job, const std::string& queue, SteadyTime started) {
  Performed performed;
  try {
    const auto imposed = memory_limit_->impose();
    performed = perform_watched(job, queue);
  } catch (const std::bad_alloc&) {  // nor was there any left for what surrounds the job's code
    if (!memory_limit_->in_force()) throw;
    performed.kind = Performed::Kind::failed;
    performed.failure.error_class = "std::bad_alloc";
  }
  if (performed.kind == Performed::Kind::interrupted && out_of_time()) return wound_up_at_timeout(started);
  if (performed.kind != Performed::Kind::failed) return performed;
  if (auto out_of_memory = memory_limit_->judge(performed.failure)) {
    performed.failure = std::move(*out_of_memory);
    age_.ran_out_of_memory = true;
  }
  return performed;
}

Performed Performer::perform_watched(const Payload& job, const std::string& queue) {
  made_calls_ = true;
  iteration_ended_ = false;
  thrown_at_.clear();
  if (const CommandSettings* program = registry_.find_program(job.job_class())) {
    return perform_in_middleware(registry_, job, queue, host_, [&](const Payload& as_changed) {
      ProgramRun run = perform_program(*program, as_changed, queue, host_, settings_.timeout_grace);
      meter_.note_child_peak(run.peak_kb);
      return std::move(run.performed);
    });
  }
  if (!channel_) syscall_watch_.begin_job();
  std::optional<ThrowWatch> throws;
  if (job.truthy("backtrace")) throws.emplace();
  Performed performed = perform(registry_, job, queue, host_);
  thrown_at_ = throws ? throws->stack_of(performed.thrown) : std::vector<std::uint64_t>();
  throws.reset();
  output_.flush();
  if (!channel_) made_calls_ = syscall_watch_.end_job();
  return performed;
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
      return requeue(job, started, performed.delay);
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

// What becomes of a job that failed: its hooks run.
Outcome Performer::judge(const Payload& job, const std::string& queue, Failure failure, bool ask_hooks) {
  RetryPolicy policy{config_.max_retries, settings_.max_crashes};
  policy.retry_for = failure_rule().retry_for;
  if (failure.backtrace.empty()) failure.backtrace = describe_throw(thrown_at_);
  Outcome outcome = settle_failure(registry_, job, queue, failure, policy, ask_hooks);
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

// It has not begun, and is counted nowhere.  What waits must say where it came from.
std::optional<Outcome> Performer::park(int entry, const std::string& queue) {
  if (!slot_.set_aside(entry)) return std::nullopt;
  ask_redis_time(redis_);
  const bool says_queue = job_.string("queue") == queue;
  return Outcome{Outcome::Kind::park, says_queue ? "" : job_.with({{"queue", json_string(queue)}}).text(),
                 epoch_seconds(redis_now())};
}

Outcome Performer::requeue(const Payload& job, SteadyTime started, std::chrono::milliseconds delay) const {
  ask_redis_time(redis_);
  const WallTime now = redis_now();
  const Payload again = job.with({{"enqueued_at", json_time(now, job.time_unit())}});
  if (delay == 0ms && steady_now() - started < shortest_run_before_requeue) delay = shortest_run_before_requeue;
  if (delay > 0ms) return {Outcome::Kind::schedule, again.text(), epoch_seconds(now + delay)};
  return {Outcome::Kind::requeue_back, again.text(), 0};
}

void Performer::begin_batch(std::size_t jobs) {
  if (jobs == 0) return;
  meter_.begin();
  slot_.record().cpu_before_us.store(meter_.cpu_before().count());
}

// They would go on beside the next job, and what they crash would be charged to it.
void Performer::look_for_left_threads() {
  if (age_.left_threads > 0) return;
  if (threads_policy() == LeftThreads::allow) return threads_.note_present();  // the next job has not left them
  age_.left_threads = threads_.left_behind();
  if (age_.left_threads == 0) return;
  slot_.record().class_flags.fetch_or(job_left_threads);
  // Said once of a class: each of its jobs may do so.
  const bool known =
      worker_setup_.usage && counted_.index && worker_setup_.usage->at(*counted_.index).left_threads.fetch_add(1) > 0;
  log::write(known ? log::Level::debug : log::Level::warn, "job_left_threads",
             {{"jid", job_.jid()},
              {"class", job_.display_class()},
              {"threads", age_.left_threads},
              {"hint",
               "its worker is replaced after each such job: join them, start them in a startup handler, or set "
               "threads = \"allow\" in [worker], or for this class in [classes.NAME]"}});
}

LeftThreads Performer::threads_policy() const {
  const auto own = config_.classes.find(job_.job_class());
  const bool has_own = own != config_.classes.end() && own->second.threads;
  return has_own ? *own->second.threads : settings_.threads;
}

// What the worker does not live to add to its class's usage, the supervisor finds noted.  A class without code has
// none.
void Performer::note(int entry, RunNote::State state, std::chrono::milliseconds took) {
  if (!worker_setup_.usage || entry < 0 || entry >= max_run_notes) return;
  if (job_.counted_class() != counted_.name || job_.job_class() != counted_.job_class) {
    counted_ = {job_.job_class(), job_.counted_class(), std::nullopt};
    if (registry_.find(job_.job_class()) || registry_.find_program(job_.job_class())) {
      // What a payload wraps may have any name; what is registered has a plain one.
      const bool plain = is_countable(counted_.name);
      counted_.index = usage_index(*worker_setup_.usage, plain ? counted_.name : counted_.job_class);
      UsageEntry& entry_of_class = worker_setup_.usage->at(*counted_.index);
      entry_of_class.allows_threads.store(threads_policy() == LeftThreads::allow ? 1 : 0);
      entry_of_class.isolated.store(forker_ && is_isolated(counted_.job_class) ? 1 : 0);
    }
  }
  if (!counted_.index) return;
  const RunNote note{state, *counted_.index, static_cast<std::uint64_t>(took.count())};
  slot_.record().run_notes[static_cast<std::size_t>(entry)].store(note.word(), std::memory_order_release);
}

void Performer::forget_note(int entry) {
  if (entry >= 0 && entry < max_run_notes) slot_.record().run_notes[static_cast<std::size_t>(entry)].store(0);
}

// Jobs of one batch are too short to tell apart what each of them used.
void Performer::end_batch() {
  const JobUsage together = meter_.end(std::exchange(batch_made_calls_, false));
  if (worker_setup_.usage)
    add_noted_runs(*worker_setup_.usage, slot_.record().run_notes, together, worker_setup_.generation);
}

void Performer::begin_handlers(std::string_view event) {
  event_ = "Event::" + std::string(event);
  slot_.set_printing(event_);
}

void Performer::end_handlers() {
  end_if_a_copy("", event_);
  if (process_state_) {
    clean_up(true);
    threads_.note_present();
  } else {
    output_.flush();
    output_.end_job(slot_.record());
  }
  slot_.set_printing("");
}

// So that nobody pays for what an earlier job has left behind.
void Performer::clean_up(bool made_calls) {
  process_state_->restore_own();
  if (!made_calls) return;
  output_.flush();
  process_state_->restore_kernels();
  output_.end_job(slot_.record());
  adopt_orphans();
  reap_orphans();
  note_libraries();
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
