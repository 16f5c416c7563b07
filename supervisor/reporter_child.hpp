#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

#include "shared/config/config.hpp"
#include "shared/scoreboard/error_counts.hpp"
#include "supervisor/process/child_program.hpp"
#include "supervisor/process/service_child.hpp"

namespace brood {

// Runs the reporter of failures as a separate child: no job and no recovery waits for an error service or for the
// program of [on_error].  While no reporter runs, the reports wait in the spool.
class ReporterChild {
 public:
  ReporterChild(EventLoop& loop, Children& children, std::string spool, ErrorCounts& counts);

  // Starts, replaces or ends the child as the configuration demands.
  void follow(std::shared_ptr<const Config> config, std::shared_ptr<ChildProgram> program);

  // Called when no worker is left: gives the reporter a moment to send the rest.
  void finish(SteadyTime now);
  // Whether the reporter has ended.  Kills it if it takes too long; unsent reports are then lost.
  bool has_finished(SteadyTime now);

  pid_t pid() const { return child_.pid(); }  // 0: it does not run

 private:
  const std::string spool_;
  ErrorCounts& counts_;
  std::shared_ptr<const Config> config_;  // null: not yet followed
  std::shared_ptr<ChildProgram> program_;
  ServiceChild child_;
  bool finishes_ = false;
  SteadyTime deadline_{};
  std::size_t left_ = 0;  // reports
  int removals_ = 0;
  Timer wake_;
};

}  // namespace brood
