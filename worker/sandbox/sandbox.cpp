#include "worker/sandbox/sandbox.hpp"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>

#include "shared/base/check.hpp"
#include "shared/config/redis_location.hpp"
#include "worker/guard/seccomp_filter.hpp"
#include "worker/sandbox/landlock.hpp"
#include "worker/sandbox/sandbox_filter.hpp"

namespace brood {
namespace {

void close_all_but(int kept) {
  const auto from_3_to = static_cast<unsigned>(kept);
  if (kept > 3) check("close_range", syscall(SYS_close_range, 3U, from_3_to - 1, 0U));
  check("close_range", syscall(SYS_close_range, from_3_to + 1, ~0U, 0U));
}

// Without capabilities root is a user like any other, to whom root's files are open: the sandbox's paths say which of
// them.
void drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  check("capget", syscall(SYS_capget, &header, sets));
  const std::uint32_t kept = sets[0].permitted & (1U << CAP_DAC_OVERRIDE);
  sets[0] = {.effective = kept, .permitted = kept, .inheritable = 0};
  sets[1] = {};
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  check("capset", syscall(SYS_capset, &header, sets));
}

std::vector<std::string> top_of_the_file_system() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator("/")) paths.push_back(entry.path());
  return paths;
}

}  // namespace

SandboxOffers sandbox_offers() { return {.landlock_abi = landlock_abi(), .seccomp = can_shield_supervisor()}; }

std::vector<std::string> sandbox_lacks(const SandboxSettings& settings, const SandboxOffers& offers,
                                       const JobCgroup* cgroup) {
  std::vector<std::string> lacks = cgroup != nullptr ? cgroup->lacks(settings) : std::vector<std::string>();
  const auto landlock = [&](int least, const char* what) {
    if (offers.landlock_abi < least)
      lacks.push_back(fmt::format("Landlock ABI {}, for {} (this kernel has {})", least, what,
                                  offers.landlock_abi == 0 ? "none" : std::to_string(offers.landlock_abi)));
  };
  landlock(1, settings.write || settings.read ? "read and write" : "the kernel's own files");
  if (offers.landlock_abi > 0 && settings.write) landlock(landlock::abi_of_truncate, "truncating files");
  if (offers.landlock_abi > 0 && settings.write) landlock(landlock::abi_of_ioctl, "control of devices");
  landlock(landlock::abi_of_scopes, "signals to other processes");
  if (!offers.seccomp)
    lacks.push_back(settings.network ? "seccomp, for calls that reach other processes"
                                     : "seccomp, for network and for calls that reach other processes");
  return lacks;
}

std::vector<LackingSandbox> lacking_sandboxes(const Config& config, const JobCgroup* cgroup) {
  std::vector<LackingSandbox> found;
  const SandboxOffers offers = sandbox_offers();
  for (const auto& [name, settings] : config.classes) {
    if (!settings.sandbox) continue;
    std::vector<std::string> lacks = sandbox_lacks(*settings.sandbox, offers, cgroup);
    if (!lacks.empty()) found.push_back({name, settings.sandbox->strict, std::move(lacks)});
  }
  return found;
}

// The filter comes last: what goes before needs some of the calls.
const SlotRecord* enter_sandbox(const SandboxSettings& settings, const JobCgroup& cgroup, ScratchRecord& scratch,
                                const std::vector<std::string>& code, int kept) {
  cgroup.enter(settings);
  const SlotRecord* const orders = scratch.replace_scoreboard();
  close_all_but(kept);
  drop_capabilities();
  const SandboxOffers offers = sandbox_offers();
  LandlockRules rules = landlock_rules(settings, offers.landlock_abi, code, top_of_the_file_system());
  if (settings.network) allow_reading(rules, files_told_to_jobs());
  enter_landlock(rules);
  if (offers.seccomp) enter_sandbox_filter(settings);
  return orders;
}

}  // namespace brood
