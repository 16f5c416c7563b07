#pragma once

#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "worker/sandbox/job_cgroup.hpp"
#include "worker/sandbox/scratch_record.hpp"

namespace brood {

// What the kernel gives to sandboxes here.
struct SandboxOffers {
  int landlock_abi = 0;
  bool seccomp = false;
};
SandboxOffers sandbox_offers();

// What of the settings this kernel does not do, half a sentence each; empty: it does it all.  Without a cgroup nothing
// is said of those.
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
// good.  Of its descriptors standard input, output and error stay, and `kept`.  Where the kernel lacks something the
// rest holds.  Returns where the supervisor's orders are still read, as ScratchRecord does.  Throws std::system_error.
const SlotRecord* enter_sandbox(const SandboxSettings& settings, const JobCgroup& cgroup, ScratchRecord& scratch,
                                const std::vector<std::string>& code, int kept);

}  // namespace brood
