#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/worker_death.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/workers/places/process_table.hpp"

namespace brood {

// Ends single jobs, with the worker that runs them: by hand, and those that run on after their deadline.  The job that
// comes next in the same worker is never hit.
class JobEnder {
 public:
  // `grace_of` tells the timeout_grace that a slot's worker goes by.
  JobEnder(EventLoop& loop, ProcessTable& table, Scoreboard& scoreboard,
           std::function<std::chrono::milliseconds(int slot)> grace_of);

  // Ends the worker that runs the job `jid`; nullopt when none runs it.
  struct Ended {
    int slot;
    pid_t pid;
    std::string job_class, queue;
    std::chrono::nanoseconds ran_for;
  };
  std::optional<Ended> end_job(const std::string& jid, WorkerDeath::Fate fate);

  // Aborts, then kills, workers whose jobs run on after their deadlines.
  void end_overdue(SteadyTime now);
  // A worker is being ended, and not gone yet.
  bool under_way() const;

 private:
  void look(SteadyTime now);
  std::optional<SteadyTime> next_end() const;
  bool abort_for_job(int slot, const SlotSnapshot& seen, EndedBy by, SteadyTime now);

  ProcessTable& table_;
  Scoreboard& scoreboard_;
  const std::function<std::chrono::milliseconds(int slot)> grace_of_;
  SteadyTime next_look_{};
  Timer wake_;  // for end_overdue()
};

// With all that it has started.  Nothing when pid is 0.
void kill_worker(pid_t pid);

}  // namespace brood
