#include "worker/sandbox/sandbox_filter.hpp"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace brood {
namespace {

// A call by its name, and also by its number if libseccomp may be older than the call: since Linux 5.1 new calls have
// the same number on all machines.
struct RefusedCall {
  const char* name;
  int number = -1;
};

// Calls that reach other processes or the kernel itself, or lead around these rules.
constexpr RefusedCall always_refused[] = {
    // other processes
    {"ptrace"},
    {"process_vm_readv"},
    {"process_vm_writev"},
    {"process_madvise", 440},
    {"process_mrelease", 448},
    {"pidfd_getfd", 438},
    {"kcmp"},
    {"move_pages"},
    {"migrate_pages"},
    // memory, semaphores and queues that processes share by names that are no files
    {"shmget"},
    {"shmat"},
    {"shmctl"},
    {"semget"},
    {"semop"},
    {"semtimedop"},
    {"semctl"},
    {"msgget"},
    {"msgsnd"},
    {"msgrcv"},
    {"msgctl"},
    {"mq_open"},
    {"mq_unlink"},
    {"add_key"},
    {"request_key"},
    {"keyctl"},
    // calls that the kernel makes for the process, which no filter sees
    {"io_uring_setup", 425},
    {"io_uring_enter", 426},
    {"io_uring_register", 427},
    {"userfaultfd"},
    // files that are opened by something other than a path
    {"open_by_handle_at"},
    {"name_to_handle_at"},
    {"fanotify_init"},
    // another view of the system
    {"mount"},
    {"umount"},
    {"umount2"},
    {"pivot_root"},
    {"chroot"},
    {"open_tree", 428},
    {"open_tree_attr", 467},
    {"move_mount", 429},
    {"fsopen", 430},
    {"fsconfig", 431},
    {"fsmount", 432},
    {"fspick", 433},
    {"mount_setattr", 442},
    {"unshare"},
    {"setns"},
    // the kernel
    {"bpf"},
    {"perf_event_open"},
    {"init_module"},
    {"finit_module"},
    {"delete_module"},
    {"kexec_load"},
    {"kexec_file_load"},
    {"reboot"},
    {"swapon"},
    {"swapoff"},
    {"acct"},
    {"quotactl"},
    {"quotactl_fd", 443},
    {"syslog"},
    {"settimeofday"},
    {"stime"},
    {"clock_settime"},
    {"clock_adjtime"},
    {"adjtimex"},
    {"sethostname"},
    {"setdomainname"},
    {"vhangup"},
    {"personality"},
    {"modify_ldt"},
    {"iopl"},
    {"ioperm"},
    {"lookup_dcookie"},
    {"nfsservctl"},
};

// Changes that Landlock does not control: owners, modes, times and attributes.
constexpr RefusedCall refused_where_writing_is_limited[] = {
    {"chmod"},
    {"fchmod"},
    {"fchmodat"},
    {"fchmodat2", 452},
    {"chown"},
    {"fchown"},
    {"lchown"},
    {"fchownat"},
    {"setxattr"},
    {"lsetxattr"},
    {"fsetxattr"},
    {"setxattrat", 463},
    {"removexattr"},
    {"lremovexattr"},
    {"fremovexattr"},
    {"removexattrat", 466},
    {"file_setattr", 469},
    {"utime"},
    {"utimes"},
    {"futimesat"},
    {"utimensat"},
};

// socketpair() stays allowed for streams and packets, of which the caller has both ends.  A datagram socket may send to
// any other address.
constexpr RefusedCall refused_without_network[] = {{"socket"}, {"connect"}, {"bind"},
                                                   {"listen"}, {"accept"},  {"accept4"}};

// Calls whose argument must be 0, which is the caller.  A number is refused even if it is the caller's own: a filter
// cannot tell the numbers of the caller and its threads from others.
struct RefusedForOthers {
  const char* call;
  unsigned argument;
};
constexpr RefusedForOthers only_for_itself[] = {
    {"prlimit64", 0},     {"sched_setaffinity", 0}, {"sched_setscheduler", 0}, {"sched_setparam", 0},
    {"sched_setattr", 0}, {"setpriority", 1},       {"ioprio_set", 1},
};

// Allows only this kind, one process, for calls that may also name groups and users: as a group, 0 would be the
// caller's group.
struct OnlyOfKind {
  const char* call;
  std::uint64_t kind;
};
constexpr std::uint64_t ioprio_of_process = 1;
constexpr OnlyOfKind only_for_one_process[] = {{"setpriority", PRIO_PROCESS}, {"ioprio_set", ioprio_of_process}};

// Letters of ioctl requests by which file systems change a file's attributes, for every process that has it open, even
// for reading.  Landlock controls only requests to devices.  The direction of these requests is to write, or none.
constexpr std::uint64_t letters_of_file_systems[] = {'f', 'X', 'v', 'r', 0x94};
constexpr std::uint64_t letter_of_request = 0xff00, writing_request = std::uint64_t{_IOC_WRITE} << _IOC_DIRSHIFT,
                        direction_of_request = std::uint64_t{_IOC_READ | _IOC_WRITE} << _IOC_DIRSHIFT;

constexpr std::uint64_t new_namespaces[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                            CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};

// Calls that no kernel had when this table was written, up to the old calls of x32 on x86-64.
constexpr int first_unknown_call = 470, end_of_unknown_calls = 512;

void check_seccomp(const char* what, int result) {
  if (result < 0) throw std::system_error(-result, std::generic_category(), what);
}

class SandboxFilter {
 public:
  SandboxFilter() : filter_(seccomp_init(SCMP_ACT_ALLOW), seccomp_release) {
    if (!filter_) throw std::system_error(ENOMEM, std::generic_category(), "seccomp_init");
    check_seccomp("seccomp_attr_set", seccomp_attr_set(filter_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM)));
    seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_SSB, 1);
    seccomp_attr_set(filter_.get(), SCMP_FLTATR_API_SYSRAWRC, 1);  // the kernel's own errors
    seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);  // by a tree, not by a list
  }

  template <std::size_t count>
  void refuse(const RefusedCall (&calls)[count]) {
    for (const RefusedCall& call : calls) {
      const int known = seccomp_syscall_resolve_name(call.name);
      refuse(known == __NR_SCMP_ERROR ? call.number : known, EPERM, {});
    }
  }

  void refuse(int call, int error, const std::vector<scmp_arg_cmp>& all_hold) {
    if (call == -1) return;  // neither libseccomp nor this table knows a number
    const int result = seccomp_rule_add_array(filter_.get(), SCMP_ACT_ERRNO(static_cast<unsigned>(error)), call,
                                              static_cast<unsigned>(all_hold.size()), all_hold.data());
    if (result != -EDOM) check_seccomp("seccomp_rule_add", result);  // a call that this machine does not have
  }

  void load() { check_seccomp("seccomp_load", seccomp_load(filter_.get())); }

 private:
  std::unique_ptr<void, decltype(&seccomp_release)> filter_;
};

}  // namespace

void enter_sandbox_filter(const SandboxSettings& settings) {
  SandboxFilter filter;
  filter.refuse(always_refused);
  if (settings.write) {
    filter.refuse(refused_where_writing_is_limited);
    for (const std::uint64_t letter : letters_of_file_systems) {  // ENOTTY, as of a file system without such requests
      const std::uint64_t request = letter << 8;
      filter.refuse(SCMP_SYS(ioctl), ENOTTY,
                    {{1, SCMP_CMP_MASKED_EQ, writing_request | letter_of_request, writing_request | request}});
      filter.refuse(SCMP_SYS(ioctl), ENOTTY,
                    {{1, SCMP_CMP_MASKED_EQ, direction_of_request | letter_of_request, request}});
    }
  }
  // inotify reports the names of files that may not be read.
  if (settings.read) filter.refuse(SCMP_SYS(inotify_add_watch), EPERM, {});
  if (!settings.network) {
    filter.refuse(refused_without_network);
    constexpr std::uint64_t type_of_socket = 0xf;
    filter.refuse(SCMP_SYS(socketpair), EPERM, {{0, SCMP_CMP_NE, AF_UNIX, 0}});
    for (const std::uint64_t type : {SOCK_DGRAM, SOCK_RAW, SOCK_RDM})
      filter.refuse(SCMP_SYS(socketpair), EPERM, {{1, SCMP_CMP_MASKED_EQ, type_of_socket, type}});
  }
  for (const auto& [call, argument] : only_for_itself)
    filter.refuse(seccomp_syscall_resolve_name(call), EPERM, {{argument, SCMP_CMP_NE, 0, 0}});
  for (const auto& [call, kind] : only_for_one_process)
    filter.refuse(seccomp_syscall_resolve_name(call), EPERM, {{0, SCMP_CMP_NE, kind, 0}});
  // A lease blocks other processes that open the file, for /proc/sys/fs/lease-break-time seconds.
  filter.refuse(SCMP_SYS(fcntl), EPERM, {{1, SCMP_CMP_MASKED_EQ, 0xffffffff, F_SETLEASE}});
  for (const std::uint64_t flag : new_namespaces)
    filter.refuse(SCMP_SYS(clone), EPERM, {{0, SCMP_CMP_MASKED_EQ, flag, flag}});
  // clone3() has its flags in memory, which no filter sees.  After ENOSYS the C library uses clone().
  filter.refuse(435, ENOSYS, {});
  // These type characters into a terminal from which another process reads.
  for (const std::uint64_t request : {TIOCSTI, TIOCLINUX})
    filter.refuse(SCMP_SYS(ioctl), EPERM, {{1, SCMP_CMP_MASKED_EQ, 0xffffffff, request}});
  for (int call = first_unknown_call; call < end_of_unknown_calls; ++call) filter.refuse(call, ENOSYS, {});
  filter.load();
}

}  // namespace brood
