#include "worker/guard/seccomp_filter.hpp"

#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "worker/guard/seccomp_rules.hpp"

namespace brood {
namespace {

std::int64_t value_of(const Condition& condition, pid_t supervisor, pid_t supervisor_group) {
  switch (condition.named) {
    case Named::supervisor:
      return supervisor;
    case Named::its_group:
      return supervisor_group;
    case Named::minus_its_group:
      return -supervisor_group;
    case Named::number:
      break;
  }
  return condition.number;
}

bool names_group(const Refusal& refusal) {
  return std::any_of(refusal.conditions.begin(), refusal.conditions.end(), [](const Condition& condition) {
    return condition.named == Named::its_group || condition.named == Named::minus_its_group;
  });
}

void check_rule(const char* call, int result) {
  if (result < 0) throw std::system_error(-result, std::generic_category(), call);
}

class Filter {
 public:
  Filter() : filter_(seccomp_init(SCMP_ACT_ALLOW), seccomp_release) {
    if (!filter_) throw std::system_error(ENOMEM, std::generic_category(), "seccomp_init");
    // Add the calls of 32-bit programs where this machine runs such programs: a filter would kill them at a call that
    // it does not know.
    for (const std::uint32_t other : {SCMP_ARCH_X86, SCMP_ARCH_X32, SCMP_ARCH_ARM}) {
      if (related(other)) check_rule("seccomp_arch_add", seccomp_arch_add(filter_.get(), other));
    }
    check_rule("seccomp_attr_set", seccomp_attr_set(filter_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW));
    // Before Linux 5.16 a filter also switched on the costly mitigation of speculative stores.
    seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_SSB, 1);
  }

  void refuse(const Refusal& refusal, pid_t supervisor, pid_t supervisor_group) {
    const std::string name(refusal.call);
    const int call = seccomp_syscall_resolve_name(name.c_str());
    if (call == __NR_SCMP_ERROR)
      throw std::system_error(ENOSYS, std::generic_category(), name + " is unknown to libseccomp");
    std::vector<scmp_arg_cmp> all_hold;
    for (const Condition& condition : refusal.conditions) {
      const auto value = static_cast<std::uint32_t>(value_of(condition, supervisor, supervisor_group));
      // The kernel reads the argument as an int, so the filter must ignore the upper half of the register.
      all_hold.push_back({condition.argument, SCMP_CMP_MASKED_EQ, 0xffffffff, value});
    }
    const int result = seccomp_rule_add_array(filter_.get(), SCMP_ACT_ERRNO(static_cast<unsigned>(refusal.error)), call,
                                              static_cast<unsigned>(all_hold.size()), all_hold.data());
    // An architecture without the call (EDOM) needs no rule.
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
  Filter filter;
  for (const Refusal& refusal : refusals()) {
    // No number names a group of another PID namespace, and 0 is the caller's own.
    if (supervisor_group == 0 && names_group(refusal)) continue;
    filter.refuse(refusal, supervisor, supervisor_group);
  }
  filter.load();
}

bool can_shield_supervisor() {
  std::uint32_t action = SECCOMP_RET_ERRNO;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void shield_parent() {
  if (!can_shield_supervisor()) return;  // the supervisor has logged that
  try {
    shield_supervisor(getppid(), check("getpgid", getpgid(getppid())));
  } catch (const std::system_error& error) {
    log::warn("supervisor_not_shielded", {{"reason", error.what()}});
  }
}

}  // namespace brood
