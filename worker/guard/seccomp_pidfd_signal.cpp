#include "worker/guard/seccomp_pidfd_signal.hpp"

#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "shared/base/loaded_object.hpp"

namespace brood {
namespace {

constexpr int sys_seccomp = 1;  // si_code: asm-generic/siginfo.h

#if defined(__x86_64__)
constexpr std::uint32_t own_architecture = AUDIT_ARCH_X86_64;
long argument(const ucontext_t& at, int which) {
  constexpr int registers[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10};
  return static_cast<long>(at.uc_mcontext.gregs[registers[which]]);
}
void set_result(ucontext_t& at, long result) { at.uc_mcontext.gregs[REG_RAX] = result; }
#elif defined(__aarch64__)
constexpr std::uint32_t own_architecture = AUDIT_ARCH_AARCH64;
long argument(const ucontext_t& at, int which) { return static_cast<long>(at.uc_mcontext.regs[which]); }
void set_result(ucontext_t& at, long result) { at.uc_mcontext.regs[0] = static_cast<std::uint64_t>(result); }
#else
constexpr std::uint32_t own_architecture = 0;
long argument(const ucontext_t&, int) { return 0; }
void set_result(ucontext_t&, long) {}
#endif

// Finds the address range of the C library's code.
int find_c_library(dl_phdr_info* info, std::size_t, void* found) {
  const LoadedObject object{info->dlpi_addr, {info->dlpi_phdr, info->dlpi_phnum}};
  const auto segment = segment_at(object, reinterpret_cast<std::uint64_t>(&::syscall));
  if (!segment) return 0;
  *static_cast<LoadedSegment*>(found) = *segment;
  return 1;
}

constexpr std::uint32_t offset_of_pointer =
    offsetof(seccomp_data, instruction_pointer);  // little-endian: low half first

// Returns the pid of the process of a pidfd.  Returns 0 if `fd` is no pidfd, such as a directory of /proc.
pid_t named_by(int fd) {
  char path[48] = "/proc/self/fdinfo/";
  char digits[12];
  std::size_t length = 0;
  if (fd < 0) return 0;
  for (unsigned rest = static_cast<unsigned>(fd); length == 0 || rest > 0; rest /= 10)
    digits[length++] = static_cast<char>('0' + rest % 10);
  for (char* at = path + std::strlen(path); length > 0; ++at) *at = digits[--length];
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[512];
  const ssize_t size = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (size <= 0) return 0;
  text[size] = '\0';
  const char* at = std::strstr(text, "\nPid:\t");
  if (at == nullptr) return 0;
  pid_t pid = 0;
  for (at += 6; *at >= '0' && *at <= '9'; ++at) pid = pid * 10 + (*at - '0');
  return pid;
}

long send(const ucontext_t& call) {
  const int fd = static_cast<int>(argument(call, 0)), signal = static_cast<int>(argument(call, 1));
  const auto* const info = reinterpret_cast<const siginfo_t*>(argument(call, 2));
  if (argument(call, 3) != 0) return -EINVAL;
  const pid_t pid = named_by(fd);
  if (pid <= 0) return -EPERM;
  const long result = info != nullptr ? syscall(SYS_rt_sigqueueinfo, pid, signal, info) : kill(pid, signal);
  return result < 0 ? -errno : result;
}

}  // namespace

void trap_pidfd_signals() {
  LoadedSegment code;
  if (own_architecture == 0 || dl_iterate_phdr(find_c_library, &code) == 0) return;
  // The filter works only if begin and end of the code have the same upper half, so within one range of 4 GB.
  if (code.begin >> 32 != code.end >> 32) return;
  const auto high = static_cast<std::uint32_t>(code.begin >> 32);
  const auto low = static_cast<std::uint32_t>(code.begin), end = static_cast<std::uint32_t>(code.end);
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own_architecture, 0, 8),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_send_signal, 0, 6),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset_of_pointer + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, high, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset_of_pointer),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, low, 0, 2),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, end, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  // The call fails where the kernel accepts no filters; the supervisor logs that.
  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
}

bool sent_for_pidfd(const siginfo_t& info, ucontext_t& interrupted) {
  if (info.si_signo != SIGSYS || info.si_code != sys_seccomp || info.si_syscall != SYS_pidfd_send_signal) return false;
  const int error = errno;
  set_result(interrupted, send(interrupted));
  errno = error;
  return true;
}

}  // namespace brood
