// More attempts to leave a sandbox: those without files and sockets, which every sandbox must refuse, and those by
// files.
#include "tests/lifecycle/escape_attempts.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/fsverity.h>
#include <mqueue.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>

namespace {

// Whether the kernel or the filter allowed the call.
bool is_let_in(long result) { return result >= 0 || (errno != EPERM && errno != EACCES && errno != ENOSYS); }

bool opens(const std::string& path, int flags) {
  const int file = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
  return file >= 0;
}

// Runs in a separate process, whose end undoes the attempt.
bool in_child(const std::function<bool()>& attempt) {
  const pid_t child = fork();
  if (child == 0) _exit(attempt() ? 0 : 1);
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

struct Mapping {
  unsigned long begin = 0, end = 0;
  bool writable = false, shared = false;
  std::string path;
};
std::vector<Mapping> mappings() {
  std::vector<Mapping> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    Mapping one;
    char rights[5] = {};
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %*s %*s %*s %n", &one.begin, &one.end, rights, &path_at) < 3) continue;
    one.writable = rights[1] == 'w';
    one.shared = rights[3] == 's';
    one.path = line.substr(static_cast<std::size_t>(path_at));
    found.push_back(one);
  }
  return found;
}
bool is_scoreboard(const Mapping& one) { return one.path.find(".scoreboard") != std::string::npos; }
bool is_scratch(const Mapping& one) { return one.path.find("brood-scratch-record") != std::string::npos; }

// Uses a mapping other than its own scratch record.
bool shares_memory() {
  for (const Mapping& one : mappings()) {
    if (one.shared && one.writable && !is_scratch(one)) return true;
  }
  return false;
}

// A writer could then cut the file's size.
bool opens_a_mapping_again() {
  for (const Mapping& one : mappings()) {
    if (!one.shared) continue;
    char name[64];
    std::snprintf(name, sizeof name, "/proc/self/map_files/%lx-%lx", one.begin, one.end);
    if (opens(name, O_RDWR)) return true;
  }
  return false;
}

bool writes_its_memory_by_file() {
  const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  if (memory < 0) return false;
  bool wrote = false;
  for (const Mapping& one : mappings()) {
    char byte = 0;
    if (!is_scoreboard(one) || one.writable) continue;
    const auto at = static_cast<off_t>(one.begin);
    wrote = wrote || (pread(memory, &byte, 1, at) == 1 && pwrite(memory, &byte, 1, at) == 1);
  }
  close(memory);
  return wrote;
}

bool has_further_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (syscall(SYS_capget, &header, sets) != 0) return false;
  return (sets[0].permitted & ~(1U << CAP_DAC_OVERRIDE)) != 0 || sets[1].permitted != 0;
}

bool asks(int descriptor, unsigned long request) {
  std::uint64_t argument[8] = {};
  return ioctl(descriptor, request, argument) == 0 || (errno != EPERM && errno != ENOTTY && errno != EBADF);
}

}  // namespace

std::vector<EscapeAttempt> attempts_by_calls(const EscapeTargets& targets) {
  const pid_t bystander = targets.bystander, worker = targets.worker;
  const auto proc = [](pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; };
  return {
      {"signal a thread of a bystander", [=] { return syscall(SYS_tgkill, bystander, bystander, SIGCONT) == 0; }},
      {"signal a thread of a bystander by tkill", [=] { return syscall(SYS_tkill, bystander, SIGCONT) == 0; }},
      {"queue a signal to a thread of a bystander",
       [=] {
         siginfo_t info{};
         info.si_code = SI_QUEUE;
         return syscall(SYS_rt_tgsigqueueinfo, bystander, bystander, SIGCONT, &info) == 0;
       }},
      {"slow down the processes of its group",
       [] { return setpriority(PRIO_PGRP, 0, getpriority(PRIO_PROCESS, 0)) == 0; }},
      {"have the disk serve its group later", [] { return syscall(SYS_ioprio_set, 2, 0, 0) == 0; }},
      {"slow down its session",
       [] {
         const int group = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
         if (group < 0) return false;
         const bool wrote = write(group, "0", 1) == 1;
         close(group);
         return wrote;
       }},
      {"have the kernel choose a bystander for want of memory",
       [=] { return opens(proc(bystander, "oom_score_adj"), O_WRONLY); }},
      {"say what a bystander's core holds", [=] { return opens(proc(bystander, "coredump_filter"), O_WRONLY); }},
      {"say what a worker's core holds", [=] { return opens(proc(worker, "coredump_filter"), O_WRONLY); }},
      {"forget what a bystander has used", [=] { return opens(proc(bystander, "clear_refs"), O_WRONLY); }},
      {"read a bystander's environment", [=] { return opens(proc(bystander, "environ"), O_RDONLY); }},
      {"read a bystander's memory", [=] { return opens(proc(bystander, "mem"), O_RDONLY); }},
      {"open what a worker has open", [=] { return opens(proc(worker, "fd/1"), O_WRONLY); }},
      {"open what its parent has open", [=] { return opens(proc(getppid(), "fd/1"), O_WRONLY); }},
      {"read its parent's memory", [=] { return opens(proc(getppid(), "mem"), O_RDONLY); }},
      {"set what programs get core files", [] { return opens("/proc/sys/kernel/core_pattern", O_WRONLY); }},
      {"move a process to another cgroup",
       [] {
         return opens("/sys/fs/cgroup/cgroup.procs", O_WRONLY) || opens("/sys/fs/cgroup/pids/cgroup.procs", O_WRONLY) ||
                opens("/sys/fs/cgroup/unified/cgroup.procs", O_WRONLY);
       }},
      {"compare with a bystander", [=] { return is_let_in(syscall(SYS_kcmp, getpid(), bystander, 5, 0, 0)); }},
      {"advise a bystander's memory",
       [=] {
         const long fd = syscall(434, bystander, 0);
         const bool advised = fd >= 0 && is_let_in(syscall(440, fd, nullptr, 0, 21, 0));
         close(static_cast<int>(fd));
         return advised;
       }},
      {"count what a bystander does",
       [=] {
         char attributes[128] = {};
         attributes[4] = static_cast<char>(sizeof attributes);
         return is_let_in(syscall(SYS_perf_event_open, attributes, bystander, -1, -1, 0));
       }},
      {"run on one core with a bystander", [=] { return prctl(62, 2, bystander, 0, 0) == 0; }},
      {"handle faults of memory for itself", [] { return is_let_in(syscall(SYS_userfaultfd, O_CLOEXEC)); }},
      {"use keys of its user", [] { return is_let_in(syscall(SYS_keyctl, 0, -4, 1)); }},
      {"add a key", [] { return is_let_in(syscall(SYS_add_key, "user", "brood", "x", 1, -4)); }},
      {"change its personality", [] { return is_let_in(syscall(SYS_personality, 0xffffffff)); }},
      {"name a file by a handle",
       [=] {
         char handle[128 + 8] = {};
         handle[0] = 127;
         int mount = 0;
         return is_let_in(syscall(SYS_name_to_handle_at, AT_FDCWD, "/usr", handle, &mount, 0));
       }},
      {"open a file by a handle",
       [] {
         char handle[128 + 8] = {};
         handle[0] = 8;
         return is_let_in(syscall(SYS_open_by_handle_at, AT_FDCWD, handle, O_RDONLY));
       }},
      {"mount something",
       [] { return in_child([] { return is_let_in(mount("none", "/mnt", "nothing", 0, nullptr)); }); }},
      {"open a mount", [] { return is_let_in(syscall(428, AT_FDCWD, "/usr", 1)); }},
      {"read the kernel's log", [] { return syscall(SYS_syslog, 10, nullptr, 0) >= 0; }},
      {"load a module", [] { return is_let_in(syscall(SYS_finit_module, -1, "", 0)); }},
      {"set the clock", [] { return is_let_in(syscall(SYS_clock_settime, -1, nullptr)); }},
      {"be somebody else", [] { return in_child([] { return setresuid(54321, 54321, 54321) == 0; }); }},
      {"have rights by a set-user-ID program", [] { return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1; }},
      {"have further capabilities", has_further_capabilities},
      {"run before all others",
       [] {
         const sched_param first{1};
         return in_child([&] { return sched_setscheduler(0, SCHED_FIFO, &first) == 0; });
       }},
      {"open more files than its limit",
       [] {
         rlimit limit{};
         getrlimit(RLIMIT_NOFILE, &limit);
         limit.rlim_cur = limit.rlim_max += 1;
         return in_child([&] { return setrlimit(RLIMIT_NOFILE, &limit) == 0; });
       }},
      {"open a queue of messages", [] { return is_let_in(mq_open("/brood-escape", O_RDONLY)); }},
      {"use a semaphore by a key", [] { return is_let_in(syscall(SYS_semget, 4711, 1, 01600)); }},
      {"use a message queue by a key", [] { return is_let_in(syscall(SYS_msgget, 4711, 01600)); }},
      {"type into a terminal", [] { return ioctl(0, TIOCSTI, "x") == 0 || errno != EPERM; }},
      {"share memory with others", shares_memory},
      {"open again what is mapped", opens_a_mapping_again},
      {"write the scoreboard as a file of its memory", writes_its_memory_by_file},
      {"hold others off a file by a lease",
       [] {
         const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
         const bool held = file >= 0 && (fcntl(file, F_SETLEASE, F_RDLCK) == 0 || errno == EAGAIN);
         close(file);
         return held;
       }},
  };
}

std::vector<EscapeAttempt> attempts_by_files(const EscapeTargets& targets) {
  const std::string directory = targets.directory, outside = directory + "/outside", out = directory + "/out",
                    readable = directory + "/in/text";
  const auto with_readable = [=](const std::function<bool(int)>& attempt) {
    return [=] {
      const int file = open(readable.c_str(), O_RDONLY | O_CLOEXEC);
      const bool succeeded = file >= 0 && attempt(file);
      close(file);
      return succeeded;
    };
  };
  return {
      {"write what it may only read", [=] { return opens(readable, O_WRONLY); }},
      {"write what it may only read by a link into what it may write",
       [=] {
         return link(readable.c_str(), (out + "/linked_in").c_str()) == 0 && opens(out + "/linked_in", O_WRONLY);
       }},
      {"write what it may only read by its descriptor",
       with_readable([](int file) { return opens("/proc/self/fd/" + std::to_string(file), O_RDWR); })},
      {"link what it may only read by its descriptor", with_readable([=](int file) {
         return linkat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(file)).c_str(), AT_FDCWD, (out + "/by_fd").c_str(),
                       AT_SYMLINK_FOLLOW) == 0;
       })},
      {"truncate what it has open for reading", with_readable([](int file) { return ftruncate(file, 0) == 0; })},
      {"make room in what it has open for reading",
       with_readable([](int file) { return fallocate(file, 0, 0, 1 << 20) == 0; })},
      {"set flags of what it has open for reading",
       with_readable([](int file) { return asks(file, FS_IOC_SETFLAGS); })},
      {"set further attributes of what it has open for reading",
       with_readable([](int file) { return asks(file, FS_IOC_FSSETXATTR); })},
      {"seal what it has open for reading", with_readable([](int file) { return asks(file, FS_IOC_ENABLE_VERITY); })},
      {"watch another directory",
       [=] {
         const int watch = inotify_init1(IN_CLOEXEC);
         const bool watches = watch >= 0 && inotify_add_watch(watch, outside.c_str(), IN_CREATE) >= 0;
         close(watch);
         return watches;
       }},
      {"write by a symbolic link",
       [=] {
         return symlink((outside + "/file").c_str(), (out + "/leads_out").c_str()) == 0 &&
                opens(out + "/leads_out", O_WRONLY);
       }},
      {"move a directory out",
       [=] {
         return mkdir((out + "/moved").c_str(), 0700) == 0 &&
                rename((out + "/moved").c_str(), (outside + "/moved").c_str()) == 0;
       }},
      {"exchange a file for one outside",
       [=] {
         return opens(out + "/exchanged", O_WRONLY | O_CREAT) &&
                syscall(SYS_renameat2, AT_FDCWD, (out + "/exchanged").c_str(), AT_FDCWD, (outside + "/file").c_str(),
                        2 /* RENAME_EXCHANGE */) == 0;
       }},
      {"read a secret through its own root", [=] { return opens("/proc/self/root" + targets.secret, O_RDONLY); }},
      {"read a secret through its own directory",
       [=] { return chdir("/") == 0 && opens("/proc/self/cwd" + targets.secret, O_RDONLY); }},
      {"read a secret by a program",
       [=] { return std::system(("cat " + targets.secret + " >/dev/null 2>&1").c_str()) == 0; }},
      {"share memory by a name",
       [] {
         const int shared = shm_open("/brood-escape", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
         if (shared >= 0) close(shared), shm_unlink("/brood-escape");
         return shared >= 0;
       }},
      {"open a virtual socket",
       [] {
         const int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
         if (fd >= 0) close(fd);
         return fd >= 0;
       }},
      {"speak with the kernel's cryptography",
       [] {
         const int fd = socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
         if (fd >= 0) close(fd);
         return fd >= 0;
       }},
      {"escape by a program that lies in memory",
       [=] {
         return in_child([=] {
           const int program = memfd_create("escape", 0), shell = open("/bin/sh", O_RDONLY | O_CLOEXEC);
           char bytes[1 << 16];
           for (ssize_t got = 0; (got = read(shell, bytes, sizeof bytes)) > 0;) {
             if (write(program, bytes, static_cast<std::size_t>(got)) != got) return false;
           }
           const std::string command = "echo escaped > " + outside + "/by_memory";
           const char* const words[] = {"sh", "-c", command.c_str(), nullptr};
           const pid_t child = fork();
           if (child == 0) {
             dup2(open("/dev/null", O_WRONLY), 2);
             syscall(SYS_execveat, program, "", words, environ, AT_EMPTY_PATH);
             _exit(1);
           }
           int status = -1;
           return waitpid(child, &status, 0) == child && status == 0;
         });
       }},
  };
}
