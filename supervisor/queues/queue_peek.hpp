#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/redis/async_connection.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// A blocking look at the tail of a queue that moves nothing, on a connection of its own.  It ends when a job lies
// there, or after a while.  On the same connection follows the command that frees one worker from its wait.  So Redis
// frees the worker the moment the job comes, without us: the worker has its job before we hear of it.
class QueuePeek {
 public:
  struct Candidate {
    int slot = -1;             // -1: nobody
    std::uint64_t client = 0;  // the id of the connection on which it waits in Redis
  };
  struct Answer {
    std::string job;      // empty: none came
    std::string refusal;  // why Redis does not let us peek; empty: it does, or the connection was lost
    bool freed = false;   // the candidate, whether or not a job came
  };
  struct Events {
    std::function<void()> connected;
    std::function<void(QueuePeek&, const Answer&)> answered;
  };
  QueuePeek(EventLoop& loop, const RedisAddress& address, Events events);

  bool connected() const { return connection_.connected(); }

  // It must be connected, and no peek under way.
  void begin(const std::string& queue, Candidate candidate);

  bool under_way() const { return under_way_; }
  const std::string& queue() const { return queue_; }  // the last one
  Candidate candidate() const { return candidate_; }

  SteadyTime needed{};  // when it last was

 private:
  const Events events_;
  AsyncConnection connection_;
  std::string queue_;
  Candidate candidate_;
  bool under_way_ = false;
};

}  // namespace brood
