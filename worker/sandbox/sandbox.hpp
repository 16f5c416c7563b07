#pragma once

#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "worker/sandbox/job_cgroup.hpp"
#include "worker/sandbox/scratch_record.hpp"

namespace brood {

// What this machine's kernel has for sandboxes.
struct SandboxOffers {
  int landlock_abi = 0;
  bool seccomp = false;
};
SandboxOffers sandbox_offers();

// Which of the settings this kernel cannot enforce, half a sentence each; empty: it enforces all.  Without `cgroup`
// nothing is said of settings that need one.
std::vector<std::string> sandbox_lacks(const SandboxSettings& settings, const SandboxOffers& offers,
                                       const JobCgroup* cgroup);

// Classes whose sandbox lacks something here, and what.
struct LackingSandbox {
  std::string job_class;
  bool strict = false;
  std::vector<std::string> lacks;
};
std::vector<LackingSandbox> lacking_sandboxes(const Config& config, const JobCgroup* cgroup);

// Puts the calling process, in which nothing of the class has run yet, and all that it starts, into the sandbox for
// good.  Of its descriptors only standard input, output and error stay open, and `kept`.  What the kernel cannot
// enforce is left out.  Returns where the supervisor's orders can still be read: see ScratchRecord.  Throws
// std::system_error.
const SlotRecord* enter_sandbox(const SandboxSettings& settings, const JobCgroup& cgroup, ScratchRecord& scratch,
                                const std::vector<std::string>& code, int kept);

}  // namespace brood
