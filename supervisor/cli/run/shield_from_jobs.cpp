#include "supervisor/cli/run/shield_from_jobs.hpp"

#include <sys/prctl.h>

#include <algorithm>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "worker/guard/seccomp_filter.hpp"

namespace brood {

std::string missing_shield(const Config& config) {
  const auto is_shielded = [&](const CapsuleSettings& one) { return one.worker.value_or(config.worker).seccomp; };
  const bool is_wanted = std::any_of(config.capsules.begin(), config.capsules.end(), is_shielded);
  return is_wanted && !can_shield_supervisor() ? "the kernel refuses seccomp filters" : "";
}

void shield_from_jobs(const Config& config) {
  // Any process of the same user may read and write the memory of a dumpable process.
  check("prctl", prctl(PR_SET_DUMPABLE, 0));
  if (const std::string lack = missing_shield(config); !lack.empty())
    log::warn("supervisor_not_shielded",
              {{"reason", lack}, {"hint", "jobs can signal their supervisor; [worker] seccomp = false silences this"}});
}

}  // namespace brood
