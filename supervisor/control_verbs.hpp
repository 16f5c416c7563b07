#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "supervisor/control/control_socket.hpp"
#include "supervisor/control/progress_throttle.hpp"
#include "supervisor/own_processes.hpp"
#include "supervisor/phase.hpp"
#include "supervisor/pressure/pressure_relief.hpp"
#include "supervisor/report/heartbeat_info_json.hpp"
#include "supervisor/restart/rolling_restart.hpp"
#include "supervisor/upgrade/upgrade.hpp"
#include "supervisor/workers/stack_log.hpp"
#include "supervisor/workers/worker_orders.hpp"
#include "supervisor/workers/worker_pool.hpp"

namespace brood {

// What a supervisor does for its command line, and whom it still owes an answer:
//
//   status                   an object: phase, tag, config, queues, generation, workers, drained shards, restart,
//   pressure quiet                    answered when no worker runs a job any more resume                   undoes quiet
//   stop [now]               answered when everything is in order; `now` ends running jobs
//   restart                  answered when it is done, refused or rolled back
//   scale N CAPSULE          the same
//   reopen                   the log's file is opened anew; its workers do that by themselves at their next line
//   upgrade                  answered when it comes to nothing; else the connection ends after the word "handing over",
//                            and the successor restarts its workers
//   await_restart            answered when no restart is under way any more
//   dump                     the stacks go to the log
//   stack SLOT PID           an object of where that worker is: see ChildBodies::tell_stack
//   recycle SLOT PID         that worker finishes its job and exits, and another takes its place
//   kill JID OUTCOME         answered when the job is where it is to be, or after some seconds without Redis
class ControlVerbs {
 public:
  // The supervisor, as these verbs need it.
  class Ordered {
   public:
    virtual ~Ordered() = default;
    virtual Phase phase() const = 0;
    virtual void order(Order order) = 0;
    virtual ProcessFacts process_facts() const = 0;
    virtual std::vector<std::string> drained_shards() const = 0;  // their names
  };
  ControlVerbs(Ordered& supervisor, std::string identity, const OwnProcesses& own, WorkerPool& pool,
               const WorkerOrders& orders, const PressureRelief& pressure, RollingRestart& restart, Upgrade& upgrade,
               StackLog& stack_log);

  void handle(const std::string& verb, const std::vector<std::string>& arguments, const ControlSocket::Reply& reply);

  // A word that came through Redis, where anybody may have written it.
  void handle(const std::string& word);

  // A worker is gone.  `to_recover`: who it was, if it held jobs; then recovered() follows.
  void reaped(pid_t worker, const DeadWorker* to_recover);
  void recovered(const DeadWorker& worker);
  // Now and then: tells those who wait what they wait for.
  void advance();
  // The supervisor is about to exit: whoever waits for its stop is answered.
  void stopped();

 private:
  using Reply = ControlSocket::Reply;
  using Arguments = std::vector<std::string>;
  void quiet(const Reply& reply);
  void resume(const Reply& reply);
  void obey(const std::string& verb, const Arguments& arguments, const Reply& reply);
  void stop(const Arguments& arguments, const Reply& reply);
  void refuse_in_this_phase(const Reply& reply) const;
  void restart(const Reply& reply);
  void upgrade(const Reply& reply);
  void reopen(const Reply& reply);
  void scale(const Arguments& arguments, const Reply& reply);
  void kill(const Arguments& arguments, const Reply& reply);
  void stack(const Arguments& arguments, const Reply& reply);
  void recycle(const Arguments& arguments, const Reply& reply);
  std::string status() const;
  std::string busy_sentence() const;
  void tell_without_redis(SteadyTime now);

  Ordered& supervisor_;
  const std::string identity_;
  const OwnProcesses& own_;
  WorkerPool& pool_;
  const WorkerOrders& orders_;
  const PressureRelief& pressure_;
  RollingRestart& restart_;
  Upgrade& upgrade_;
  StackLog& stack_log_;
  using Told = std::function<void(bool settled)>;
  struct AwaitedRecovery {
    Told tell;
    SteadyTime at_latest{};
  };
  std::map<pid_t, Told> awaited_ends_;
  std::map<std::string, AwaitedRecovery> awaited_recoveries_;  // by the worker's field
  std::vector<Reply> await_quiet_, await_stop_;
  ProgressThrottle told_;
  SteadyTime quiet_since_{}, stop_since_{};
};

}  // namespace brood
