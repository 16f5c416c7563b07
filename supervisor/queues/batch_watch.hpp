#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "shared/redis/async_connection.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/queues/queue_workers.hpp"

namespace brood {

// How long each worker has worked on its batch, as our looks have observed.  Pure, except that it reads the scoreboard.
class BatchAges {
 public:
  // Returns true if this worker has unbegun jobs and is too slow to begin them soon: its job or its batch has been
  // running for long.
  bool holds_up(int slot, const SlotRecord& record, SteadyTime now);

  // When a look last found a worker that runs one job and holds another unbegun; nullopt: never.
  std::optional<SteadyTime> last_seen() const { return last_seen_; }

 private:
  struct Batch {
    std::uint64_t incarnation, number;
    SteadyTime since;
  };
  std::map<int, Batch> batches_;
  std::optional<SteadyTime> last_seen_;
};

// Takes unbegun jobs behind a slow one of the same batch back from their worker, and returns them to the head of their
// queue.  Looks a hundred times a second, but only while workers fetch more than one job at a time.
class BatchWatch {
 public:
  BatchWatch(EventLoop& loop, AsyncConnection& redis, std::string identity, QueueWorkers& workers);
  ~BatchWatch();
  BatchWatch(const BatchWatch&) = delete;
  BatchWatch& operator=(const BatchWatch&) = delete;

  // Called when a worker has sent ControlByte::batching.  A worker sends it if it holds more than one job and has not
  // sent it for half a second.  Also called when Redis is usable again, since there were no looks meanwhile.
  void look_for_a_while();
  bool looks() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace brood
