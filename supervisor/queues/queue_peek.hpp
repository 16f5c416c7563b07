#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/redis/async_connection.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// A blocking look at the tail of a queue that moves nothing, on a connection of its own.  It ends when a job is there,
// or after a while.  The command that frees one worker from its wait follows on the same connection, so Redis frees the
// worker the moment the job comes: the worker has its job before we hear of it.
class QueuePeek {
 public:
  struct Candidate {
    int slot = -1;             // -1: no worker
    std::uint64_t client = 0;  // the id of the connection on which it waits in Redis
  };
  struct Answer {
    std::string job;      // empty if none came
    std::string refusal;  // why Redis refuses the peek; empty if it does not, or if the connection was lost
    bool freed = false;   // whether the candidate was freed, with or without a job
  };
  struct Events {
    std::function<void()> connected;
    std::function<void(QueuePeek&, const Answer&)> answered;
  };
  QueuePeek(EventLoop& loop, const RedisAddress& address, Events events);

  bool connected() const { return connection_.connected(); }

  // Call it only while connected and with no peek under way.
  void begin(const std::string& queue, Candidate candidate);

  bool under_way() const { return under_way_; }
  const std::string& queue() const { return queue_; }  // the last one
  Candidate candidate() const { return candidate_; }

  SteadyTime needed{};  // when it was last needed

 private:
  const Events events_;
  AsyncConnection connection_;
  std::string queue_;
  Candidate candidate_;
  bool under_way_ = false;
};

}  // namespace brood
