#include "worker/foreground/foreground_job.hpp"

#include <fmt/format.h>
#include <sysexits.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <new>

#include "shared/base/check.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "worker/crash/crash_handler.hpp"
#include "worker/guard/job_meter.hpp"
#include "worker/guard/memory_limit.hpp"
#include "worker/job/encrypted_job.hpp"
#include "worker/job/environment_of_jobs.hpp"
#include "worker/job/item_clock.hpp"
#include "worker/job/program_job.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// Time for the report of a job that SIGABRT ended, before SIGKILL ends the report too.
constexpr auto time_to_report = 12'000ms;
constexpr auto look_again = 100ms;
constexpr const char* capsule = "default";

itimerspec timer_spec(milliseconds first, milliseconds again) {
  const auto part = [](milliseconds length) {
    return timespec{.tv_sec = length.count() / 1000, .tv_nsec = length.count() % 1000 * 1'000'000};
  };
  return {.it_interval = part(again), .it_value = part(first)};
}

// A signal to this process, some time from now.
class Alarm {
 public:
  explicit Alarm(int signal) {
    sigevent expiry{};
    expiry.sigev_notify = SIGEV_SIGNAL;
    expiry.sigev_signo = signal;
    check("timer_create", timer_create(CLOCK_MONOTONIC, &expiry, &timer_));
  }
  ~Alarm() { timer_delete(timer_); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Async-signal-safe.
  void set(milliseconds first, milliseconds again = 0ms) const {
    const itimerspec spec = timer_spec(std::max(first, 1ms), again);
    timer_settime(timer_, 0, &spec, nullptr);
  }
  void stop() const {
    constexpr itimerspec never{};
    timer_settime(timer_, 0, &never, nullptr);
  }

 private:
  timer_t timer_{};
};

// The handler of INT and TERM interrupts a job, so it uses only these.
volatile std::sig_atomic_t stop_came = 0;
const Alarm* wakes_program_watch = nullptr;

void handle_stop(int signal) {
  if (stop_came != 0) {
    std::signal(signal, SIG_DFL);
    raise(signal);  // once this handler has returned
    return;
  }
  stop_came = 1;
  const int saved = errno;
  constexpr char text[] = "\nbrood: stopping() is true from now on; the same again ends the job at once\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, sizeof text - 1);
  // The signal may have come just before the watch of a program began to wait.
  if (wakes_program_watch != nullptr) wakes_program_watch->set(look_again, look_again);
  errno = saved;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  check("sigaction", sigaction(signal, &action, nullptr));
}

double seconds_since(SteadyTime start) { return std::chrono::duration<double>(steady_now() - start).count(); }

// The attempt under way, as the job's code sees it.
class Attempt {
 public:
  Attempt(SlotRecord& record, milliseconds grace) : slot_(record), grace_(grace) {}

  const JobHost& host() const { return host_; }
  SteadyTime started() const { return started_; }

  void begin(const Payload& job, const std::string& queue, std::optional<milliseconds> timeout) {
    slot_.set_queue(queue);
    slot_.set_fetched(1);
    started_ = steady_now();
    slot_.begin(0, job.jid(), job.display_class(), wall_now(), started_, 0);
    host_.timeout = timeout;
    item_clock_.begin(started_, timeout);
    if (timeout) set_time_left(*timeout);
  }

  void end() {
    abort_.stop();
    kill_.stop();
    slot_.end(0, EntryState::succeeded);
  }

  // Whether the run, or one of its items, took too long, as a worker counts that: see RunClock.
  bool ran_out_of_time() const {
    return item_clock_.iterates() ? item_clock_.overran(steady_now(), time_left()) : out_of_time();
  }

 private:
  bool out_of_time() const { return deadline_ && *deadline_ <= steady_now(); }

  bool ends_between_items() {
    const SteadyTime now = steady_now();
    const auto left = time_left();
    item_clock_.next_item(now, left);
    if (item_clock_.overran(now, left)) return true;
    if (left && item_clock_.timeout() && *left < *item_clock_.timeout() && stop_came == 0)
      set_time_left(std::chrono::ceil<milliseconds>(*item_clock_.timeout()));
    return false;
  }

  std::optional<milliseconds> time_left() const {
    if (wakes_program_watch != nullptr && stop_came != 0) return 0ms;
    if (!deadline_) return std::nullopt;
    return std::chrono::ceil<milliseconds>(*deadline_ - steady_now());
  }

  void set_time_left(milliseconds left) {
    deadline_ = steady_now() + left;
    slot_.set_deadline(*deadline_);
    abort_.set(left + grace_);
    kill_.set(left + grace_ + time_to_report);
  }

  WorkerSlot slot_;
  const milliseconds grace_;
  const Alarm abort_{SIGABRT}, kill_{SIGKILL};
  SteadyTime started_{};
  ItemClock item_clock_;
  std::optional<SteadyTime> deadline_;
  JobHost host_{.stopping = [this] { return stop_came != 0 || out_of_time(); },
                .time_left = [this] { return time_left(); },
                .set_time_left = [this](milliseconds left) { set_time_left(left); },
                .capsule = capsule,
                // There is no Redis, so the job begins with the first item and saves no state.
                .iterations = IterationHost{.interrupt = [this] { return ends_between_items() || stop_came != 0; },
                                            .load = [] { return IterationState{}; },
                                            .save = [](const IterationState&) { return false; },
                                            .end = [] {}},
                // For the same reason it gets every limit.
                .limits = LimitHost{.take = [](const std::vector<Limit>&, milliseconds) { return LimitResult{}; },
                                    .give_back = [](const std::vector<LimitUse>&) {}}};
};

// Judges an attempt that ended by itself as a worker does: see JobCode.
Performed judge(Performed performed, const Attempt& attempt, const MemoryLimit& limit) {
  if (performed.kind == Performed::Kind::interrupted && stop_came == 0 && attempt.ran_out_of_time()) {
    performed.kind = Performed::Kind::failed;
    performed.failure.error_class = "JobTimeout";
    performed.failure.message =
        fmt::format("wound up after {:.1f}s, when its timeout had passed", seconds_since(attempt.started()));
  }
  if (performed.kind != Performed::Kind::failed) return performed;
  if (auto out_of_memory = limit.judge(performed.failure)) performed.failure = std::move(*out_of_memory);
  return performed;
}

}  // namespace

ForegroundJob::ForegroundJob(const Config& config)
    : config_(config),
      record_(report_own_crash()),
      lifecycle_(registry_, {.slot = 0, .capsule = capsule, .longest = config.shutdown_timeout}) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // as in a worker: a crash loses no line
  set_environment_of_jobs(config_);
  registry_.load(config_);
  lifecycle_.start();
  end_if_a_copy();
  note_libraries();
}

void ForegroundJob::end_if_a_copy() const {
  if (getpid() == self_) return;
  log::error("copy_of_worker_ended", {{"hint", "the job forked, and its child returned; it should end by _exit"}});
  _exit(EX_SOFTWARE);
}

ForegroundJob::Run ForegroundJob::perform(const Payload& given, const std::string& queue, const Limits& limits) {
  Payload job = given;
  if (is_encrypted(job)) {
    if (auto failure = open_arguments(job, registry_.keys(), config_.encryption)) {
      Run run;
      run.performed.kind = Performed::Kind::failed;
      run.performed.failure = *std::move(failure);
      return run;
    }
  }
  const CommandSettings* const program = registry_.find_program(job.code_class());
  const Alarm wake(SIGALRM);
  if (program != nullptr) {
    handle(SIGALRM, [](int) {});
    wakes_program_watch = &wake;
  }
  handle(SIGINT, handle_stop);
  handle(SIGTERM, handle_stop);

  std::optional<milliseconds> timeout = timeout_of(registry_, job, config_.worker.job_timeout);
  if (limits.timeout) timeout = *limits.timeout > 0ms ? limits.timeout : std::nullopt;
  const MemoryLimit memory_limit(limits.memory_bytes);
  JobMeter meter;
  Attempt attempt(record_, config_.worker.timeout_grace);
  meter.begin();
  attempt.begin(job, queue, timeout);
  log::debug("job_started", {{"jid", job.jid()}, {"class", job.display_class()}, {"queue", queue}});
  Run run;
  {
    const auto imposed = memory_limit.impose();
    if (program != nullptr) {
      run.performed = perform_in_middleware(registry_, job, queue, attempt.host(), [&](const Payload& as_changed) {
        ProgramRun ran =
            perform_program(*program, as_changed, job, queue, attempt.host(), config_.worker.timeout_grace);
        meter.note_child_peak(ran.peak_kb);
        return std::move(ran.performed);
      });
      if (stop_came != 0 && run.performed.kind == Performed::Kind::failed)
        run.performed.kind = Performed::Kind::interrupted;
    } else {
      run.performed = brood::perform(registry_, job, queue, attempt.host());
    }
  }
  end_if_a_copy();
  attempt.end();
  Failure& failure = run.performed.failure;
  failure.message = shown_message(job, failure.error_class, std::move(failure.message));
  wakes_program_watch = nullptr;
  wake.stop();
  run.usage = meter.end();
  run.performed = judge(std::move(run.performed), attempt, memory_limit);
  lifecycle_.shutdown();
  lifecycle_.exit();
  end_if_a_copy();
  std::cout.flush();
  std::fflush(stdout);
  return run;
}

}  // namespace brood
