#include "worker/signal_shield.hpp"

#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "shared/check.hpp"
#include "shared/log.hpp"

namespace brood {
namespace {

void check_rule(const char* call, int result) {
  if (result < 0) throw std::system_error(-result, std::generic_category(), call);
}

class Filter {
 public:
  Filter() : filter_(seccomp_init(SCMP_ACT_ALLOW), seccomp_release) {
    if (!filter_) throw std::system_error(ENOMEM, std::generic_category(), "seccomp_init");
    // What a 32-bit program calls, where this machine runs them; a filter that knows no such call would kill it.
    for (const std::uint32_t other : {SCMP_ARCH_X86, SCMP_ARCH_X32, SCMP_ARCH_ARM}) {
      if (related(other)) check_rule("seccomp_arch_add", seccomp_arch_add(filter_.get(), other));
    }
    check_rule("seccomp_attr_set", seccomp_attr_set(filter_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW));
    // Before Linux 5.16 a filter also switched on the costly mitigation of speculative stores.
    seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_SSB, 1);
  }

  // Refuses `call` when its argument `index` is `value`.
  void refuse(int call, unsigned index, pid_t value) {
    // The kernel takes the argument for an int: what stands in the upper half of the register must not deceive us.
    const scmp_arg_cmp is_value{index, SCMP_CMP_MASKED_EQ, 0xffffffff, static_cast<std::uint32_t>(value)};
    const int result = seccomp_rule_add_array(filter_.get(), SCMP_ACT_ERRNO(EPERM), call, 1, &is_value);
    // A call that some architecture does not have cannot be made there either.
    if (result != -EDOM) check_rule("seccomp_rule_add", result);
  }

  void load() { check_rule("seccomp_load", seccomp_load(filter_.get())); }

 private:
  static bool related(std::uint32_t other) {
    switch (seccomp_arch_native()) {
      case SCMP_ARCH_X86_64:
        return other == SCMP_ARCH_X86 || other == SCMP_ARCH_X32;
      case SCMP_ARCH_AARCH64:
        return other == SCMP_ARCH_ARM;
      default:
        return false;
    }
  }

  std::unique_ptr<void, decltype(&seccomp_release)> filter_;
};

}  // namespace

void shield_supervisor(pid_t supervisor, pid_t supervisor_group) {
  constexpr pid_t everybody = -1;
  Filter filter;
  for (const pid_t target : {supervisor, -supervisor_group, everybody}) filter.refuse(SCMP_SYS(kill), 0, target);
  filter.refuse(SCMP_SYS(setpgid), 1, supervisor_group);  // then kill(0) would be aimed at it too
  filter.refuse(SCMP_SYS(tkill), 0, supervisor);
  filter.refuse(SCMP_SYS(tgkill), 0, supervisor);
  filter.refuse(SCMP_SYS(rt_sigqueueinfo), 0, supervisor);
  filter.refuse(SCMP_SYS(rt_tgsigqueueinfo), 0, supervisor);
  filter.refuse(SCMP_SYS(pidfd_open), 0, supervisor);
  filter.refuse(SCMP_SYS(ptrace), 1, supervisor);
  filter.refuse(SCMP_SYS(process_vm_readv), 0, supervisor);
  filter.refuse(SCMP_SYS(process_vm_writev), 0, supervisor);
  filter.refuse(SCMP_SYS(prlimit64), 0, supervisor);
  filter.load();
}

bool can_shield_supervisor() {
  std::uint32_t action = SECCOMP_RET_ERRNO;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void shield_parent() {
  if (!can_shield_supervisor()) return;  // the supervisor has said so
  try {
    shield_supervisor(getppid(), check("getpgid", getpgid(getppid())));
  } catch (const std::system_error& error) {
    log::warn("supervisor_not_shielded", {{"reason", error.what()}});
  }
}

}  // namespace brood
