#pragma once

#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "worker/sandbox/job_cgroup.hpp"
#include "worker/sandbox/sandbox_offers.hpp"
#include "worker/sandbox/scratch_record.hpp"

namespace brood {

// The settings that the kernel cannot enforce, half a sentence each; empty: it enforces all.  If `cgroup` is null,
// settings that need a cgroup are not checked.
std::vector<std::string> sandbox_lacks(const SandboxSettings& settings, const SandboxOffers& offers,
                                       const JobCgroup* cgroup);

// A class whose sandbox cannot be enforced fully here.
struct LackingSandbox {
  std::string job_class;
  bool strict = false;
  std::vector<std::string> lacks;      // the settings that the kernel cannot enforce
  bool lacks_its_walls = false;        // the kernel can enforce nothing of `read`, `write` or `network = false`
  std::vector<std::string> forbidden;  // see SandboxOffers

  // Whether jobs may run with less: with an older kernel's Landlock, or without a cgroup, unless the sandbox is strict.
  // If a step is forbidden, they may not, since the administrator can allow it.
  bool may_run() const { return !strict && !lacks_its_walls && forbidden.empty(); }
  // The fault and its remedy, as one sentence.
  std::string text() const;
};
std::vector<LackingSandbox> lacking_sandboxes(const Config& config, const SandboxOffers& offers,
                                              const JobCgroup* cgroup);

// Puts the calling process, and all that it starts, into the sandbox for good.  No code of the class may have run yet.
// Only standard input, output and error stay open, and `kept`.  Leaves out only the settings that sandbox_lacks() names
// for these offers.  `code` are the files of the class's code, which stay readable.  Returns where the supervisor's
// orders can still be read: see ScratchRecord.  Throws std::system_error.
const SlotRecord* enter_sandbox(const SandboxSettings& settings, const SandboxOffers& offers, const JobCgroup& cgroup,
                                ScratchRecord& scratch, const std::vector<std::string>& code, std::vector<int> kept);

}  // namespace brood
