// The part of Performer that has jobs run in processes of their own.

#include <sys/prctl.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <utility>

#include "shared/base/identity.hpp"
#include "shared/base/log.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/process_title.hpp"
#include "shared/base/seed_anew.hpp"
#include "shared/config/executable.hpp"
#include "shared/config/told_shard.hpp"
#include "shared/job/page_text.hpp"
#include "worker/crash/crash_handler.hpp"
#include "worker/guard/offspring.hpp"
#include "worker/isolation/run_in_process.hpp"
#include "worker/job/library_text.hpp"
#include "worker/performing/memory_victim.hpp"
#include "worker/performing/performer.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto fork_again = 100ms;

// A job that has a cgroup of its own is no longer in its worker's, whose limit must still hold.
SandboxSettings with_memory_of_worker(SandboxSettings sandbox, std::uint64_t of_worker) {
  const bool has_own_cgroup = sandbox.memory_bytes > 0 || sandbox.cpu > 0 || sandbox.processes > 0;
  if (!has_own_cgroup || of_worker == 0) return sandbox;
  sandbox.memory_bytes = sandbox.memory_bytes > 0 ? std::min(of_worker, sandbox.memory_bytes) : of_worker;
  return sandbox;
}

bool was_killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

}  // namespace

void Performer::prepare_isolation() {
  const std::vector<std::string> names = registry_.class_names();
  const auto isolated =
      std::find_if(names.begin(), names.end(), [this](const std::string& name) { return rules_.is_isolated(name); });
  if (isolated == names.end()) return;
  slot_.record().forks_jobs.store(1);
  JobForker::require_one_thread(*isolated);
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

void Performer::prepare_sandboxes() {
  if (!rules_.any_has_sandbox()) return;
  job_cgroup_.emplace(worker_setup_.slot, worker_setup_.supervisor);
  sandbox_offers_ = sandbox_offers();
  for (const LackingSandbox& one : lacking_sandboxes(config_, sandbox_offers_, &*job_cgroup_)) {
    if (!one.may_run()) throw LibraryError(one.text());
    // Once for all workers of a capsule.
    if (worker_setup_.number == 0)
      log::warn("sandbox_incomplete",
                {{"class", one.job_class}, {"lacks", fmt::format("{}", fmt::join(one.lacks, "; "))}});
  }
  scratch_.emplace(slot_.record());
}

// Call it in the job's process, before any code of its class runs.  Returns the failure of a job that must not run
// without the sandbox.
std::optional<Failure> Performer::enter_class_sandbox() {
  const SandboxSettings* const sandbox = rules_.sandbox(job_.job_class());
  if (sandbox == nullptr) return std::nullopt;
  std::vector<std::string> code = config_.require;
  std::vector<int> kept = {channel_->descriptor()};
  if (const CommandSettings* const program = registry_.find_program(job_.job_class())) {
    code.push_back(program_path(*program));
    if (const int held = descriptor_in(code.back()); held >= 0) kept.push_back(held);
  }
  log::Options of_output = config_.log;  // the log's own descriptor is closed, and its file may be out of reach
  of_output.file.clear();
  log::inherit(of_output, -1);
  const SandboxSettings limits = with_memory_of_worker(*sandbox, settings_.memory_limit_bytes);
  try {
    const SlotRecord* const orders =
        enter_sandbox(limits, sandbox_offers_, *job_cgroup_, *scratch_, code, std::move(kept));
    if (orders != nullptr) orders_.read_flags_of(*orders);
  } catch (const std::system_error& error) {
    Failure failure;
    failure.error_class = "SandboxError";
    failure.message = fmt::format("the sandbox of class {} cannot be entered: {}", job_.job_class(), error.what());
    return failure;
  }
  if (sandbox->memory_bytes > 0) memory_limit_.emplace(limits.memory_bytes);
  host_.set_time_left = [](std::chrono::milliseconds) {};  // the job may not move its own deadline
  moves_deadline_ = false;
  return std::nullopt;
}

// In the job's process, which no signal can reach yet.
void Performer::begin_job_process() {
  process_ = getpid();
  slot_.record().job_start_time.store(process_start_time(process_));
  slot_.record().job_pid.store(process_);
  take_over_crash_handler();
  orders_.become_a_job();
  seed_anew();
  set_process_title(fmt::format("brood: job {} {}", worker_setup_.slot, host_.capsule));
}

// In this process runs all code of the job's class.  It uses nothing that is the worker's: neither its connection nor
// its control pipe.
void Performer::be_job_process(UniqueFd socket) {
  channel_.emplace(std::move(socket));
  const JobOrder order = channel_->take_order();
  tell_shard(order.shard);
  job_.read(order.payload);
  if (spans_) spans_->begin_apart(job_, WallTime(std::chrono::nanoseconds(slot_.record().started_at.load())));
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

  // Before the sandbox, in which OpenSSL may not find what it reads.  No other process gets these keys from this one.
  open_job();
  registry_.forget_keys();
  host_.limits->take = [this](const std::vector<Limit>& limits, std::chrono::milliseconds wait) {
    end_if_a_copy(job_.jid(), job_.display_class());
    return channel_->take_limits({limits, wait});
  };
  host_.limits->give_back = [this](const std::vector<LimitUse>& uses) {
    end_if_a_copy(job_.jid(), job_.display_class());
    channel_->give_back_limits(uses);
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
    if (order.expired) expired_ = WallTime{};
    performed = perform_within_limits(job_, order.queue, order.started);
    if (order.expired) performed.kind = Performed::Kind::succeeded;  // whatever became of the hook
  }
  end_if_a_copy(job_.jid(), job_.display_class());
  JobEnd end{.kind = performed.kind, .iteration_ended = iteration_ended_, .delay = performed.delay};
  if (performed.kind == Performed::Kind::over_limit) end.message = utf8_prefix(performed.failure.message, longest_text);
  if (performed.kind == Performed::Kind::failed) {
    runs_hooks_ = true;
    if (slot_.entry(order.entry) != EntryState::failed) end_entry(order.entry, EntryState::failed);
    end.error_class = utf8_prefix(performed.failure.error_class, longest_text);
    end.message = utf8_prefix(performed.failure.message, longest_text);
    end.outcome = note_of(judge(job_, order.queue, performed.failure, !without_sandbox));
  }
  for (const log::Fact& fact : log::standing_facts()) end.facts.emplace_back(fact.name, fact.value);
  output_.flush();
  if (!left_behind_.has_threads()) std::fflush(nullptr);  // a thread that waits in a read has locked its file
  log::flush();
  channel_->end(end);
}

Outcome Performer::perform_apart(int entry, const std::string& text, const std::string& queue, SteadyTime started) {
  const JobEnd end = run_apart({.entry = entry,
                                .payload = text,
                                .queue = queue,
                                .shard = told_shard(),
                                .started = started,
                                .expired = expired_.has_value()});
  slot_.record().job_pid.store(0);
  const SteadyTime ended = steady_now();
  short_classes_.ran(job_.job_class(), ended - started);
  const bool failed = end.kind == Performed::Kind::failed;
  runs_.end(entry, failed, whole_ms(started, ended));
  for (const auto& [name, value] : end.facts) log::set_standing_fact(name, value);
  const bool only_expired = expired_ && !failed && end.kind == Performed::Kind::succeeded;
  Outcome outcome = only_expired ? expire(entry, queue) : settle_apart(entry, queue, started, end);
  if (failed) runs_.note_error(entry, end.error_class);
  if (spans_ && only_expired) spans_->drop();
  if (spans_ && !only_expired) {
    Performed performed;
    performed.kind = end.kind;
    performed.failure.error_class = end.error_class;
    performed.failure.message = end.message;
    spans_->end(performed, ended - started);
  }
  quarantine_.ended(job_);
  log::clear_standing_facts();
  title_.end();
  output_.end_job(slot_.record());
  return outcome;
}

// Called once the job's process and all that it had started are gone: only then what it said counts.
Outcome Performer::settle_apart(int entry, const std::string& queue, SteadyTime started, const JobEnd& end) {
  Performed performed;
  performed.kind = end.kind;
  performed.delay = end.delay;
  performed.failure.message = end.message;
  iteration_ended_ = end.iteration_ended;
  if (end.kind != Performed::Kind::failed) return settle(entry, job_, queue, performed, started);
  if (slot_.entry(entry) != EntryState::failed) end_entry(entry, EntryState::failed);
  if (!slot_.finish_entry(entry, end.outcome)) wait_for_the_end();
  performed.failure.error_class = end.error_class;
  performed.failure.message = end.message;
  log_failure(job_, queue, started, performed.failure);
  return noted_outcome(end.outcome).value();
}

// Runs the job in a process, and again in others where that is needed, until one has said how the job ended and what
// becomes of it.
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
      .take_limits =
          [&](const WantedLimits& wanted, const std::function<bool()>& is_wanted) {
            return limits_->take(wanted.limits, wanted.wait, is_wanted);
          },
      .give_back_limits = [&](const std::vector<LimitUse>& uses) { limits_->give_back(uses); },
      .term_came = [&] { return orders_.was_sent_term(); }};
  const SandboxSettings* const sandbox = rules_.sandbox(job_.job_class());
  JobOrder order = first;
  for (bool said_waiting = false;;) {
    const MemoryCounts before = sandbox != nullptr ? job_cgroup_->memory_counts() : MemoryCounts();
    ProcessRun run;
    try {
      run = run_in_process(*forker_, order, job_, services);
    } catch (const ForkerGone& gone) {
      const int status = forker_->leave();
      end_offspring();  // the job's process is a child of this one now
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
    if (was_refused) {  // another process asks the class what becomes of the job
      order.failure.emplace();
      order.failure->error_class = "JobProcessError";
      order.failure->message = "the process of the job wrote into its channel to the worker: " + run.bad;
      log::warn("job_process_refused", {{"jid", job_.jid()}, {"class", job_.display_class()}, {"reason", run.bad}});
      continue;
    }
    const MemoryCounts now = sandbox != nullptr ? job_cgroup_->memory_counts() : MemoryCounts();
    if (was_killed(run.end.status) && now.kills > before.kills && !order.failure) {
      order.failure = sandbox->memory_bytes > 0 && now.at_limit > before.at_limit
                          ? out_of_memory("the job and what it started took more memory than its sandbox allows")
                          : failure_of_victim(job_, run.end.peak_kb, share_of_host());
      if (!order.failure) return {.kind = Performed::Kind::interrupted};
      continue;
    }
    if (!run.said || run.end.status != 0) end_like(run.bad.empty() ? run.end.status : W_EXITCODE(EX_PROTOCOL, 0));
    return std::move(*run.said);
  }
}

// Ends this worker in the way in which the job's process ended.  So there is only one way in which a job is charged:
// the supervisor sees how a worker ended.  The core file, and the stack in the record, are the process's.
void Performer::end_like(int status) {
  slot_.record().job_core_dumped.store(WCOREDUMP(status) ? 1 : 0);
  log::flush();
  if (scratch_ && rules_.sandbox(job_.job_class()) != nullptr) scratch_->take_crash();
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

}  // namespace brood
