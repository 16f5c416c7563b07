#include "supervisor/web/confinement.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace brood {
namespace {

[[maybe_unused]] constexpr rlim_t most_memory =
    512UL << 20;  // a page of a hostile megabyte job must fit; at rest it is a hundredth
constexpr rlim_t most_descriptors = 1024;

#if defined(__x86_64__)
constexpr std::uint32_t this_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t this_architecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t this_architecture = 0;
#endif

// pidfd_open is allowed: it shows whether a process is dead or only hidden.  Every call that could affect the process
// through it is refused.
constexpr std::uint32_t refused_calls[] = {SYS_execve,
                                           SYS_execveat,
                                           SYS_ptrace,
                                           SYS_process_vm_readv,
                                           SYS_process_vm_writev,
                                           SYS_kill,
                                           SYS_tkill,
                                           SYS_rt_sigqueueinfo,
                                           SYS_rt_tgsigqueueinfo,
                                           SYS_pidfd_send_signal,
                                           SYS_setpriority,
                                           SYS_ioprio_set,
                                           SYS_sched_setaffinity,
                                           SYS_sched_setscheduler,
                                           SYS_sched_setparam,
                                           SYS_sched_setattr,
                                           SYS_process_madvise,
                                           SYS_process_mrelease,
                                           SYS_kcmp,
                                           SYS_move_pages,
                                           SYS_migrate_pages,
                                           SYS_fsopen,
                                           SYS_fsmount,
                                           SYS_fspick,
                                           SYS_open_tree,
                                           SYS_move_mount,
                                           SYS_mount_setattr,
                                           SYS_open_by_handle_at,
                                           SYS_mount,
                                           SYS_umount2,
                                           SYS_pivot_root,
                                           SYS_chroot,
                                           SYS_setns,
                                           SYS_unshare,
                                           SYS_reboot,
                                           SYS_init_module,
                                           SYS_finit_module,
                                           SYS_delete_module,
                                           SYS_kexec_load,
                                           SYS_kexec_file_load,
                                           SYS_bpf,
                                           SYS_keyctl,
                                           SYS_add_key,
                                           SYS_perf_event_open,
                                           SYS_userfaultfd,
                                           SYS_io_uring_setup,
                                           SYS_swapon,
                                           SYS_swapoff,
                                           SYS_sethostname,
                                           SYS_settimeofday,
                                           SYS_clock_settime,
                                           SYS_clock_adjtime,
                                           SYS_adjtimex,
                                           SYS_acct,
                                           SYS_setuid,
                                           SYS_setgid,
                                           SYS_setresuid,
                                           SYS_setresgid,
                                           SYS_setreuid,
                                           SYS_setregid,
                                           SYS_setfsuid,
                                           SYS_setfsgid,
                                           SYS_setgroups,
                                           SYS_capset,
                                           SYS_pidfd_getfd,
                                           SYS_personality};

sock_filter statement(std::uint16_t code, std::uint32_t k) { return BPF_STMT(code, k); }
sock_filter jump(std::uint32_t k, std::uint8_t yes, std::uint8_t no) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, yes, no);
}

std::vector<sock_filter> filter() {
  constexpr std::uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;
  std::vector<sock_filter> program = {statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
                                      jump(this_architecture, 1, 0), statement(BPF_RET | BPF_K, refuse),
                                      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
#if defined(__x86_64__)
  // The numbers of x32 begin here; they mean the same calls.
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));
  program.push_back(statement(BPF_RET | BPF_K, refuse));
#endif
  const auto refuse_call = [&](std::uint32_t call) {
    program.push_back(jump(call, 0, 1));
    program.push_back(statement(BPF_RET | BPF_K, refuse));
  };
  for (const std::uint32_t call : refused_calls) refuse_call(call);
#ifdef SYS_fork
  refuse_call(SYS_fork);
  refuse_call(SYS_vfork);
#endif
  program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return program;
}

// A new thread needs clone(), and so does a new process: allows only threads.
void limit_processes(std::vector<sock_filter>& program) {
  constexpr std::uint32_t clone_thread = 0x00010000;
  const sock_filter allow = program.back();
  program.pop_back();
  // The filter cannot see clone3()'s flags; if it is missing, the C library uses clone().
  program.push_back(jump(SYS_clone3, 0, 1));
  program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
  program.push_back(jump(SYS_clone, 0, 3));
  program.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, clone_thread, 1, 0));
  program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  program.push_back(allow);
}

constexpr std::uint32_t argument(int number) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + static_cast<std::size_t>(number) * 8);
}

// The allowed or the forbidden values of one argument of a call, of which the kernel reads 32 bits.
struct Bound {
  std::uint32_t call;
  int argument;
  std::vector<std::uint32_t> values;
  enum class Sense { only_these, none_of_these } sense;
};

void limit_argument(std::vector<sock_filter>& program, const Bound& bound) {
  const sock_filter allow = program.back(), refuse = statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  program.pop_back();
  const bool only_these = bound.sense == Bound::Sense::only_these;
  program.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  program.push_back(jump(bound.call, 0, static_cast<std::uint8_t>(2 + 2 * bound.values.size())));
  program.push_back(statement(BPF_LD | BPF_W | BPF_ABS, argument(bound.argument)));
  for (const std::uint32_t value : bound.values) {
    program.push_back(jump(value, 0, 1));
    program.push_back(only_these ? allow : refuse);
  }
  program.push_back(only_these ? refuse : allow);
  program.push_back(allow);
}

// Lets the process raise signals only in itself, as it does after a crash, and not through the owner of a file either.
// Keeps it from typing into its terminal.
void limit_reach(std::vector<sock_filter>& program) {
  using enum Bound::Sense;
  const auto self = static_cast<std::uint32_t>(getpid());
  limit_argument(program, {SYS_tgkill, 0, {self}, only_these});
  limit_argument(program, {SYS_prlimit64, 0, {0, self}, only_these});
  limit_argument(program, {SYS_fcntl, 1, {F_SETOWN, F_SETOWN_EX}, none_of_these});
  limit_argument(program, {SYS_ioctl, 1, {FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX, TIOCSPGRP}, none_of_these});
}

// Returns false if the limit cannot be set: a service's own filter may forbid it.
bool limit(__rlimit_resource resource, rlim_t most) {
  rlimit now{};
  if (getrlimit(resource, &now) != 0) return false;
  now.rlim_cur = std::min(now.rlim_max, most);
  now.rlim_max = now.rlim_cur;
  return setrlimit(resource, &now) == 0;
}

}  // namespace

bool confine_page() {
  prctl(PR_SET_DUMPABLE, 0);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const bool has_memory_limit = true;  // a sanitizer maps far more than that for itself
#else
  const bool has_memory_limit = limit(RLIMIT_DATA, most_memory);
#endif
  const bool has_limits = limit(RLIMIT_CORE, 0) && has_memory_limit && limit(RLIMIT_NOFILE, most_descriptors);
  if (this_architecture == 0) return false;
  std::vector<sock_filter> program = filter();
  limit_processes(program);
  limit_reach(program);
  sock_fprog whole{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &whole) == 0 && has_limits;
}

}  // namespace brood
