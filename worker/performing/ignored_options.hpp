#pragma once

#include <fmt/ranges.h>

#include <cstdint>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "shared/job/number_member.hpp"
#include "shared/job/payload.hpp"

namespace brood {

// Jobs with an option that says nothing sensible, such as `timeout: "5m"`.  They run without it.  The log says so, once
// a minute at most.
class IgnoredOptions {
 public:
  void note(const Payload& job, SteadyTime now) {
    const std::vector<std::string> ignored = ignored_options(job);
    if (ignored.empty()) return;
    const std::uint64_t jobs = lines_.note(now);
    if (jobs == 0) return;
    log::warn("job_option_ignored", {{"jid", job.jid()},
                                     {"class", job.display_class()},
                                     {"options", fmt::format("{}", fmt::join(ignored, ", "))},
                                     {"jobs", jobs},
                                     {"reason", "there belongs a number; a retry that is none counts as true"}});
  }

 private:
  OnceAMinute lines_;
};

}  // namespace brood
