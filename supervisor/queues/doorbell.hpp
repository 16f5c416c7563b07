#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "shared/store/queues/queue_sizes.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/queues/doorbell_plan.hpp"
#include "supervisor/queues/empty_queues.hpp"
#include "supervisor/queues/idle_watch.hpp"
#include "supervisor/queues/queue_backoff.hpp"
#include "supervisor/queues/queue_peek.hpp"
#include "supervisor/queues/queue_workers.hpp"

namespace brood {

// Tells an idle worker that there is a job in a queue on which no worker waits.  The first such queues get a blocking
// peek each: BLMOVE from a queue's tail to the same queue's tail, which moves nothing and touches no list of ours.  The
// other queues, and all of them where Redis refuses the peek, are looked at up to ten times a second: those that may
// have changed since they were empty, or all of them where changes are not told.  When nobody is idle,
// or every queue has a worker that waits on it, nothing is asked of Redis.  Where there are several shards, workers
// that would come from another shard count as idle here; one is called when no worker of this shard can be freed.
class Doorbell {
 public:
  // Peeks on connections of its own, to the address that `redis` is connected to.
  Doorbell(EventLoop& loop, AsyncConnection& redis, QueueWorkers& workers);
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  // Call this to begin, and again whenever Redis is back.  From then on it goes by itself.
  void listen();

  // A worker has said ControlByte::left_wait: it has left its wait in Redis, or waits outside.  Looks now who waits
  // where, and more often for a while.
  void look();

  // The capsules whose workers are rung for; before the first call there are none.
  void set_capsules(std::vector<CapsuleSettings> capsules);

  // What Redis says of the queues: their names, for capsules that take all queues, and which are paused, for those are
  // not rung for.
  void know(const KnownQueues& known);

  // While `reader` is set, each first change of what was read on it is told by note_changes().
  void rely_on_being_told(AsyncConnection* reader);
  // Of queues; none: any may have changed.
  void note_changes(const std::vector<std::string>& queues);

  // Redis is at another address: connections to the old one are of no use.
  void redis_has_moved();

  // Rings nobody any more, and closes its connections.
  void stop();

  int connections() const;

 private:
  using Results = std::vector<AsyncConnection::Result>;

  void read_capsules();
  void tick();
  void replan();
  void carry_out(const std::vector<IdleWorker>& idle, SteadyTime now);
  std::chrono::milliseconds interval(SteadyTime now) const;
  void set_timer(SteadyTime now);
  bool wake_one(const std::string& queue);
  bool call_one(const std::string& queue, const std::vector<IdleWorker>& idle);

  bool keep_peeking(const std::string& queue, const std::vector<IdleWorker>& idle, SteadyTime now);
  QueuePeek::Candidate candidate_for(const std::string& queue, const std::vector<IdleWorker>& idle) const;
  void answered(QueuePeek& peek, const QueuePeek::Answer& answer);
  void refused(std::string queue, const std::string& why, SteadyTime now);
  void leave_out(const std::vector<std::string>& found, SteadyTime now);
  void drop_unneeded(SteadyTime now);

  void look_at(const std::vector<std::string>& wanted);
  void read_look(const std::vector<std::vector<std::string>>& asked, const Results& results);
  void forget_what_is_empty();
  void note_empty(const std::vector<std::string>& asked, const QueueSizes& sizes);
  void read_places(const std::vector<std::string>& asked, const AsyncConnection::Result& result);

  EventLoop& loop_;
  AsyncConnection::Scope redis_;
  QueueWorkers& workers_;
  Timer next_;
  bool listening_ = false;

  std::vector<CapsuleSettings> capsules_;
  KnownQueues known_;
  CapsuleQueues queues_;
  bool each_waits_ = false;  // every worker waits in Redis when it is idle, on the only queue that it has
  std::vector<CapSettings> caps_;
  std::set<std::string> capped_;  // queues

  IdleWatch watch_;
  std::set<int> to_call_;  // capsules
  DoorbellPlan plan_;
  bool plan_is_carried_out_ = false;
  SteadyTime changed_at_{}, told_at_{};

  std::vector<std::unique_ptr<QueuePeek>> peeks_;
  QueueBackoff backoff_;
  std::set<std::string> no_lists_;
  SteadyTime no_lists_until_{}, no_lists_reported_{};
  SteadyTime peeks_refused_until_{}, refusal_reported_{};
  AsyncConnection* reader_ = nullptr;
  EmptyQueues empty_;
  bool looks_ = false;  // some queue must be looked at
  bool looking_ = false;
  std::uint64_t looks_begun_ = 0;  // by which an answer that comes too late is known
  SteadyTime next_look_{};
};

}  // namespace brood
