#pragma once

#include <memory>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/known_queues.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/queues/queue_workers.hpp"

namespace brood {

// Tells an idle worker of a queue that nobody waits on.  The first such queues get a blocking peek each, BLMOVE from a
// queue's tail to the same queue's tail, which moves nothing and touches no list of ours; the others, and all of them
// where Redis refuses the peek, are looked at ten times a second.  With nobody idle, or with a waiter on every queue,
// it asks Redis nothing.
class Doorbell {
 public:
  // Peeks on connections of its own, to the address that `redis` is connected to.
  Doorbell(EventLoop& loop, AsyncConnection& redis, QueueWorkers& workers);
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  // Begins; and again whenever Redis is there again.  From then on it goes by itself.
  void listen();

  // Looks now who waits where, and more often for a while: a worker has said ControlByte::left_wait.
  void look();

  // The slots' capsules: none before, and from now on these.
  void set_capsules(std::vector<CapsuleSettings> capsules);

  // What Redis says of the queues: those that capsules of all queues take, and those that nobody rings for.
  void know(const KnownQueues& known);

  // Rings nobody any more, and closes its connections.
  void stop();

  int connections() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace brood
