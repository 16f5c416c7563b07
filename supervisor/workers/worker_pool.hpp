#pragma once

#include <sys/resource.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "shared/scoreboard/occupied_slot.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/scoreboard/worker_setup.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/queues/queue_workers.hpp"
#include "supervisor/queues/unblocking.hpp"
#include "supervisor/report/heartbeat.hpp"
#include "supervisor/report/running_jobs.hpp"
#include "supervisor/upgrade/handover.hpp"
#include "supervisor/workers/end_overdue_jobs.hpp"
#include "supervisor/workers/exit_evidence.hpp"
#include "supervisor/workers/generation.hpp"
#include "supervisor/workers/job_output.hpp"
#include "supervisor/workers/judge_worker_end.hpp"
#include "supervisor/workers/memory_cgroup.hpp"
#include "supervisor/workers/predecessors.hpp"
#include "supervisor/workers/process_table.hpp"
#include "supervisor/workers/roll_plan.hpp"
#include "supervisor/workers/serial_turns.hpp"

namespace brood {

// In a rolling restart the old and the new worker have a slot each, and some dead ones' wait for their recovery.
inline int slots_for(const Config& config) { return 2 * config.concurrency() + 16; }

// The workers of one supervisor and all that it shares with them: their places, their slots in the scoreboard, their
// pipes, and how each is filled, told, ended and reaped.  What becomes of a dead one's jobs is decided elsewhere.
class WorkerPool : public QueueWorkers, public Heartbeat::Workers {
 public:
  // What another program has left in this process, and the generations that its workers go by.
  struct AdoptedWorkers {
    Handover handover;
    std::map<std::uint32_t, std::shared_ptr<const Generation>> generations;

    // What is not told of their configuration is as in the `present` one.  Nothing left, nothing adopted.
    static std::optional<AdoptedWorkers> of(const std::optional<Handover>& left, const Config& present,
                                            const BodiesFor& bodies);
  };
  struct Setup {
    std::shared_ptr<const Generation> generation;  // without workers to adopt, or where their scoreboard cannot be read
    std::optional<AdoptedWorkers> adopted_workers = {};
    std::string identity;
    std::string runtime_directory;
    std::string instance = {};  // what the operator calls this supervisor
  };
  WorkerPool(EventLoop& loop, Unblocking& unblocking, Setup setup);
  ~WorkerPool() override;

  // For the next program in this process: the workers and generations, into `handover`.  Not while a generation comes,
  // or a worker is being ended, or a dead one's jobs are not recovered.
  void hand_over(Handover& handover) const;

  // Fills the vacant places that have rested enough.
  void fill_vacant_places();
  // What every worker, present and to come, is told: SlotFlag bits.
  void tell_all(std::uint32_t flags);
  // Wakes a worker that waits, in Redis or for its pipe.
  void wake(int slot) override { tell(slot, 0); }
  void unblock(const SlotRecord& record) override { unblocking_.unblock(record); }
  bool may_unblock() const override { return unblocking_.allowed(); }
  // What workers have said through their pipes since it was last asked.
  struct News {
    bool batching = false;   // one holds more than one job
    bool left_wait = false;  // one waits on its queue no more
  };
  News take_news() { return std::exchange(news_, {}); }
  // Kills them all, and charges nobody for it.
  void kill_all(const char* reason);
  // Asks every worker where it is: each answers in its record's `dump`.  Returns whom it asked.
  std::vector<DumpRequest> ask_for_stacks();
  // Ends jobs that run on after their deadline, or that somebody wants ended.
  JobEnder& job_ender() { return job_ender_; }
  const JobEnder& job_ender() const { return job_ender_; }
  // Puts right what jobs may have scribbled over, says which workers are slow to start, and ends those that do not.
  // Now and then.
  void look_after(SteadyTime now);
  // Says that a worker was stopped (SIGSTOP): it finishes nothing and hears nothing.
  void note_stopped(pid_t pid) const;

  // A child has ended and been waited for; nullopt when it was no worker.  Empties its slot, which is free again at
  // once, or, where there is something to recover, when recovered() says so.
  struct Reaped {
    int slot;
    int place;
    pid_t pid;
    WorkerEnd end;
    ExitStatus status;
    bool fresh;                               // see bring()
    std::optional<SteadyTime> ready_at;       // nullopt: it never was
    std::optional<WorkerDeath> worker_death;  // what is to be recovered; nullopt: nothing
  };
  std::optional<Reaped> reap(pid_t pid, const ExitStatus& status, const rusage& used, SteadyTime now);
  // Nothing where the dead one was another supervisor's.
  void recovered(const DeadWorker& dead);

  // One generation after the other, or more or fewer of the same; see RollingRestart.  Between bring() or resize() and
  // what ends it, adopt_fresh() or drop_fresh(), fresh places are there beside the old ones.
  //
  // Adds the places of a new generation, which nobody fills yet.  Throws std::system_error when there is no room for
  // their records, and then nothing has changed.
  void bring(std::shared_ptr<const Generation> generation);
  // Adds places to one capsule of the present generation, or gives some of them up.  `generation` has its number, and
  // the changed size in its configuration.  Throws as bring() does.
  void resize(std::shared_ptr<const Generation> generation, int capsule);
  const std::shared_ptr<const Generation>& present() const { return generations_.at(generation_); }
  std::vector<RollPlace> roll_places() const;
  void start(int place) { table_.places().at(place).state = ProcessTable::Place::State::kept; }
  // Tells its worker, if there is one, to finish the job in hand and exit.
  void give_up(int place);
  void adopt_fresh();
  // The workers of fresh places are told to finish, or, before they are ready, killed; those given up are taken back
  // as far as they are still there, and replaced otherwise.
  void drop_fresh();

  // After drop_fresh(): the generation is as it was before resize().
  void put_back(std::shared_ptr<const Generation> generation) { generations_[generation_] = std::move(generation); }

  // When a place is to be filled next; nullopt while none is vacant.
  std::optional<SteadyTime> next_refill() const;

  int size() const { return table_.kept(); }
  int occupied() const { return table_.occupied() + predecessors_.size(); }
  int ready() const { return table_.ready(); }
  int busy() const;
  std::string failing_starts() const;  // half a sentence for people; empty: none fails
  // Every one at the same time.
  bool was_ready() const { return was_ready_; }
  bool is_worker(pid_t pid) const { return table_.slot_of(pid).has_value() || predecessors_.is_one(pid); }

  // Every record that was ever used.
  std::vector<SeenSlot> slots() const override;
  std::vector<OccupiedSlot> occupied_slots() override;
  // Their capsule is an index into capsules().
  std::vector<OccupiedSlot> fetching_slots() override;
  bool somebody_is_idle() const override { return busy() < ready(); }
  // Of the present generation, and behind them those of the next one while it comes.
  std::vector<CapsuleSettings> capsules() const;
  // Workers that are told to finish and run a job still.
  int finishing() const;
  // "<slot>.<incarnation>" of everything that may still hold jobs.
  std::set<std::string> living_fields() const;
  std::uint64_t last_incarnation() const { return table_.last_incarnation(); }
  void note_beat(BootTime sent) override {
    exit_evidence_.note_host_memory();  // what is to be known of the host when a worker ends
    scoreboard_.note_beat(sent);
  }
  void note_beat_token(std::uint64_t token) override { scoreboard_.note_beat_token(token); }
  void note_queues_changed(bool to_all) override;
  std::vector<ClassUsage> take_class_usage() override { return brood::take_class_usage(scoreboard_); }
  // False: the one that was left could not be read, and all counters begin anew.
  bool adopted_scoreboard() const { return board_is_readable_; }
  void remove_scoreboard() { scoreboard_.remove_file(); }

 private:
  // What the supervisor holds of one worker.
  struct Lines {
    UniqueFd control;
    std::unique_ptr<FdWatch> control_watch;  // destroyed before its descriptor is closed
    std::unique_ptr<JobOutput> output;
  };

  void spawn_worker(int place, int slot, SteadyTime now);
  int run_worker(const WorkerSetup& worker_setup, const Generation& generation) const;
  void heard(int slot);
  void tell(int slot, std::uint32_t flags);
  void mend_records();
  void mend_flags();
  void look_after_start(int slot, SteadyTime now);
  // In a capsule of one worker: see serial_turns.hpp.
  std::vector<TurnTaker> turn_takers() const;
  bool would_wait(const ProcessTable::Place& place, int slot, SteadyTime now) const;
  void pass_turns(SteadyTime now);
  std::uint32_t flags_of(int slot) const;  // what its worker is told
  void finish(int slot);
  void free(int slot, std::uint64_t incarnation);
  void make_room(const Config& config);
  void forget_generations();
  void note_whether_all_are_ready();
  void let_rest(int place, std::chrono::milliseconds rest, SteadyTime now);
  void report(const WorkerExit& exit, const WorkerEnd& end, const ProcessTable::Slot& last, pid_t pid,
              std::chrono::milliseconds rest, bool said_before);
  Scoreboard take_scoreboard();
  void fill_capsules();
  void adopt(const Handover& handover);
  void adopt(const Handover::Worker& worker);
  void let_finish(const Handover& handover);
  void connect(int slot, UniqueFd control, UniqueFd output, std::string token);

  const CapsuleSettings& capsule_of(std::uint32_t generation, int capsule) const;
  Lines& lines(int slot) { return lines_.at(static_cast<std::size_t>(slot)); }
  // Of the worker that has or last had the slot.
  const WorkerSettings& settings_of(int slot) const {
    return generations_.at(table_[slot].generation)->config->worker_of(table_[slot].capsule);
  }

  EventLoop& loop_;
  Unblocking& unblocking_;
  const Setup setup_;
  bool board_is_readable_ = true;        // the one that was left
  Predecessors predecessors_;            // where it was not
  std::uint32_t generation_;             // the present one's number
  std::optional<std::uint32_t> coming_;  // the next one's, while it comes
  std::map<std::uint32_t, std::shared_ptr<const Generation>> generations_;
  Scoreboard scoreboard_;
  ProcessTable table_;
  std::vector<Lines> lines_;
  JobEnder job_ender_;
  ExitEvidence exit_evidence_;
  std::optional<MemoryCgroup> memory_cgroup_;
  std::uint32_t flags_ = 0;  // what every worker is told
  std::uint32_t dump_requests_ = 0;
  std::set<pid_t> slow_to_start_;  // said of already
  News news_;
  bool was_ready_ = false;
  bool slots_exhausted_ = false;
};

}  // namespace brood
