#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "worker/fetching/batch_size.hpp"
#include "worker/fetching/filled_queues.hpp"
#include "worker/fetching/queue_choice.hpp"
#include "worker/orders/supervisor_orders.hpp"
#include "worker/session/session.hpp"
#include "worker/shards/served_shard.hpp"

namespace brood {

// Fetches jobs for a worker: decides from which queues, how many at a time, and how to wait while there are none.
class Fetcher {
 public:
  Fetcher(const Config& config, const WorkerSetup& setup, ServedShard& shard, Session& session,
          SupervisorOrders& orders);

  // Draws the queues of the next fetch.  Returns false if Redis had to be asked for them and is away.
  bool draw() { return draw_.begin(); }
  // Settles `outcomes`, and fetches from the first queues of the draw if the worker `begins` jobs.
  Session::Next settle_and_fetch(const std::vector<Outcome>& outcomes, bool begins);
  // Fetches from the rest of the draw.  Call it if settle_and_fetch() has found nothing.
  Session::Next fetch_from_rest();

  // Waits for a job, in Redis if it allows that: so a job reaches the worker without a further question.
  Session::Waited wait(bool looks_again_soon);
  bool draw_is_old() const { return draw_.is_old(); }

  const NameSet* paused_classes() { return draw_.paused_classes(); }
  void note_performed(int jobs, std::chrono::nanoseconds together, std::chrono::nanoseconds longest) {
    batch_size_.performed(jobs, together, longest);
  }
  // Call it when the worker has gone to another shard.
  void forget_shard();

 private:
  Session::Want want(std::vector<std::string> draw, int most);
  void say_now_and_then(ControlByte byte, SteadyTime& said, std::chrono::nanoseconds again);
  void say_whether_batching();
  void wait_outside_of_redis();
  std::vector<std::string> other_queues();
  bool may_wait();
  std::optional<std::chrono::milliseconds> woken();

  const WorkerSetup& setup_;
  ServedShard& shard_;
  Session& session_;
  SupervisorOrders& orders_;
  QueueChoice draw_;
  FilledQueues filled_queues_;
  BatchSize batch_size_;
  SteadyTime said_batching_{}, said_left_wait_{};
  std::optional<SteadyTime> refused_at_;  // when Redis last did not let us wait
};

}  // namespace brood
