#pragma once

#include <chrono>
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
    ++jobs_;
    if (said_ != SteadyTime{} && now - said_ < std::chrono::minutes(1)) return;
    said_ = now;
    std::string all;
    for (const std::string& one : ignored) all += (all.empty() ? "" : ", ") + one;
    log::warn("job_option_ignored", {{"jid", job.jid()},
                                     {"class", job.display_class()},
                                     {"options", all},
                                     {"jobs", jobs_},
                                     {"reason", "there belongs a number; a retry that is none counts as true"}});
    jobs_ = 0;
  }

 private:
  std::uint64_t jobs_ = 0;  // since the last line
  SteadyTime said_{};
};

}  // namespace brood
