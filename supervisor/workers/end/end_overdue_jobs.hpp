#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/worker_death.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/workers/places/process_table.hpp"

namespace brood {

// When to end a job that runs past its deadline.  At the deadline the job itself sees that it should stop.  One grace
// later its worker is aborted, so that the worker's crash record shows where the job hung.  Another grace later the
// worker is killed with everything it started.  Pure.
class JobTimeout {
 public:
  explicit JobTimeout(std::chrono::milliseconds grace) : grace_(grace) {}

  SteadyTime abort_at(SteadyTime deadline) const { return deadline + grace_; }
  SteadyTime kill_at(SteadyTime aborted) const { return aborted + std::max(grace_, shortest_grace); }

  // The pause between two looks for new deadlines: short enough to notice each deadline before its abort is due.
  std::chrono::milliseconds look_interval() const { return std::clamp(grace_, shortest_grace, longest_interval); }

 private:
  // Time to write the crash record.
  static constexpr std::chrono::milliseconds shortest_grace{100};
  static constexpr std::chrono::milliseconds longest_interval{1000};

  std::chrono::milliseconds grace_;
};

// Ends single jobs, together with their workers: jobs that an operator picks, and jobs that run past their deadline.
// Never hits the next job of the same worker.
class JobEnder {
 public:
  // `grace_of` returns the timeout_grace of a slot's worker.
  JobEnder(EventLoop& loop, ProcessTable& table, Scoreboard& scoreboard,
           std::function<std::chrono::milliseconds(int slot)> grace_of);

  // Ends the worker that runs the job `jid`; nullopt if no worker runs it.
  struct Ended {
    int slot;
    pid_t pid;
    std::string job_class, queue;
    std::chrono::nanoseconds ran_for;
  };
  std::optional<Ended> end_job(const std::string& jid, WorkerDeath::Fate fate);

  // Aborts, then kills, workers whose jobs run past their deadlines.
  void end_overdue(SteadyTime now);
  // Whether a worker is being ended and still exists.
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

// Kills the worker with everything it started; does nothing if pid is 0.
void kill_worker(pid_t pid);

}  // namespace brood
