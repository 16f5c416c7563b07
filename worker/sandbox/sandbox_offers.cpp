#include "worker/sandbox/sandbox_offers.hpp"

#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "shared/base/check.hpp"
#include "worker/sandbox/landlock.hpp"
#include "worker/sandbox/sandbox_filter.hpp"

namespace brood {
namespace {

// The steps into a sandbox, in their order.
enum class Step { close_descriptors, drop_capabilities, enter_landlock, load_filter };
constexpr int sandbox_steps = 4;

// The child's findings, in memory shared with the parent.
struct SandboxTrial {
  int landlock_abi;
  int taken;  // steps, with or without success
  struct {
    int error;  // 0: success
    char what[120];
  } steps[sandbox_steps];
};

bool kernel_has_none(int error) { return error == ENOSYS || error == EOPNOTSUPP; }

template <typename Act>
void take_step(SandboxTrial& found, Step step, const Act& act) {
  auto& [error, what] = found.steps[static_cast<int>(step)];
  try {
    act();
  } catch (const std::system_error& failed) {
    error = failed.code().value();
    std::strncpy(what, failed.what(), sizeof what - 1);
  }
  ++found.taken;
}

void enter_a_sandbox(SandboxTrial& found) {
  SandboxSettings closed;
  closed.network = false;
  closed.write.emplace();
  closed.read.emplace();
  take_step(found, Step::close_descriptors, [] { check("close_range", syscall(SYS_close_range, ~0U, ~0U, 0U)); });
  take_step(found, Step::drop_capabilities, drop_capabilities);
  take_step(found, Step::enter_landlock, [&] {
    const int abi = landlock_abi();
    enter_landlock(landlock_rules(closed, abi, {}, {}));
    found.landlock_abi = abi;
  });
  take_step(found, Step::load_filter, [&] {
    std::uint32_t action = SECCOMP_RET_ERRNO;
    check("seccomp", syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action));
    enter_sandbox_filter(closed);
  });
}

}  // namespace

SandboxOffers sandbox_offers() {
  void* const memory = mmap(nullptr, sizeof(SandboxTrial), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  check("mmap", memory == MAP_FAILED ? -1 : 0);
  auto& found = *static_cast<SandboxTrial*>(memory);
  // The child's end sends no signal, so that no code that waits for children finds it.
  const auto child = static_cast<pid_t>(syscall(SYS_clone, 0UL, nullptr, nullptr, nullptr, 0UL));
  if (child == 0) {
    enter_a_sandbox(found);
    _exit(EXIT_SUCCESS);
  }
  const int clone_error = errno;
  int status = 0;
  while (child > 0 && waitpid(child, &status, __WALL) < 0 && errno == EINTR) {
  }
  const SandboxTrial seen = found;
  munmap(memory, sizeof(SandboxTrial));
  if (child < 0) throw std::system_error(clone_error, std::generic_category(), "clone");

  SandboxOffers offers{.landlock_abi = seen.landlock_abi, .seccomp = true};
  for (int step = 0; step < seen.taken; ++step) {
    const auto& [error, what] = seen.steps[step];
    if (error == 0) continue;
    if (static_cast<Step>(step) == Step::load_filter && kernel_has_none(error))
      offers.seccomp = false;
    else
      offers.forbidden.emplace_back(what);
  }
  if (seen.taken < sandbox_steps)
    offers.forbidden.push_back(fmt::format("a process that entered one was ended by {}",
                                           WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "itself"));
  return offers;
}

void drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  check("capget", syscall(SYS_capget, &header, sets));
  const std::uint32_t kept = sets[0].permitted & (1U << CAP_DAC_OVERRIDE);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  const bool has_no_other = ((sets[0].permitted | sets[0].effective) & ~kept) == 0 && sets[0].inheritable == 0 &&
                            (sets[1].permitted | sets[1].effective | sets[1].inheritable) == 0;
  if (has_no_other) return;  // so a filter that forbids capset() is no obstacle
  sets[0] = {.effective = kept, .permitted = kept, .inheritable = 0};
  sets[1] = {};
  check("capset", syscall(SYS_capset, &header, sets));
}

}  // namespace brood
