#pragma once

#include <array>
#include <string>
#include <vector>

#include "shared/scoreboard/class_usage.hpp"
#include "shared/statsd/statsd.hpp"

namespace brood {

// Tells a StatsD server of this worker's runs, batch by batch.  What is told are the runs that are noted in the
// worker's record, once they are added to what the classes have used: of those that it does not live to add, the
// supervisor tells.
class RunsForStatsd {
 public:
  RunsForStatsd(const StatsdSettings& settings, UsageTable& table);

  // Of entry `entry`, whose run has failed.
  void note_error(int entry, const std::string& error_class);
  void note_expired(int class_index, int queue_index);

  // Keeps the ended runs, which are about to be added.
  void take(const RunNotes& notes);
  // Tells all of it, without waiting for anybody.
  void send();

 private:
  const UsageTable& table_;
  Statsd statsd_;
  std::array<std::string, max_run_notes> errors_;
  // Of the run that was told last: most runs of a batch are of one class.
  int class_index_ = -1, queue_index_ = -1;
  std::string class_, queue_;
};

}  // namespace brood
