#include <brood/job.hpp>

#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

// Jobs that attack their supervisor, and jobs that take more memory than they may.

namespace {

// Writes the file so that it appears complete.
void write_file(const std::string& file, const std::string& text) {
  std::ofstream(file + ".new") << text;
  std::filesystem::rename(file + ".new", file);
}

std::string outcome(long result) { return result >= 0 ? "done" : strerrorname_np(errno); }

}  // namespace

// Records the result of each attack, a word a line.
struct AttackSupervisor {
  std::string file;
  void perform() {
    const pid_t supervisor = getppid(), group = getpgid(supervisor);
    std::ostringstream said;
    const auto try_to = [&](const char* what, auto attack) { said << what << ' ' << outcome(attack()) << '\n'; };
    for (const int signal : {0, SIGTERM, SIGSTOP, SIGKILL}) try_to("kill", [&] { return kill(supervisor, signal); });
    // The kernel looks only at the lower half.
    try_to("kill_with_a_high_half",
           [&] { return syscall(SYS_kill, (1L << 32) | static_cast<std::uint32_t>(supervisor), SIGKILL); });
    // Signal 0 only tests whether a signal could be sent: without the filter the caller of this test must survive.
    try_to("kill_group", [&] { return kill(-group, 0); });
    try_to("kill_all", [] { return kill(-1, 0); });
    try_to("join_group", [&] { return setpgid(0, group); });
    try_to("tkill", [&] { return syscall(SYS_tkill, supervisor, SIGKILL); });
    try_to("tgkill", [&] { return syscall(SYS_tgkill, supervisor, supervisor, SIGKILL); });
    siginfo_t info{};
    info.si_code = SI_QUEUE;
    try_to("rt_sigqueueinfo", [&] { return syscall(SYS_rt_sigqueueinfo, supervisor, SIGKILL, &info); });
    try_to("rt_tgsigqueueinfo", [&] { return syscall(SYS_rt_tgsigqueueinfo, supervisor, supervisor, SIGKILL, &info); });
    try_to("pidfd_open", [&] { return syscall(SYS_pidfd_open, supervisor, 0); });
    try_to("ptrace_attach", [&] { return ptrace(PTRACE_ATTACH, supervisor, nullptr, nullptr); });
    try_to("ptrace_seize", [&] { return ptrace(PTRACE_SEIZE, supervisor, nullptr, nullptr); });
    char byte = 0;
    iovec here{&byte, 1}, there{reinterpret_cast<void*>(&write_file), 1};
    try_to("read_memory", [&] { return process_vm_readv(supervisor, &here, 1, &there, 1, 0); });
    try_to("write_memory", [&] { return process_vm_writev(supervisor, &here, 1, &there, 1, 0); });
    rlimit limit{};
    try_to("prlimit", [&] { return prlimit(supervisor, RLIMIT_CPU, nullptr, &limit); });
    // The same by a child of the job.
    const pid_t child = fork();
    if (child == 0) _exit(kill(supervisor, SIGKILL) == 0 ? 0 : errno);
    int status = 0;
    waitpid(child, &status, 0);
    errno = WEXITSTATUS(status);
    try_to("kill_by_a_child", [&] { return errno == 0 ? 0 : -1; });
    write_file(file, said.str());
  }
};

#if defined(__x86_64__)
namespace {

// Traces `pid`, which waits in a system call, and makes it call kill(victim, 0) instead.  Returns 0, or the error of
// that call; nullopt if it could not be traced.
std::optional<int> kill_by_tracing(pid_t pid, pid_t victim) {
  if (ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) return std::nullopt;
  ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr);
  waitpid(pid, nullptr, __WALL);
  user_regs_struct before{};
  ptrace(PTRACE_GETREGS, pid, nullptr, &before);
  user_regs_struct call = before;
  call.rip -= 2;  // the instruction at which it waits
  call.orig_rax = ~0ULL;
  call.rax = SYS_kill;
  call.rdi = static_cast<unsigned long long>(victim);
  call.rsi = 0;
  ptrace(PTRACE_SETREGS, pid, nullptr, &call);
  ptrace(PTRACE_SINGLESTEP, pid, nullptr, nullptr);
  waitpid(pid, nullptr, __WALL);
  ptrace(PTRACE_GETREGS, pid, nullptr, &call);
  ptrace(PTRACE_SETREGS, pid, nullptr, &before);
  ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
  return static_cast<int>(-static_cast<long long>(call.rax));
}

}  // namespace

// Traces the process, makes it signal the supervisor, and records the result.
struct SignalByTracing {
  std::string file;
  int pid;
  void perform() {
    const std::optional<int> error = kill_by_tracing(pid, getppid());
    write_file(file, !error ? "not traced" : *error == 0 ? "done" : strerrorname_np(*error));
  }
};
#else
struct SignalByTracing {
  std::string file;
  int pid;
  void perform() { write_file(file, "not traced"); }
};
#endif

// Attempts to affect the supervisor by every other system call.  Records the result of each, a word a line.
struct ReachForSupervisor {
  std::string file;
  void perform() {
    const pid_t supervisor = getppid(), group = getpgid(supervisor);
    std::ostringstream said;
    const auto try_to = [&](const char* what, auto attack) { said << what << ' ' << outcome(attack()) << '\n'; };

    const int process = open(("/proc/" + std::to_string(supervisor)).c_str(), O_RDONLY | O_DIRECTORY);
    for (const int signal : {0, SIGSTOP, SIGKILL})
      try_to("pidfd_send_signal", [&] { return syscall(SYS_pidfd_send_signal, process, signal, nullptr, 0); });
    try_to("pidfd_getfd", [&] { return syscall(SYS_pidfd_getfd, process, 0, 0); });

    // Arriving data would send SIGKILL to the pipe's owner.
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
    fcntl(ends[0], F_SETSIG, SIGKILL);
    try_to("setown", [&] { return fcntl(ends[0], F_SETOWN, supervisor); });
    try_to("setown_with_a_high_half", [&] {
      return syscall(SYS_fcntl, ends[0], (1L << 32) | F_SETOWN, (1L << 32) | static_cast<std::uint32_t>(supervisor));
    });
    try_to("setown_group", [&] { return fcntl(ends[0], F_SETOWN, -group); });
    for (const auto type : {F_OWNER_TID, F_OWNER_PID}) {
      f_owner_ex owner{type, supervisor};
      try_to("setown_ex", [&] { return fcntl(ends[0], F_SETOWN_EX, &owner); });
    }
    f_owner_ex owning_group{F_OWNER_PGRP, group};
    try_to("setown_ex", [&] { return fcntl(ends[0], F_SETOWN_EX, &owning_group); });
    int owner = supervisor;
    try_to("fiosetown", [&] { return ioctl(ends[0], FIOSETOWN, &owner); });
    try_to("siocspgrp", [&] { return ioctl(ends[0], SIOCSPGRP, &owner); });
    fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
    if (write(ends[1], "x", 1) != 1) return;
    const int terminal = open("/dev/tty", O_RDWR);
    try_to("type_into_the_terminal", [&] { return ioctl(terminal < 0 ? ends[0] : terminal, TIOCSTI, "\x03"); });

    // Without the filter this would slow down all of the user's processes, including this machine's tests.  So it uses
    // an unused user.
    constexpr id_t nobody_at_all = 1'234'567'890;
    sched_param idle{};
    try_to("sched_setscheduler", [&] { return sched_setscheduler(supervisor, SCHED_IDLE, &idle); });
    try_to("sched_setparam", [&] { return sched_setparam(supervisor, &idle); });
    struct {
      std::uint32_t size = 48, policy = SCHED_IDLE;
      std::uint64_t flags = 0;
      std::int32_t nice = 19;
      std::uint32_t priority = 0;
      std::uint64_t runtime = 0, deadline = 0, period = 0;
    } attributes;
    try_to("sched_setattr", [&] { return syscall(SYS_sched_setattr, supervisor, &attributes, 0); });
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    try_to("sched_setaffinity", [&] { return sched_setaffinity(supervisor, sizeof one, &one); });
    try_to("setpriority", [&] { return setpriority(PRIO_PROCESS, static_cast<id_t>(supervisor), 19); });
    try_to("setpriority_group", [&] { return setpriority(PRIO_PGRP, static_cast<id_t>(group), 19); });
    try_to("setpriority_user", [&] { return setpriority(PRIO_USER, nobody_at_all, 19); });
    constexpr int idle_class = 3 << 13;
    try_to("ioprio_set", [&] { return syscall(SYS_ioprio_set, 1, supervisor, idle_class); });
    try_to("ioprio_set_group", [&] { return syscall(SYS_ioprio_set, 2, group, idle_class); });
    try_to("ioprio_set_user", [&] { return syscall(SYS_ioprio_set, 3, nobody_at_all, idle_class); });

    perf_event_attr event{};
    event.size = sizeof event;
    event.type = PERF_TYPE_SOFTWARE;
    try_to("perf_event_open", [&] { return syscall(SYS_perf_event_open, &event, supervisor, -1, -1, 0); });
    try_to("kcmp", [&] { return syscall(SYS_kcmp, supervisor, getpid(), 0, 0, 0); });
    try_to("kcmp", [&] { return syscall(SYS_kcmp, getpid(), supervisor, 0, 0, 0); });
    try_to("move_pages", [&] { return syscall(SYS_move_pages, supervisor, 0L, nullptr, nullptr, nullptr, 0); });
    unsigned long from = 1, to = 1;
    try_to("migrate_pages", [&] { return syscall(SYS_migrate_pages, supervisor, 64L, &from, &to); });
    try_to("share_core", [&] { return prctl(62, 2, supervisor, 0, 0); });
    try_to("keys_to_parent", [&] { return syscall(SYS_keyctl, 18); });

    // The job's session is not its supervisor's.
    std::ofstream("/proc/self/autogroup") << 19;
    try_to("own_session", [&] { return getsid(0) == getsid(supervisor) ? 0 : (errno = EPERM, -1); });
    write_file(file, said.str());
  }
};

// Truncates every file in the runtime directory, and records how many there were.
struct CutScoreboards {
  std::string file;
  std::string runtime_directory;
  void perform() {
    int cut = 0;
    for (const auto& entry : std::filesystem::directory_iterator(runtime_directory))
      cut += entry.path().extension() == ".scoreboard" && truncate(entry.path().c_str(), 0) == 0;
    write_file(file, std::to_string(cut));
  }
};

// Sends a request to a control socket: itself, by a child, by a child's child, by one that has left the job's session
// and parents, and on a connection of a child that has ended.  Records the answers, a line each.
struct AskSupervisor {
  std::string file;
  std::string socket_path;
  std::string verb;

  bool connect_to_supervisor(int fd) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
    return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  std::string ask() const {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return connect_to_supervisor(fd) ? ask_on(fd) : "no connection\n";
  }

  std::string ask_on(int fd) const {
    const std::string request = "1 " + verb + " []\n";
    if (write(fd, request.data(), request.size()) < 0) return "no request\n";
    std::string answer(4096, '\0');
    const ssize_t size = read(fd, answer.data(), answer.size());
    close(fd);
    return size > 0 ? answer.substr(0, static_cast<std::size_t>(size)) : "no answer\n";
  }

  static void in_child(const std::function<void()>& act) {
    const pid_t child = fork();
    if (child == 0) {
      act();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }

  void perform() {
    const auto said = [&](const std::string& who) { return file + "." + who; };
    write_file(said("worker"), ask());
    in_child([&] { write_file(said("child"), ask()); });
    in_child([&] { in_child([&] { write_file(said("grandchild"), ask()); }); });
    const int lent = socket(AF_UNIX, SOCK_STREAM, 0);
    in_child([&] { connect_to_supervisor(lent); });
    write_file(said("heir"), ask_on(lent));
    in_child([&] {
      prctl(PR_SET_DUMPABLE, 0);
      write_file(said("hidden"), ask());
    });
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    in_child([&] {
      setsid();
      if (fork() != 0) return;
      while (getppid() != 1 && kill(getppid(), 0) == 0) usleep(1000);  // until it has another parent
      write_file(said("daemon"), ask());
    });
    for (int i = 0; i < 2000 && !std::filesystem::exists(said("daemon")); ++i) usleep(10'000);
    write_file(file, "asked");
  }
};

// Uses what a job may do to its own processes.
struct UseOwnProcesses {
  std::string file;
  void perform() {
    std::ostringstream said;
    const auto try_to = [&](const char* what, auto use) { said << what << ' ' << outcome(use()) << '\n'; };
    // From its starting value, since an ordinary user may only lower its own priority.
    const auto nicer_by = [nice = getpriority(PRIO_PROCESS, 0)](int more) { return std::min(nice + more, 19); };
    try_to("setpriority", [&] { return setpriority(PRIO_PROCESS, 0, nicer_by(1)); });
    try_to("setpriority_group", [&] { return setpriority(PRIO_PGRP, 0, nicer_by(1)); });
    try_to("sched_setscheduler", [] {
      sched_param none{};
      return sched_setscheduler(0, sched_getscheduler(0) == SCHED_IDLE ? SCHED_IDLE : SCHED_BATCH, &none);
    });
    try_to("sched_setaffinity", [] {
      cpu_set_t all;
      sched_getaffinity(0, sizeof all, &all);
      return sched_setaffinity(0, sizeof all, &all);
    });
    try_to("system", [] { return std::system("true") == 0 ? 0 : -1; });
    try_to("thread", [] {
      std::thread([] {}).join();
      return 0;
    });
    try_to("timer", [] {
      timer_t timer{};
      if (timer_create(CLOCK_MONOTONIC, nullptr, &timer) != 0) return -1;
      return timer_delete(timer);
    });
    int ends[2];
    if (pipe(ends) != 0) return;
    try_to("setown", [&] { return fcntl(ends[0], F_SETOWN, getpid()); });
    try_to("getfl", [&] { return fcntl(ends[0], F_GETFL); });
    int waiting = 0;
    try_to("fionread", [&] { return ioctl(ends[0], FIONREAD, &waiting); });
    try_to("pidfd_open", [] { return syscall(SYS_pidfd_open, getpid(), 0); });
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    try_to("setpgid", [&] { return setpgid(child, child); });
    try_to("prlimit", [&] {
      rlimit limit{};
      return prlimit(child, RLIMIT_CPU, nullptr, &limit);
    });
    try_to("nice_child", [&] { return setpriority(PRIO_PROCESS, static_cast<id_t>(child), nicer_by(5)); });
    try_to("stop", [&] { return kill(child, SIGSTOP); });
    try_to("kill_group", [&] { return kill(-child, SIGKILL); });
    waitpid(child, nullptr, 0);
    write_file(file, said.str());
  }
};

// Reads what /proc shows the same user of the supervisor.
struct LookIntoSupervisor {
  std::string file;
  void perform() {
    const std::string process = "/proc/" + std::to_string(getppid());
    std::ostringstream said;
    for (const char* name : {"mem", "environ"})
      said << name << ' ' << outcome(open((process + "/" + name).c_str(), O_RDONLY)) << '\n';
    write_file(file, said.str());
  }
};

struct EndOwnChildren {
  std::string file;
  void perform() {
    std::ostringstream said;
    for (const bool by_pidfd : {false, true}) {
      const pid_t child = fork();
      if (child == 0) {
        setpgid(0, 0);
        for (;;) pause();
      }
      setpgid(child, child);
      if (by_pidfd)
        syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, child, 0), SIGKILL, nullptr, 0);
      else
        kill(-child, SIGKILL);
      int status = 0;
      waitpid(child, &status, 0);
      said << WTERMSIG(status) << '\n';
    }
    write_file(file, said.str());
  }
};

// Makes its supervisor its tracer, and then stops at a signal.
struct BeTraced {
  std::string file;
  void perform() {
    signal(SIGUSR1, SIG_IGN);
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    for (int i = 0; i < 3; ++i) raise(SIGWINCH);
    write_file(file, "went on");
  }
};

// Leaves a thread behind that crashes after a while; 0: never.
void leave_thread(int crashes_after_ms) {
  std::thread([ms = crashes_after_ms] {
    if (ms == 0) {
      for (;;) pause();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    *static_cast<volatile int*>(nullptr) = 0;
  }).detach();
}

// Ends while one of its threads runs.
struct LeaveThread {
  int crashes_after_ms = 0;
  void perform() { leave_thread(crashes_after_ms); }
};

// The same, with options for what happens to the worker.
struct KeepThread {
  static constexpr brood::JobOptions options{.threads = brood::LeftThreads::allow};
  void perform() { leave_thread(0); }
};
struct RefuseThread {
  static constexpr brood::JobOptions options{.threads = brood::LeftThreads::replace};
  void perform() { leave_thread(0); }
};

struct JoinThreads {
  int threads = 1;
  void perform() {
    for (int i = 0; i < threads; ++i) std::thread([] {}).join();
  }
};

// Asks for memory a megabyte at a time.
struct EatMemory {
  std::uint64_t megabytes;
  void perform() {
    std::vector<std::unique_ptr<char[]>> eaten;
    for (std::uint64_t i = 0; i < megabytes; ++i) {
      eaten.push_back(std::make_unique<char[]>(1 << 20));
      std::memset(eaten.back().get(), 1, 1 << 20);
    }
  }
};

// Leaves no memory for other code, not even for small things.
struct LeakEverything {
  void perform() {
    std::size_t left = 512 << 20;  // a machine without effective limits must survive this
    for (std::size_t size = 1 << 20; size >= 16; size /= 2) {
      while (left >= size) {
        auto* const leaked = static_cast<char*>(::operator new(size, std::nothrow));
        if (leaked == nullptr) break;
        leaked[0] = 1;
        left -= size;
      }
    }
    throw std::bad_alloc();
  }
};

struct Leak {
  std::uint64_t kilobytes;
  void perform() {
    auto* const leaked = new char[kilobytes << 10];
    std::memset(leaked, 1, kilobytes << 10);
    kept = leaked;
  }
  static inline char* volatile kept = nullptr;
};

BROOD_JOBS(AttackSupervisor, SignalByTracing, ReachForSupervisor, CutScoreboards, AskSupervisor, UseOwnProcesses,
           LookIntoSupervisor, BeTraced, LeaveThread, KeepThread, RefuseThread, JoinThreads, EndOwnChildren, EatMemory,
           LeakEverything, Leak)
