#include "worker/sandbox/sandbox.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/config/redis_location.hpp"
#include "worker/sandbox/landlock.hpp"
#include "worker/sandbox/sandbox_filter.hpp"

namespace brood {
namespace {

void close_all_but(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned next = 3;
  for (const int one : kept) {
    const auto number = static_cast<unsigned>(one);
    if (number > next) check("close_range", syscall(SYS_close_range, next, number - 1, 0U));
    next = std::max(next, number + 1);
  }
  check("close_range", syscall(SYS_close_range, next, ~0U, 0U));
}

std::vector<std::string> top_of_the_file_system() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator("/")) paths.push_back(entry.path());
  return paths;
}

bool lacks_walls(const SandboxSettings& settings, const SandboxOffers& offers) {
  const bool has_paths = settings.read || settings.write;
  return (has_paths && offers.landlock_abi == 0) || (!settings.network && !offers.seccomp);
}

}  // namespace

std::vector<std::string> sandbox_lacks(const SandboxSettings& settings, const SandboxOffers& offers,
                                       const JobCgroup* cgroup) {
  std::vector<std::string> lacks = cgroup != nullptr ? cgroup->lacks(settings) : std::vector<std::string>();
  const auto landlock = [&](int least, const char* what) {
    if (offers.landlock_abi < least)
      lacks.push_back(fmt::format("Landlock ABI {}, for {} (the kernel says that it has {})", least, what,
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

std::string LackingSandbox::text() const {
  std::string text = fmt::format("the sandbox of class {} cannot be had here", job_class);
  if (!forbidden.empty())
    text += fmt::format(
        ": something around this process forbids what it needs ({}); it is for a filter of system calls to allow it, "
        "such as SystemCallFilter= of the systemd unit, or that of the container",
        fmt::join(forbidden, "; "));
  else
    text += fmt::format(
        ": this machine lacks {}; take {} out of [classes.\"{}\".sandbox], and its jobs run without that",
        fmt::join(lacks, "; "), lacks_its_walls ? "read, write or network = false" : "strict = true", job_class);
  return text;
}

std::vector<LackingSandbox> lacking_sandboxes(const Config& config, const SandboxOffers& offers,
                                              const JobCgroup* cgroup) {
  std::vector<LackingSandbox> found;
  for (const auto& [name, settings] : config.classes) {
    if (!settings.sandbox) continue;
    LackingSandbox one;
    one.job_class = name;
    one.strict = settings.sandbox->strict;
    one.forbidden = offers.forbidden;
    // While something is forbidden, the kernel's abilities are unknown.
    if (one.forbidden.empty()) {
      one.lacks = sandbox_lacks(*settings.sandbox, offers, cgroup);
      one.lacks_its_walls = lacks_walls(*settings.sandbox, offers);
    }
    if (!one.lacks.empty() || !one.forbidden.empty()) found.push_back(std::move(one));
  }
  return found;
}

// The filter comes last, since the steps before need some of the calls that it forbids.
const SlotRecord* enter_sandbox(const SandboxSettings& settings, const SandboxOffers& offers, const JobCgroup& cgroup,
                                ScratchRecord& scratch, const std::vector<std::string>& code, std::vector<int> kept) {
  cgroup.enter(settings);
  const SlotRecord* const orders = scratch.replace_scoreboard();
  close_all_but(std::move(kept));
  drop_capabilities();
  LandlockRules rules = landlock_rules(settings, offers.landlock_abi, code, top_of_the_file_system());
  if (settings.network) allow_reading(rules, files_told_to_jobs());
  enter_landlock(rules);
  if (offers.seccomp) enter_sandbox_filter(settings);
  return orders;
}

}  // namespace brood
