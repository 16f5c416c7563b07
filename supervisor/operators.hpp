#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "supervisor/control/control_socket.hpp"
#include "supervisor/control/progress_throttle.hpp"
#include "supervisor/control/redis_orders.hpp"
#include "supervisor/fleet.hpp"
#include "supervisor/operator_signals.hpp"
#include "supervisor/own_processes.hpp"
#include "supervisor/phases.hpp"
#include "supervisor/report/heartbeat_info_json.hpp"
#include "supervisor/shards/shard.hpp"
#include "supervisor/upgrade/upgrade.hpp"

namespace brood {

// Carries out what operators ask of a supervisor by signals, by the command line and through Redis.  Keeps the requests
// that wait for an answer.  The verbs of the command line:
//
//   status                   an object: phase, tag, config, queues, generation, workers, drained shards, restart,
//                            pressure
//   quiet                    answered when no worker runs a job any more
//   resume                   undoes quiet
//   stop [now]               answered when everything is in order; `now` ends running jobs
//   restart                  answered when it is done, refused or rolled back
//   scale N CAPSULE          the same
//   reopen                   opens the log's file anew; its workers do that by themselves at their next line
//   upgrade                  answered if it comes to nothing; otherwise the connection ends after the words
//                            "handing over", and the successor restarts its workers
//   await_restart            answered when no restart is under way any more
//   dump                     writes the stacks to the log
//   stack SLOT PID           an object of where that worker is: see ChildProgram::tell_stack
//   recycle SLOT PID         that worker finishes its job and exits, and another takes its place
//   kill JID OUTCOME         answered when the job is where it is to be, or after some seconds without Redis
class Operators {
 public:
  struct Parts {
    EventLoop& loop;
    const Identity& identity;
    OperatorSignals& signals;
    const OwnProcesses& own;
    Fleet& fleet;
    const Shards& shards;
    Phases& phases;
    Upgrade& upgrade;
    const ProcessFacts& facts;
  };
  explicit Operators(const Parts& parts);

  // Opens the control socket, or takes over the previous program's `listener`.
  void listen(const std::string& path, UniqueFd listener);
  int listener() const { return socket_ ? socket_->listener() : -1; }  // for the next program; -1 if there is none

  // Each turn: obeys pending signals.
  void obey_signals();
  // Obeys a signal that came through Redis: from a button of the Web UI, a command to the whole fleet, or any other
  // client.
  void obey_redis(const std::string& signal);

  // The state that commands to the whole fleet read in the heartbeat: text_of() a SupervisorState.
  std::string state() const;

  // Notes that a worker is gone.  `to_recover` identifies it if it held jobs; then recovered() follows.  Otherwise
  // null.
  void reaped(pid_t worker, const DeadWorker* to_recover);
  void recovered(const DeadWorker& worker);
  // Each turn: answers the waiting clients whose request is done, and reports progress to the others.
  void advance();
  // Answers the clients that wait for the stop; the supervisor is about to exit.
  void stopped();

 private:
  using Reply = ControlSocket::Reply;
  using Arguments = std::vector<std::string>;
  void handle(const std::string& verb, const Arguments& arguments, const Reply& reply);
  void obey_with_ticket(const FleetWord& order);
  void obey(const std::string& verb, const Arguments& arguments, const Reply& reply);
  void quiet(const Reply& reply);
  void resume(const Reply& reply);
  void stop(const Arguments& arguments, const Reply& reply);
  void restart(const Reply& reply);
  void upgrade(const Reply& reply);
  void reopen(const Reply& reply);
  void scale(const Arguments& arguments, const Reply& reply);
  void kill(const Arguments& arguments, const Reply& reply);
  void stack(const Arguments& arguments, const Reply& reply);
  void recycle(const Arguments& arguments, const Reply& reply);
  void refuse_in_this_phase(const Reply& reply) const;
  std::string why_not_now() const;
  std::string status() const;
  std::string busy_sentence() const;
  void answer_without_redis(SteadyTime now);

  EventLoop& loop_;
  const std::string identity_;
  OperatorSignals& signals_;
  const OwnProcesses& own_;
  Fleet& fleet_;
  const Shards& shards_;
  Phases& phases_;
  Upgrade& upgrade_;
  const ProcessFacts& facts_;
  // Shared with the callbacks that note the answers, which may outlive this object.
  const std::shared_ptr<RedisOrders> redis_orders_ = std::make_shared<RedisOrders>();
  std::unique_ptr<ControlSocket> socket_;  // null if it could not be made

  using Answer = std::function<void(bool settled)>;
  struct AwaitedRecovery {
    Answer answer;
    SteadyTime at_latest{};
  };
  std::map<pid_t, Answer> awaited_ends_;
  std::map<std::string, AwaitedRecovery> awaited_recoveries_;  // by the worker's field
  std::vector<Reply> await_quiet_, await_stop_;
  ProgressThrottle progress_;
  SteadyTime quiet_since_{}, stop_since_{};
};

}  // namespace brood
