#include "worker/run/forked.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <csignal>
#include <system_error>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/log_line.hpp"
#include "shared/config/job_environment.hpp"
#include "worker/crash/crash_handler.hpp"
#include "worker/guard/offspring.hpp"
#include "worker/isolation/run_in_process.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto fork_again = 100ms;

bool was_killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

}  // namespace

Forked::Forked(Workplace& place, WorkerServices& services, JobMeter& meter, const JobProcess& process,
               const std::string& isolated_class)
    : place_(place),
      services_(services),
      meter_(meter),
      process_(process),
      forker_({.title = fmt::format("brood: forker {} {}", place.setup.slot, place.capsule),
               .let_go =
                   [this] {
                     services_.disconnect();
                     ::close(place_.setup.control);
                     place_.orders.become_a_job();
                   },
               .begin = [this] { process_.begin(); },
               .perform = [this](UniqueFd socket) { process_.main(std::move(socket)); }},
              isolated_class) {
  place.orders.pass_term_by(pass_to_job_process);
  pass_signals_by(pass_to_job_process);
}

void Forked::leave() { forker_.leave(); }

void Forked::perform(JobRun& run) {
  JobEnd end = run_until_it_ends(run);
  place_.slot.record().job_pid.store(0);
  run.iteration_ended = end.iteration_ended;
  run.performed.kind = end.kind;
  run.performed.delay = end.delay;
  run.performed.failure.error_class = std::move(end.error_class);
  run.performed.failure.message = std::move(end.message);
  run.performed.failure.backtrace = std::move(end.backtrace);
  run.judged = std::move(end.outcome);
  if (run.keeps_report) run.result = std::move(end.result);
  for (const auto& [name, value] : end.facts) log::set_standing_fact(name, value);
}

// Runs the job in a process, and if needed again in others, until one has reported how the job ended and its outcome.
JobEnd Forked::run_until_it_ends(const JobRun& run) {
  const Payload& job = run.job;
  JobOrder order{.entry = run.entry,
                 .payload = job.text(),
                 .queue = run.queue,
                 .shard = told_shard(),
                 .started = run.started,
                 .expired = run.expired.has_value()};
  const auto was_sent_term = [this] { return place_.orders.was_sent_term(); };
  for (bool said_waiting = false;;) {
    const MemoryCounts before = process_.sandboxes.memory_counts(job);
    ProcessRun ran;
    try {
      ran = run_in_process(forker_, order, job, services_, was_sent_term);
    } catch (const ForkerGone& gone) {
      const int status = forker_.leave();
      end_offspring();  // the job's process is a child of this one now
      log::error("job_forker_ended", {{"slot", place_.setup.slot}, {"jid", job.jid()}, {"reason", gone.what()}});
      end_like(WIFSIGNALED(status) ? status : SIGKILL, job);
    }
    meter_.note_apart(std::chrono::microseconds(ran.end.cpu_us), ran.end.peak_kb,
                      std::chrono::microseconds(ran.end.forkers_cpu_us));
    if (ran.end.fork_error != 0) {
      const std::string reason = std::generic_category().message(ran.end.fork_error);
      if (!std::exchange(said_waiting, true))
        log::warn("job_process_waits", {{"jid", job.jid()}, {"class", job.display_class()}, {"reason", reason}});
      if (place_.orders.told_to_quiet() || process_.code.clock().out_of_time())
        return {.kind = Performed::Kind::interrupted};
      place_.orders.wait(fork_again);
      continue;
    }
    if (ran.end.killed > 0)
      log::info("job_left_processes", {{"jid", job.jid()}, {"class", job.display_class()}, {"killed", ran.end.killed}});
    if (!ran.bad.empty() && !order.failure) {  // another process runs the hooks and decides the outcome
      order.failure.emplace();
      order.failure->error_class = "JobProcessError";
      order.failure->message = "the process of the job wrote into its channel to the worker: " + ran.bad;
      log::warn("job_process_refused", {{"jid", job.jid()}, {"class", job.display_class()}, {"reason", ran.bad}});
      continue;
    }
    if (was_killed(ran.end.status) && process_.sandboxes.memory_counts(job).kills > before.kills && !order.failure) {
      order.failure = process_.sandboxes.judge_kill(job, before, ran.end.peak_kb);
      if (!order.failure) return {.kind = Performed::Kind::interrupted};
      continue;
    }
    if (!ran.said || ran.end.status != 0) end_like(ran.bad.empty() ? ran.end.status : W_EXITCODE(EX_PROTOCOL, 0), job);
    return std::move(*ran.said);
  }
}

// Ends this worker in the way in which the job's process ended.  So jobs are charged in one way only: by the
// supervisor, which sees how a worker ended.  The core file and the stack in the record are those of the job's process.
void Forked::end_like(int status, const Payload& job) {
  place_.slot.record().job_core_dumped.store(WCOREDUMP(status) ? 1 : 0);
  log::flush();
  process_.sandboxes.take_crash(job);
  forker_.leave();  // reaps it, so that this process's usage includes that of all these processes
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
