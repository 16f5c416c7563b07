#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Makes Redis end the wait of workers, so that each obeys its last order or goes on with what it fetched.
class WorkerUnblocker {
 public:
  // `in_vain` is called for a worker that goes on waiting although Redis knows of no such wait: its connection was
  // lost, so it waits under another client id than the noted one.
  WorkerUnblocker(EventLoop& loop, AsyncConnection& redis, std::function<void(const SlotRecord&)> in_vain = {});
  WorkerUnblocker(const WorkerUnblocker&) = delete;
  WorkerUnblocker& operator=(const WorkerUnblocker&) = delete;

  // Ends the wait of one worker.  `record` must outlive this object.
  //
  // If the worker got an order, call this after its byte was sent, never before.  The worker notes that it waits, then
  // empties its control pipe and reads its flags, then waits.  So either it sees the byte or we see that it waits.  A
  // worker that is only to fetch gets no byte: Redis' answer shows whether Redis knew of the wait.
  void unblock(const SlotRecord& record);

  // Returns false for some minutes after Redis has refused the command, for instance by its access rules.
  bool allowed() const;

 private:
  // A worker that had noted its wait when Redis did not know of it yet.
  struct Attempt {
    const SlotRecord* record;
    std::uint64_t client;
    int number;
  };

  void send(const Attempt& attempt);
  void try_again();
  void report(const std::string& why);

  AsyncConnection::Scope redis_;
  const std::function<void(const SlotRecord&)> in_vain_;
  Timer next_round_;
  std::vector<Attempt> pending_;
  SteadyTime last_report_{}, refused_until_{};
};

}  // namespace brood
