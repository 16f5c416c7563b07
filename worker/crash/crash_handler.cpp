#include "worker/crash/crash_handler.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <system_error>
#include <typeinfo>

#include "shared/base/check.hpp"
#include "shared/base/mapped_file.hpp"
#include "worker/crash/module_map.hpp"
#include "worker/crash/stack_capture.hpp"
#include "worker/guard/seccomp_pidfd_signal.hpp"
#include "worker/guard/syscall_watch.hpp"

namespace brood {
namespace {

// The handler may raise these itself on a broken stack, so it never blocks them.
constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr int other_crashes[] = {SIGABRT, SIGSYS, SIGTRAP};

// The unwinder needs little of it, but for each signal the kernel saves the processor's registers there, up to 11 KB.
constexpr std::size_t alternative_stack_size = 128 << 10;

// x86-64 has pages of 4 KB, aarch64 of up to 64 KB.
#if defined(__x86_64__)
constexpr std::size_t largest_page = 4 << 10;
#else
constexpr std::size_t largest_page = 64 << 10;
#endif

// The data of the handlers.  It lies in pages of its own, which are read-only while jobs run.
struct alignas(largest_page) Installed {
  pid_t pid = 0;  // 0: not installed
  SlotRecord* record = nullptr;
  timer_t end_of_patience{};
  ModuleMap modules;
  CrashHandlerSettings settings;
  bool exit_is_watched = false;
  bool (*pass)(int signal) = nullptr;
};
Installed installed;

template <typename Change>
void change_installed(Change change) {
  check("mprotect", mprotect(&installed, sizeof installed, PROT_READ | PROT_WRITE));
  change();
  check("mprotect", mprotect(&installed, sizeof installed, PROT_READ));
}

// The kernel id of the thread that crashes, writes its stack for a dump, or terminates; 0: none does.
std::atomic<pid_t> crashing{0};
std::atomic<pid_t> dumping{0};
std::atomic<pid_t> terminating{0};
siginfo_t first_fault;  // of `crashing`

pid_t this_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

// False in a process that a job has forked: the slot does not belong to it.
bool is_the_worker() { return getpid() == installed.pid; }

void mask(int how, int signal) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(how, &only, nullptr);
}

// Sets the time after which the kernel kills this process.  The signal is SIGKILL, since a job may block or ignore any
// other.  The timer is our own, since a job may use alarm(2).  timer_settime(2) is async-signal-safe.
void set_patience(std::chrono::milliseconds patience) {
  const itimerspec once{
      .it_interval = {},
      .it_value = {.tv_sec = patience.count() / 1000, .tv_nsec = patience.count() % 1000 * 1'000'000}};
  timer_settime(installed.end_of_patience, 0, &once, nullptr);
}

// Sends the signal once more, with the same siginfo.  It is blocked until the handler returns, and then ends the
// process at the place of the fault, so that a core file shows that place.  The handler does not rely on a second
// execution of the instruction, since that might not fault again.
void end_by_default(siginfo_t* info) {
  const int signal = info->si_signo;
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  sigaction(signal, &by_default, nullptr);
  mask(SIG_BLOCK, signal);
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), this_thread(), signal, info) != 0)
    syscall(SYS_tgkill, getpid(), this_thread(), signal);
}

// Does the same in a handler that does not return.
void end_at_once(siginfo_t* info) {
  end_by_default(info);
  mask(SIG_UNBLOCK, info->si_signo);
}

// Waits, while another thread is about to end the process.
void wait_for_the_end() {
  for (int i = 0; i < 50; ++i) {
    const timespec pause{.tv_sec = 0, .tv_nsec = 100'000'000};
    nanosleep(&pause, nullptr);
  }
}

bool is_passed_on(int signal) { return is_the_worker() && installed.pass != nullptr && installed.pass(signal); }

void on_crash(int, siginfo_t* info, void* context) {
  if (watched_call(*info, *static_cast<ucontext_t*>(context))) return;
  if (sent_for_pidfd(*info, *static_cast<ucontext_t*>(context)) || bring_back_page(*info)) return;
  if (!is_the_worker()) return end_by_default(info);
  const bool from_outside = info->si_code <= 0 && info->si_pid != getpid();
  if (info->si_signo == SIGABRT && from_outside && is_passed_on(SIGABRT)) return;
  end_faulty_step();
  const pid_t self = this_thread();
  pid_t other = 0;
  if (!crashing.compare_exchange_strong(other, self)) {
    if (other == self) end_at_once(&first_fault);
    wait_for_the_end();
    return end_by_default(info);
  }
  first_fault = *info;
  StackRecord& crash = installed.record->crash;
  auto& interrupted = *static_cast<ucontext_t*>(context);
  write_header(crash, info, interrupted);
  set_patience(installed.settings.longest_unwinding);
  if (installed.settings.before_unwinding != nullptr) installed.settings.before_unwinding();
  write_frames(crash, installed.modules, interrupted);
  set_patience({});  // a core file may take longer
  if (installed.settings.when_written != nullptr) installed.settings.when_written();
  end_by_default(info);
}

void on_dump(int, siginfo_t*, void* context) {
  end_watch();
  if (is_passed_on(SIGTTIN)) return;
  pid_t nobody = 0;
  if (!is_the_worker() || !dumping.compare_exchange_strong(nobody, this_thread())) return;
  const int saved = errno;
  StackRecord& dump = installed.record->dump;
  auto& interrupted = *static_cast<ucontext_t*>(context);
  write_header(dump, nullptr, interrupted);
  write_frames(dump, installed.modules, interrupted);
  errno = saved;
  dumping.store(0);
}

template <std::size_t size>
void keep_text(char (&into)[size], const char* text) {
  std::size_t i = 0;
  for (; text != nullptr && i + 1 < size && text[i] != '\0'; ++i) into[i] = text[i];
  into[i] = '\0';
}

// Notes the exception's type before its what(), since what() is code of a job and may crash.
void keep_exception(StackRecord& crash) {
  const std::type_info* const type = abi::__cxa_current_exception_type();
  if (type == nullptr) return;
  keep_text(crash.thrown_type, type->name());
  try {
    throw;
  } catch (const std::exception& error) {
    keep_text(crash.what, error.what());
  } catch (...) {
  }
}

[[noreturn]] void keep_exception_and_abort() {
  const pid_t self = this_thread();
  pid_t other = 0;
  if (is_the_worker() && terminating.compare_exchange_strong(other, self)) {
    keep_exception(installed.record->crash);
  } else if (other != 0 && other != self) {
    wait_for_the_end();
  }
  std::abort();
}

void on_exit_call(int status, void*) {
  if (!is_the_worker() || installed.record->current.load() < 0) return;
  pid_t other = 0;
  if (!crashing.compare_exchange_strong(other, this_thread())) return wait_for_the_end();
  StackRecord& crash = installed.record->crash;
  write_exit_header(crash, status);
  write_frames_from(crash, installed.modules, reinterpret_cast<const void*>(&std::exit));
  crashing.store(0);  // a library's destructor may still crash
  if (installed.settings.when_written != nullptr) installed.settings.when_written();
}

timer_t make_last_timer() {
  sigevent expiry{};
  expiry.sigev_notify = SIGEV_SIGNAL;
  expiry.sigev_signo = SIGKILL;
  timer_t timer{};
  check("timer_create", timer_create(CLOCK_MONOTONIC, &expiry, &timer));
  return timer;
}

// Allocates the stack with a page below it that cannot be accessed: so a handler that overruns the stack does not write
// into other memory.
void use_alternative_stack() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = mmap(nullptr, page + alternative_stack_size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  check("mprotect", mprotect(memory, page, PROT_NONE));
  const stack_t stack{.ss_sp = static_cast<char*>(memory) + page, .ss_flags = 0, .ss_size = alternative_stack_size};
  check("sigaltstack", sigaltstack(&stack, nullptr));
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*), int more_flags) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | more_flags;
  sigfillset(&action.sa_mask);
  for (const int fault : faults) sigdelset(&action.sa_mask, fault);
  check("sigaction", sigaction(signal, &action, nullptr));
}

}  // namespace

void install_crash_handler(SlotRecord& record, const CrashHandlerSettings& settings) {
  const timer_t timer = make_last_timer();
  change_installed([&] {
    installed.pid = getpid();
    installed.record = &record;
    installed.end_of_patience = timer;
    installed.settings = settings;
    installed.modules.refresh();
  });
  prime_unwinder();
  use_alternative_stack();
  // SA_RESETHAND is not set: a second thread that crashes must enter the handler too, and wait there.
  for (const int signal : faults) handle(signal, on_crash, SA_NODEFER);
  for (const int signal : other_crashes) handle(signal, on_crash, 0);
  handle(SIGTTIN, on_dump, SA_RESTART);
  std::set_terminate(keep_exception_and_abort);
}

void take_over_crash_handler() {
  const timer_t timer = make_last_timer();  // no timer is inherited
  change_installed([&] {
    installed.pid = getpid();
    installed.end_of_patience = timer;
    installed.pass = nullptr;
  });
}

void pass_signals_by(bool (*pass)(int signal)) {
  change_installed([&] { installed.pass = pass; });
}

void note_libraries() {
  if (installed.pid == 0) return;
  ModuleMap modules = installed.modules;
  const bool changed = modules.refresh();
  if (!changed && installed.exit_is_watched) return;
  change_installed([&] {
    installed.modules = modules;
    if (!installed.exit_is_watched && on_exit(on_exit_call, nullptr) == 0) installed.exit_is_watched = true;
  });
}

}  // namespace brood
