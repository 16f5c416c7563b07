#include "supervisor/cli/run/show_periodic_jobs.hpp"

#include <iostream>

#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "shared/periodic/next_tick.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"

namespace brood {

void show_periodic_jobs(const PeriodicJobSettings& jobs) {
  for (const auto& [name, job] : jobs) {
    const auto next = next_tick(job.rule, Zone::find(job.zone).value_or(Zone()),
                                std::chrono::floor<std::chrono::seconds>(wall_now()));
    std::cout << "periodic " << name << ": " << log::printable(job.cron) << " in " << job.zone << ", next "
              << (next ? iso_time(WallTime(*next)) : "never") << (job.paused_at.empty() ? "" : ", paused") << std::endl;
  }
}

}  // namespace brood
