#pragma once

#include <cstdint>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "shared/job/payload.hpp"

namespace brood {

// Jobs of batches of Sidekiq Pro (`bid`).  They run like others and keep their `bid`, but only Pro counts them: its
// batch does not hear of them.  The log says so, once a minute at most.
class ForeignBatches {
 public:
  void note(const Payload& job, SteadyTime now) {
    const auto batch = job.string("bid");
    if (!batch) return;
    const std::uint64_t jobs = lines_.note(now);
    if (jobs == 0) return;
    log::warn("job_of_foreign_batch", {{"jid", job.jid()},
                                       {"class", job.display_class()},
                                       {"bid", *batch},
                                       {"jobs", jobs},
                                       {"reason", "it belongs to a batch that only Sidekiq Pro can count"}});
  }

 private:
  OnceAMinute lines_;
};

}  // namespace brood
