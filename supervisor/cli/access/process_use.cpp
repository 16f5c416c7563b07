#include "supervisor/cli/access/process_use.hpp"

#include <unistd.h>

#include "shared/base/process_stat.hpp"

namespace brood {

std::optional<ProcessUse> use_of_process(std::int64_t pid) {
  const auto stat = ProcessStat::read(static_cast<pid_t>(pid));
  if (!stat) return std::nullopt;
  static const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  static const std::uint64_t page_kb = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 1024;
  return ProcessUse{.start_time = stat->start_time(),
                    .cpu_s = static_cast<double>(stat->number(14) + stat->number(15)) / ticks,
                    .rss_kb = stat->number(24) * page_kb};
}

std::optional<ProcessUse> use_of_worker(std::int64_t worker, std::int64_t job) {
  const auto of_job = job > 0 ? use_of_process(job) : std::nullopt;
  return of_job ? of_job : use_of_process(worker);
}

}  // namespace brood
