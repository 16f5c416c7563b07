#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/address.hpp"
#include "supervisor/process/child_program.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Has the jobs that dead workers had in flight acknowledged, charged or given back.
//
// Short-lived children do it, so that it can neither hold up nor crash the supervisor.  If a child fails, the next one
// risks less.  If a child loses Redis, it is repeated.  A job to be charged has a child of its own; everything else
// shares one.
class RecoveryChildren {
 public:
  // `program` always points to the present generation's program.
  RecoveryChildren(EventLoop& loop, Children& children, const std::shared_ptr<ChildProgram>& program);

  // The dead workers that have left nothing in Redis, since the last take_recovered().
  std::vector<WorkerDeath> take_recovered() { return std::exchange(recovered_, {}); }

  void add(WorkerDeath worker_death);
  // As add(), for a dead worker whose descendants may still run the job.  Nothing is done before release_held(), which
  // means that they are gone.
  void hold(WorkerDeath worker_death) { held_.push_back(std::move(worker_death)); }
  void release_held();
  // `done` is called when everything that the dead supervisor had in flight is recovered.
  void add(OrphanedJobs orphaned_jobs, std::function<void()> done);
  // `own` is called when the child is forked, and returns the lists that are not strays.  Only one sweep waits or runs
  // at a time: if Redis is slow or refuses sweeps, they must not crowd out everything else.
  void sweep(std::function<OwnIncarnations()> own);

  // From now on forks no child, and ends a running sweep: a program that takes our place will go on with it.
  void pause();
  void resume();

  // Forks the children that are due.  Call it while `redis`, to which they connect, answers.  A child that takes too
  // long, and moves no byte to or from Redis, is killed.
  void spawn_due(SteadyTime now, const RedisAddress& redis);
  // When the next child is to be started; nullopt if there is nothing to do.
  std::optional<SteadyTime> next_start() const;
  // "<slot>.<incarnation>" of every dead worker of `identity` that is not recovered yet.
  std::set<std::string> fields_of(const std::string& identity) const;
  bool is_idle() const;  // a sweep that waits for its time does not count
  // Whether nothing is under way, and a process with our identity that knows dead_workers_of() it could take over.
  // That process would find dead supervisors again, and lists without a field.
  bool may_be_left() const { return held_.empty() && running() == 0; }
  // Whether a child recovers what a dead supervisor had in flight, which may take long.
  bool works_for_another() const;
  std::vector<WorkerDeath> dead_workers_of(const std::string& identity) const;

 private:
  struct OrphanedJobsTask {
    OrphanedJobs orphaned_jobs;
    std::function<void()> done;
  };
  struct Sweep {};
  struct Task {
    std::variant<std::vector<WorkerDeath>, OrphanedJobsTask, Sweep> work;
    RecoveryMode mode = RecoveryMode::full;
    SteadyTime not_before{};
    std::chrono::milliseconds pause{0};
    Child child = {};       // while none runs, the task waits
    bool gave_way = false;  // the child was ended by pause()
  };
  static bool is_sweep(const Task& task) { return std::holds_alternative<Sweep>(task.work); }

  void start_due(SteadyTime now, const RedisAddress& redis);
  void start(Task& task, SteadyTime now, const RedisAddress& redis);
  void ended(Task& task, const Children::End& end);
  void finish(Task& task);
  int running() const;

  Children& children_;
  const std::shared_ptr<ChildProgram>& program_;
  std::vector<WorkerDeath> recovered_;
  std::list<Task> tasks_;
  bool pauses_ = false;
  std::vector<WorkerDeath> held_;
  Timer wake_;                                              // for spawn_due()
  std::function<OwnIncarnations()> own_incarnations_ = {};  // of the latest sweep
};

}  // namespace brood
