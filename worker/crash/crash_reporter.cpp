#include "worker/crash/crash_reporter.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <string>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/signal_names.hpp"
#include "shared/base/unique_fd.hpp"
#include "worker/crash/crash_handler.hpp"
#include "worker/crash/crash_report.hpp"
#include "worker/crash/symboliser.hpp"

namespace brood {
namespace {

constexpr unsigned longest_report_s = 10;  // names take 6 s at most, unless a broken file hangs the symboliser

// A file without a name, shared by the process that may crash and the one that reports.
struct CrashRecord {
  SlotRecord slot;
  std::int64_t crashed_steady;  // nanoseconds
  rusage used;
};

// The arguments with which the handler executes the program, made before the crash.
struct Reporter {
  CrashRecord* record = nullptr;
  int file = -1;
  std::string program, file_number;
  const char* arguments[5] = {};
};
Reporter reporter;

bool timed_out(const StackRecord& crash) { return crash.signal == SIGABRT && crash.code == SI_TIMER; }

// Ends the process by a signal without the siginfo of a fault: valgrind crashes when it gets such a siginfo from a
// program.
void end_by(int signal_number) {
  signal(signal_number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal_number);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal_number);
}

// Runs in a signal handler, so it calls only async-signal-safe functions.
void execute_reporter() {
  CrashRecord& record = *reporter.record;
  const bool within_exit = record.slot.crash.signal == 0;
  if (within_exit) std::fflush(nullptr);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  record.crashed_steady = now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  getrusage(RUSAGE_SELF, &record.used);
  // Not fork(): it takes the locks of malloc and stdio, which the crash may have left held.
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    fcntl(reporter.file, F_SETFD, 0);
    execv(reporter.program.c_str(), const_cast<char* const*>(reporter.arguments));
    _exit(EX_OSERR);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (within_exit || timed_out(record.slot.crash)) _exit(EX_SOFTWARE);
  end_by(record.slot.crash.signal);
}

CrashRecord* map(int file) {
  void* const memory = mmap(nullptr, sizeof(CrashRecord), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) check("mmap", -1);
  return static_cast<CrashRecord*>(memory);
}

std::chrono::microseconds duration_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

WorkerDeath::Cause cause_of(const CrashRecord& record, const SlotSnapshot& seen, const CapturedStack& stack) {
  WorkerDeath::Cause cause;
  const SteadyTime end{std::chrono::nanoseconds(record.crashed_steady)};
  if (timed_out(record.slot.crash)) {
    cause = {"JobTimeout",
             fmt::format("heeded no deadline, and ran for {:.1f}s",
                         std::chrono::duration<double>(end - seen.started_steady).count()),
             false};
  } else if (stack.signal == 0) {
    cause = {"UnexpectedExit", fmt::format("exit status {}", stack.exit_status)};
  } else {
    cause = {signal_name(stack.signal), describe_signal(stack)};
  }
  cause.message += seen.current >= 0 ? " in " + seen.job_class : ", while no job ran";
  CrashFacts facts;
  facts.pid = seen.pid;
  facts.signal = stack.signal;
  facts.exit_status = stack.exit_status;
  facts.stack = stack;
  cause.facts = facts;
  return cause;
}

}  // namespace

SlotRecord& report_own_crash() {
  UniqueFd file(check("memfd_create", memfd_create("brood-crash", MFD_CLOEXEC)));
  check("ftruncate", ftruncate(file.get(), sizeof(CrashRecord)));
  reporter.record = map(file.get());
  // The number is high, since jobs most often close low ones.
  reporter.file = check("fcntl", fcntl(file.get(), F_DUPFD_CLOEXEC, 100));
  // The program is executed by its path: under valgrind, executing /proc/self/exe would start valgrind.
  reporter.program = std::filesystem::read_symlink("/proc/self/exe");
  reporter.file_number = std::to_string(reporter.file);
  const char* const arguments[] = {"brood", "perform", "--crash-record", reporter.file_number.c_str(), nullptr};
  std::copy(std::begin(arguments), std::end(arguments), reporter.arguments);
  SlotRecord& slot = reporter.record->slot;
  vacate(slot, 1, 1);
  slot.pid.store(getpid());
  slot.spawned_at.store(steady_now().time_since_epoch().count());
  install_crash_handler(slot, {.when_written = execute_reporter});
  signal(SIGTTIN, SIG_DFL);  // no dumps are requested here, but it may read the terminal from the background
  return slot;
}

int tell_of_crash(int record_number) {
  alarm(longest_report_s);
  const UniqueFd file(record_number);
  struct stat about {};
  if (fstat(file.get(), &about) != 0 || about.st_size != sizeof(CrashRecord)) {
    fmt::print(stderr, "brood perform: the record of the crash cannot be read\n");
    return EX_SOFTWARE;
  }
  const CrashRecord& record = *map(file.get());
  const SlotSnapshot seen = snapshot(record.slot);
  const CapturedStack stack = read_stack(record.slot.crash);
  // The facts without names are printed first: the symboliser may crash this process.
  const WorkerDeath::Cause cause = cause_of(record, seen, stack);
  const CrashReport known = report_crash(cause, {}, seen.job_class, std::nullopt, wall_now());
  const bool says_itself = known.failure.message.starts_with(known.failure.error_class);
  const bool colour = log::standard_error_takes_colour();
  fmt::print(stderr, "{}{}{}{}\n", colour ? "\033[31m" : "", says_itself ? "" : known.failure.error_class + ": ",
             log::printable(known.failure.message), colour ? "\033[0m" : "");
  for (const std::string& line :
       report_crash(cause, frames_of_job(symbolise(stack)), seen.job_class, std::nullopt, wall_now()).stack)
    fmt::print(stderr, "  {}\n", log::printable(line));
  const SteadyTime begun = seen.current >= 0 ? seen.started_steady : seen.spawned_at;
  const auto after = SteadyTime(std::chrono::nanoseconds(record.crashed_steady)) - begun;
  fmt::print(
      stderr, "  after {:.3f}s   CPU {:.3f}s   peak memory {} MB   fingerprint {}\n",
      std::chrono::duration<double>(after).count(),
      std::chrono::duration<double>(duration_of(record.used.ru_utime) + duration_of(record.used.ru_stime)).count(),
      record.used.ru_maxrss / 1024, known.fingerprint);
  return EX_OK;
}

}  // namespace brood
