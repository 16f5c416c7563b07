#include <brood/job.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <vector>

// Jobs that attack their supervisor, and jobs that take more memory than they may.

namespace {

// Appears as a whole.
void write_file(const std::string& file, const std::string& text) {
  std::ofstream(file + ".new") << text;
  std::filesystem::rename(file + ".new", file);
}

std::string outcome(long result) { return result >= 0 ? "done" : strerrorname_np(errno); }

}  // namespace

// Says how each attack ended, a word a line.
struct AttackSupervisor {
  std::string file;
  void perform() {
    const pid_t supervisor = getppid(), group = getpgid(supervisor);
    std::ostringstream said;
    const auto try_to = [&](const char* what, auto attack) { said << what << ' ' << outcome(attack()) << '\n'; };
    for (const int signal : {0, SIGTERM, SIGSTOP, SIGKILL}) try_to("kill", [&] { return kill(supervisor, signal); });
    // The kernel looks at the lower half alone.
    try_to("kill_with_a_high_half",
           [&] { return syscall(SYS_kill, (1L << 32) | static_cast<std::uint32_t>(supervisor), SIGKILL); });
    // Signal 0 asks whether it could be sent: whoever runs this test without the filter is to live on.
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
    // A child of the job's is no better off.
    const pid_t child = fork();
    if (child == 0) _exit(kill(supervisor, SIGKILL) == 0 ? 0 : errno);
    int status = 0;
    waitpid(child, &status, 0);
    errno = WEXITSTATUS(status);
    try_to("kill_by_a_child", [&] { return errno == 0 ? 0 : -1; });
    write_file(file, said.str());
  }
};

// What /proc would give away of it to the same user.
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

// Leaves nothing for anybody, not even for small things.
struct LeakEverything {
  void perform() {
    std::size_t left = 512 << 20;  // a machine whose limits do not hold must survive this
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

BROOD_JOBS(AttackSupervisor, LookIntoSupervisor, EndOwnChildren, EatMemory, LeakEverything, Leak)
