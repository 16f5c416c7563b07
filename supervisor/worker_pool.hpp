#pragma once

#include <sys/resource.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shared/config.hpp"
#include "shared/scoreboard.hpp"
#include "shared/seat.hpp"
#include "shared/unique_fd.hpp"
#include "supervisor/child_bodies.hpp"
#include "supervisor/event_loop.hpp"
#include "supervisor/job_output.hpp"
#include "supervisor/memory_cgroup.hpp"
#include "supervisor/occupied_slot.hpp"
#include "supervisor/overdue.hpp"
#include "supervisor/post_mortem.hpp"
#include "supervisor/process_table.hpp"
#include "supervisor/restart_policy.hpp"
#include "supervisor/running_jobs.hpp"
#include "supervisor/worker_end.hpp"

namespace brood {

// The workers of one supervisor and all that it shares with them: their slots in the scoreboard, their pipes, and how
// each is filled, told, ended and reaped.  What becomes of a dead one's jobs is decided elsewhere.
class WorkerPool {
 public:
  struct Setup {
    const Config& config;
    const ChildBodies& bodies;
    std::string identity;
    std::string runtime_directory;
    std::function<void()> all_ready;                // called once, when every worker has been ready at the same time
    std::function<void()> batching;                 // a worker holds more than one job
    std::function<void(const SlotRecord&)> let_go;  // has Redis let go of a worker that waits there
  };
  WorkerPool(EventLoop& loop, Setup setup);
  ~WorkerPool();

  // Fills the vacant slots that have rested enough.
  void fill_vacant_slots();
  // What every worker, present and to come, is told: SlotFlag bits.
  void tell_all(std::uint32_t flags);
  // Wakes a worker that waits, in Redis or for its pipe.
  void wake(int slot) { tell(slot, 0); }
  // Kills them all, and charges nobody for it.
  void kill_all();
  // Asks every worker where it is: each answers in its slot's `dump`.  Returns whom it asked.
  std::vector<DumpRequest> ask_for_stacks();
  // Ends the worker that runs the job `jid`, and that job alone; nullopt when none runs it.
  struct Ended {
    int slot;
    pid_t pid;
    std::string job_class, queue;
    std::chrono::nanoseconds ran_for;
  };
  std::optional<Ended> end_job(const std::string& jid, Casualty::Fate fate);

  // Aborts, then kills, workers whose jobs run on after their deadlines.
  void end_overdue_jobs(SteadyTime now);
  // Puts right what jobs may have scribbled over, and says which workers are slow to start.  Now and then.
  void look_after(SteadyTime now);
  // With each heartbeat: what is to be known of the host when a worker ends.
  void note_host() { post_mortem_.note_host_memory(); }
  // Says that a worker was stopped (SIGSTOP): it finishes nothing and hears nothing.
  void note_stopped(pid_t pid) const;

  // A child has ended and been waited for; nullopt when it was no worker.  Empties its slot.
  struct Reaped {
    int slot;
    pid_t pid;
    WorkerEnd end;
    bool was_ready;
    std::optional<Casualty> casualty;  // what is to be recovered; nullopt: nothing
  };
  std::optional<Reaped> reap(pid_t pid, const ExitStatus& status, const rusage& used, SteadyTime now);

  // When something here is due next; nullopt while nothing is.
  std::optional<SteadyTime> next_refill() const { return table_.next_refill(); }
  std::optional<SteadyTime> next_end() const;

  int size() const { return table_.size(); }
  int occupied() const { return table_.occupied(); }
  int ready() const { return table_.ready(); }
  int busy() const;
  bool was_ready() const { return was_ready_; }
  bool is_worker(pid_t pid) const { return table_.slot_of(pid).has_value(); }

  std::vector<SeenSlot> slots() const;
  // Those with a worker that is ready.
  std::vector<OccupiedSlot> occupied_slots();
  // "<slot>.<incarnation>" of everything that may still hold jobs.
  std::set<std::string> living_fields() const;
  std::atomic<std::int64_t>& last_beat() { return scoreboard_.last_beat(); }
  void remove_scoreboard() { scoreboard_.remove_file(); }

 private:
  // What the supervisor holds of one worker.
  struct Lines {
    UniqueFd control;
    std::unique_ptr<FdWatch> control_watch;  // destroyed before its descriptor is closed
    std::unique_ptr<JobOutput> output;
  };

  void spawn_worker(int slot);
  int run_worker(const Seat& seat) const;
  void heard(int slot);
  void tell(int slot, std::uint32_t flags);
  bool abort_for_job(int slot, const SlotSnapshot& seen, EndedBy by, SteadyTime now);
  void kill_worker(int slot);
  void mend_flags();
  void let_rest(int slot, std::chrono::milliseconds rest, SteadyTime now);
  void report(pid_t pid, const WorkerExit& exit, const WorkerEnd& end, std::chrono::milliseconds rest);
  RestartPolicy& policy(int slot) { return restart_policies_.at(static_cast<std::size_t>(slot)); }
  Lines& lines(int slot) { return lines_.at(static_cast<std::size_t>(slot)); }

  EventLoop& loop_;
  const Setup setup_;
  const Config& config_;
  Scoreboard scoreboard_;
  ProcessTable table_;
  std::vector<RestartPolicy> restart_policies_;
  std::vector<Lines> lines_;
  const Overdue overdue_;
  PostMortem post_mortem_;
  std::optional<MemoryCgroup> memory_cgroup_;
  std::uint32_t flags_ = 0;  // what every worker is told
  SteadyTime next_look_{};   // for deadlines
  std::uint32_t dump_requests_ = 0;
  std::set<int> slow_to_start_;  // said of already
  bool was_ready_ = false;
};

}  // namespace brood
