#include "worker/guard/seccomp_rules.hpp"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

namespace brood {
namespace {

constexpr std::int64_t everybody = -1;
constexpr std::int64_t pr_sched_core = 62;  // linux/prctl.h, for older headers
constexpr std::int64_t f_setown_ex = 15;    // its argument points to the owner in memory
constexpr std::int64_t paste_by_linux = TIOCLINUX;
// Values of ioprio_set(2).  <linux/ioprio.h> is valid only in C in some releases: it has a parameter named "class".
constexpr std::int64_t ioprio_process = 1;
constexpr std::int64_t ioprio_group = 2;
constexpr std::int64_t ioprio_user = 3;

// The names of <asm/unistd.h> up to Linux 6.16, and those of other architectures and of old 32-bit calls.
constexpr CallGroup groups[] = {
    // Files, which the user's rights protect.  SECURITY.md describes what a job may do with them.
    {CallReach::own,
     "read write open close stat fstat lstat poll lseek pread64 pwrite64 readv writev access pipe select sendfile "
     "fsync fdatasync truncate ftruncate getdents getcwd chdir fchdir rename mkdir rmdir creat link unlink symlink "
     "readlink chmod fchmod chown fchown lchown umask utime mknod statfs fstatfs ustat flock dup dup2 dup3 sync "
     "setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr "
     "lremovexattr fremovexattr setxattrat getxattrat listxattrat removexattrat file_getattr file_setattr getdents64 "
     "readahead fadvise64 utimes inotify_init inotify_add_watch inotify_rm_watch inotify_init1 openat openat2 mkdirat "
     "mknodat fchownat futimesat newfstatat unlinkat renameat renameat2 linkat symlinkat readlinkat fchmodat fchmodat2 "
     "faccessat faccessat2 pselect6 ppoll splice tee vmsplice sync_file_range utimensat fallocate preadv pwritev "
     "preadv2 pwritev2 copy_file_range statx syncfs name_to_handle_at close_range pipe2 cachestat statmount listmount "
     "epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_wait epoll_wait_old epoll_pwait epoll_pwait2 eventfd "
     "eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime memfd_create memfd_secret "
     "_llseek fadvise64_64 fstat64 fstatat64 fstatfs64 ftruncate64 lstat64 oldfstat oldlstat oldstat readdir "
     "sendfile64 stat64 statfs64 truncate64 arm_fadvise64_64 arm_sync_file_range sync_file_range2 chown32 fchown32 "
     "lchown32 _newselect ppoll_time64 pselect6_time64 utimensat_time64 timerfd_gettime64 timerfd_settime64 "
     "nfsservctl"},
    // The caller's own memory.
    {CallReach::own,
     "mmap mmap2 mprotect munmap brk mremap msync mincore madvise mlock munlock mlockall munlockall mlock2 "
     "remap_file_pages mbind set_mempolicy get_mempolicy set_mempolicy_home_node pkey_mprotect pkey_alloc pkey_free "
     "userfaultfd membarrier mseal map_shadow_stack modify_ldt arch_prctl set_thread_area get_thread_area cacheflush "
     "breakpoint set_tls get_tls"},
    // The caller's own signals, threads, children, clocks and limits.  A child that the supervisor becomes the parent
    // of (CLONE_PARENT) is ended and reaped as a stray, and its death raises SIGCHLD whatever signal the call named.
    {CallReach::own,
     "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack sigaction "
     "sigpending sigprocmask sigreturn sigsuspend signal sgetmask ssetmask pause nanosleep getitimer alarm setitimer "
     "sched_yield clone clone3 fork vfork execve execveat exit exit_group wait4 waitid waitpid futex futex_waitv "
     "futex_wake futex_wait futex_requeue set_robust_list set_tid_address restart_syscall rseq rseq_slice_yield "
     "timer_create timer_settime timer_gettime timer_getoverrun timer_delete clock_gettime clock_getres "
     "clock_nanosleep setsid unshare getrlimit setrlimit ugetrlimit personality seccomp landlock_create_ruleset "
     "landlock_add_rule landlock_restrict_self lsm_get_self_attr lsm_set_self_attr lsm_list_modules uretprobe uprobe "
     "rt_sigtimedwait_time64 clock_gettime64 clock_getres_time64 clock_nanosleep_time64 futex_time64 "
     "timer_gettime64 timer_settime64 getpgrp setgroups setgroups32 nice"},
    // Calls that only return information.
    {CallReach::own,
     "getpid getppid gettid getuid getgid geteuid getegid getgroups getresuid getresgid getpgid getsid capget "
     "getpriority ioprio_get sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min "
     "sched_rr_get_interval sched_rr_get_interval_time64 sched_getaffinity sched_getattr getrusage sysinfo times uname "
     "gettimeofday time getcpu getrandom sysfs listns get_kernel_syms query_module oldolduname olduname "
     "getuid32 getgid32 geteuid32 getegid32 getgroups32 getresuid32 getresgid32"},
    // The caller's own rights, which can only shrink under no_new_privs.
    {CallReach::own,
     "setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid capset setuid32 setgid32 setreuid32 "
     "setregid32 setresuid32 setresgid32 setfsuid32 setfsgid32"},
    // Sockets, queues and shared memory.  The only one of the supervisor that a job can reach is its control socket,
    // which does not obey a job.
    {CallReach::own,
     "socket connect accept accept4 sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg recvmmsg_time64 shutdown bind "
     "listen getsockname getpeername socketpair setsockopt getsockopt socketcall recv send ipc shmget shmat shmctl "
     "shmdt semget semop semctl semtimedop semtimedop_time64 msgget msgsnd msgrcv msgctl mq_open mq_unlink "
     "mq_timedsend mq_timedreceive mq_timedsend_time64 mq_timedreceive_time64 mq_notify mq_getsetattr add_key "
     "request_key"},
    // Asynchronous input and output.  None of its operations signals, traces or schedules a process, or sets the
    // process that a file signals.
    {CallReach::own,
     "io_setup io_destroy io_getevents io_submit io_cancel io_pgetevents io_pgetevents_time64 io_uring_setup "
     "io_uring_enter io_uring_register"},
    // It works only on a process that is ending already.
    {CallReach::own, "process_mrelease"},
    // Calls that no kernel implements any more.
    {CallReach::own,
     "uselib _sysctl create_module getpmsg putpmsg afs_syscall tuxcall security vserver "
     "bdflush break ftime gtty idle lock mpx prof profil stty ulimit sys_debug_setcontext"},

    {CallReach::privileged,
     "syslog vhangup pivot_root adjtimex settimeofday stime clock_settime clock_settime64 clock_adjtime "
     "clock_adjtime64 chroot acct mount umount umount2 mount_setattr move_mount open_tree open_tree_attr fsopen "
     "fsconfig fsmount fspick swapon swapoff reboot sethostname setdomainname iopl ioperm init_module finit_module "
     "delete_module quotactl quotactl_fd lookup_dcookie kexec_load kexec_file_load setns open_by_handle_at bpf "
     "fanotify_init fanotify_mark process_madvise vm86 vm86old get_robust_list pciconfig_iobase pciconfig_read "
     "pciconfig_write"},

    {CallReach::named,
     "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo setpgid ptrace process_vm_readv process_vm_writev prlimit64 "
     "pidfd_open fcntl fcntl64 ioctl setpriority ioprio_set sched_setscheduler sched_setparam sched_setattr "
     "sched_setaffinity perf_event_open kcmp move_pages migrate_pages prctl keyctl"},

    {CallReach::hidden, "pidfd_send_signal pidfd_getfd"},
};

using enum Named;
template <Named whom, unsigned argument = 0>
constexpr Condition is[] = {{argument, whom}};
template <unsigned argument, std::int64_t value>
constexpr Condition is_number[] = {{argument, number, value}};
// The first argument is `kind`, and argument number `at` names `whom`.
template <std::int64_t kind, Named whom, unsigned at = 1>
constexpr Condition is_kind[] = {{0, number, kind}, {at, whom}};
template <std::int64_t command, Named whom>
constexpr Condition is_command[] = {{1, number, command}, {2, whom}};

constexpr Refusal all_refusals[] = {
    {"kill", EPERM, is<supervisor>},
    {"kill", EPERM, is<minus_its_group>},
    {"kill", EPERM, is_number<0, everybody>},
    {"setpgid", EPERM, is<its_group, 1>},  // in its group kill(0) would signal it too
    {"tkill", EPERM, is<supervisor>},
    {"tgkill", EPERM, is<supervisor>},
    {"rt_sigqueueinfo", EPERM, is<supervisor>},
    {"rt_tgsigqueueinfo", EPERM, is<supervisor>},
    // A descriptor of the supervisor's /proc directory suffices for the call, and any socket gives a descriptor of the
    // process at its other end.  A program that gets ENOSYS, as from a kernel before 5.1, uses kill().
    {"pidfd_send_signal", ENOSYS, {}},
    {"pidfd_open", EPERM, is<supervisor>},
    {"pidfd_getfd", EPERM, {}},
    // These set the process that a file signals when there is something to read.
    {"fcntl", EPERM, is_command<F_SETOWN, supervisor>},
    {"fcntl", EPERM, is_command<F_SETOWN, minus_its_group>},
    {"fcntl", EINVAL, is_number<1, f_setown_ex>},
    {"fcntl64", EPERM, is_command<F_SETOWN, supervisor>},
    {"fcntl64", EPERM, is_command<F_SETOWN, minus_its_group>},
    {"fcntl64", EINVAL, is_number<1, f_setown_ex>},
    {"ioctl", EPERM, is_number<1, FIOSETOWN>},
    {"ioctl", EPERM, is_number<1, SIOCSPGRP>},
    // These could type Control-C into the supervisor's terminal.
    {"ioctl", EPERM, is_number<1, TIOCSTI>},
    {"ioctl", EPERM, is_number<1, paste_by_linux>},
    {"ptrace", EPERM, is<supervisor, 1>},
    {"process_vm_readv", EPERM, is<supervisor>},
    {"process_vm_writev", EPERM, is<supervisor>},
    {"kcmp", EPERM, is<supervisor, 0>},
    {"kcmp", EPERM, is<supervisor, 1>},
    {"perf_event_open", EPERM, is<supervisor, 1>},
    {"prlimit64", EPERM, is<supervisor>},
    {"move_pages", EPERM, is<supervisor>},
    {"migrate_pages", EPERM, is<supervisor>},
    {"sched_setscheduler", EPERM, is<supervisor>},
    {"sched_setparam", EPERM, is<supervisor>},
    {"sched_setattr", EPERM, is<supervisor>},
    {"sched_setaffinity", EPERM, is<supervisor>},
    {"setpriority", EPERM, is_kind<PRIO_PROCESS, supervisor>},
    {"setpriority", EPERM, is_kind<PRIO_PGRP, its_group>},
    {"setpriority", EPERM, is_number<0, PRIO_USER>},
    {"ioprio_set", EPERM, is_kind<ioprio_process, supervisor>},
    {"ioprio_set", EPERM, is_kind<ioprio_group, its_group>},
    {"ioprio_set", EPERM, is_number<0, ioprio_user>},
    {"prctl", EPERM, is_kind<pr_sched_core, supervisor, 2>},
    {"prctl", EPERM, is_kind<pr_sched_core, its_group, 2>},
    // This replaces the parent's keys by the caller's.
    {"keyctl", EPERM, is_number<0, KEYCTL_SESSION_TO_PARENT>},
};

bool lists(std::string_view names, std::string_view wanted) {
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(' '));
    if (name == wanted) return true;
    names.remove_prefix(std::min(names.size(), name.size() + 1));
  }
  return false;
}

}  // namespace

std::span<const CallGroup> call_groups() { return groups; }

std::optional<CallReach> reach_of(std::string_view call) {
  for (const CallGroup& group : groups) {
    if (lists(group.names, call)) return group.reach;
  }
  return std::nullopt;
}

std::span<const Refusal> refusals() { return all_refusals; }

}  // namespace brood
