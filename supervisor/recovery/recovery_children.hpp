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

// Makes sure that jobs which dead workers had in flight are acknowledged, charged or given back.  Short-lived children
// do it, so that nothing of it can hold up or take down the supervisor.  After a child that fails comes one that dares
// less; a child that lost Redis is repeated.  A job to be charged has a child of its own, everything else shares one.
class RecoveryChildren {
 public:
  // `program` is that of the present generation, whichever that is.
  RecoveryChildren(EventLoop& loop, Children& children, const std::shared_ptr<ChildProgram>& program);

  // The dead workers of which nothing is left in Redis since the last take_recovered().
  std::vector<WorkerDeath> take_recovered() { return std::exchange(recovered_, {}); }

  void add(WorkerDeath worker_death);
  // As add(), but descendants of the dead worker may still run the job: nothing is done before release_held(), which
  // says that they are gone.
  void hold(WorkerDeath worker_death) { held_.push_back(std::move(worker_death)); }
  void release_held();
  // `done` is called when all that the dead supervisor had in flight is recovered.
  void add(OrphanedJobs orphaned_jobs, std::function<void()> done);
  // `own` is called when the child is forked, and names the lists that are no strays.  One sweep at a time: those that
  // a slow Redis, or one that refuses them, lets wait must not take the place of all else.
  void sweep(std::function<OwnIncarnations()> own);

  // From now on no child is forked, and a running sweep ends: for a program that takes our place and goes on with it.
  void pause();
  void resume();

  // Forks the children that are due; called while `redis` answers, to which they connect.  A child that takes too long,
  // and moves no byte to or from Redis, is killed.
  void spawn_due(SteadyTime now, const RedisAddress& redis);
  // When a child is to be started; nullopt while there is nothing to do.
  std::optional<SteadyTime> next_start() const;
  // "<slot>.<incarnation>" of every dead worker of `identity` that is not recovered yet.
  std::set<std::string> fields_of(const std::string& identity) const;
  bool is_idle() const;  // a sweep that waits for its time does not count
  // Nothing is under way, and a process that knows dead_workers_of() our identity could go on in our place: dead
  // supervisors are found again, and so are lists without a field.
  bool may_be_left() const { return held_.empty() && running() == 0; }
  // A child recovers what a dead supervisor had in flight, which may be much.
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
  std::function<OwnIncarnations()> own_incarnations_ = {};  // of the last sweep that was asked for
};

}  // namespace brood
