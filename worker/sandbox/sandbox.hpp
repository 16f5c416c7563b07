#pragma once

#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "worker/sandbox/job_cgroup.hpp"
#include "worker/sandbox/sandbox_offers.hpp"
#include "worker/sandbox/scratch_record.hpp"

namespace brood {

// The settings that the kernel cannot enforce, half a sentence each; empty: it enforces all.  Without `cgroup` the
// settings that need a cgroup are left out.
std::vector<std::string> sandbox_lacks(const SandboxSettings& settings, const SandboxOffers& offers,
                                       const JobCgroup* cgroup);

// A class whose sandbox cannot be had here as a whole.
struct LackingSandbox {
  std::string job_class;
  bool strict = false;
  std::vector<std::string> lacks;      // what the kernel does not have
  bool lacks_its_walls = false;        // the kernel has nothing at all for `read`, `write` or `network = false`
  std::vector<std::string> forbidden;  // what something forbids to this process: see SandboxOffers

  // Whether jobs may run with less: an older kernel's Landlock, or no cgroup, unless the sandbox is strict.  Something
  // forbidden can be allowed by the administrator, so it is no reason to run a job without its sandbox.
  bool may_run() const { return !strict && !lacks_its_walls && forbidden.empty(); }
  // The fault and its remedy, one sentence.
  std::string text() const;
};
std::vector<LackingSandbox> lacking_sandboxes(const Config& config, const SandboxOffers& offers,
                                              const JobCgroup* cgroup);

// Puts the calling process, in which nothing of the class has run yet, and all that it starts, into the sandbox for
// good.  Only standard input, output and error stay open, and `kept`.  Leaves out what
// sandbox_lacks() names for these offers, and nothing else.  Returns where the supervisor's orders can still be read:
// see ScratchRecord. Throws std::system_error.
const SlotRecord* enter_sandbox(const SandboxSettings& settings, const SandboxOffers& offers, const JobCgroup& cgroup,
                                ScratchRecord& scratch, const std::vector<std::string>& code, std::vector<int> kept);

}  // namespace brood
