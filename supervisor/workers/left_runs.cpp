#include "supervisor/workers/left_runs.hpp"

#include "shared/statsd/statsd.hpp"
#include "shared/statsd/statsd_lines.hpp"

namespace brood {

void tell_left_runs(const StatsdSettings& settings, UsageTable& table, const std::vector<EndedRun>& left,
                    const std::string& error_class) {
  if (settings.address.empty() || left.empty()) return;
  Statsd statsd(settings, &table.datagrams_dropped);
  for (const EndedRun& run : left) {
    const std::string job_class = statsd_class(table, run.note.class_index),
                      queue = statsd_queue(table, run.start.queue_index);
    statsd.lines().add_run(run.note.state == RunNote::State::failed, run.note.ms,
                           {job_class, queue, run.crashed ? error_class : ""});
  }
  statsd.send();
}

}  // namespace brood
