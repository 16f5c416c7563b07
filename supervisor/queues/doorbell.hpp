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
#include "shared/store/queues/queue_sizes.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/queues/doorbell_plan.hpp"
#include "supervisor/queues/idle_watch.hpp"
#include "supervisor/queues/queue_peek.hpp"
#include "supervisor/queues/queue_workers.hpp"

namespace brood {

// Wakes an idle worker when a job arrives in a queue on which no worker waits.  DoorbellPlan decides what to watch;
// this carries it out.
// The first of these queues get a blocking peek each: BLMOVE from a queue's tail to the same queue's tail, which moves
// nothing.  It looks at the other queues, or at all of them if Redis refuses the peek, up to ten times a second: at
// those that may have changed since they were empty, or at all if Redis does not report changes.
//
// It asks Redis nothing while no worker is idle, or while each queue has a worker that waits on it.  Workers that would
// come from another shard count as idle here; one is called if no worker of this shard can be freed.
class Doorbell {
 public:
  // Peeks on connections of its own, to the address that `redis` is connected to.
  Doorbell(EventLoop& loop, AsyncConnection& redis, QueueWorkers& workers);
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  // Call this to begin, and again whenever Redis is back.  From then on it goes by itself.
  void listen();

  // Call it when a worker has sent ControlByte::left_wait: it has left its wait in Redis, or waits outside it.  Looks
  // now which workers wait where, and more often for a while.
  void look();

  // The capsules whose workers are woken; none before the first call.
  void set_capsules(std::vector<CapsuleSettings> capsules);

  // Sets the names of the queues in Redis, for capsules that take all queues, and the paused ones, which are not
  // watched.
  void know(const KnownQueues& known);

  // While `reader` is set, note_changes() is called for the first change of each key that was read on it.
  void rely_on_reports(AsyncConnection* reader);
  // Notes that these queues have changed; if the list is empty, any may have.
  void note_changes(const std::vector<std::string>& queues);

  // Call it when Redis is at another address: connections to the old one are useless.
  void redis_has_moved();

  // Wakes no worker any more, and closes its connections.
  void stop();

  int connections() const;

 private:
  using Results = std::vector<AsyncConnection::Result>;

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

  IdleWatch watch_;
  std::set<int> to_call_;  // capsules
  DoorbellPlan plan_;
  bool plan_is_carried_out_ = false;
  SteadyTime changed_at_{}, told_at_{};

  std::vector<std::unique_ptr<QueuePeek>> peeks_;
  SteadyTime no_lists_reported_{}, refusal_reported_{};
  AsyncConnection* reader_ = nullptr;
  bool looks_ = false;  // some queue must be looked at
  bool looking_ = false;
  std::uint64_t looks_begun_ = 0;  // identifies answers that come too late
  SteadyTime next_look_{};
};

}  // namespace brood
