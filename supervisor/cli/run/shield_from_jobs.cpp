#include "supervisor/cli/run/shield_from_jobs.hpp"

#include <sys/prctl.h>

#include <algorithm>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "worker/guard/seccomp_filter.hpp"

namespace brood {

void shield_from_jobs(const Config& config) {
  // Any process of the same user may read and write the memory of a process that can be dumped.
  check("prctl", prctl(PR_SET_DUMPABLE, 0));
  const auto is_shielded = [&](const CapsuleSettings& one) { return one.worker.value_or(config.worker).seccomp; };
  if (std::any_of(config.capsules.begin(), config.capsules.end(), is_shielded) && !can_shield_supervisor())
    log::warn("supervisor_not_shielded",
              {{"reason", "the kernel refuses seccomp filters"},
               {"hint", "jobs can signal their supervisor; [worker] seccomp = false silences this"}});
}

}  // namespace brood
