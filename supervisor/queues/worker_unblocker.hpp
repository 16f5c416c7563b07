#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Has Redis let go of workers that wait there, so that each follows what it was just told, or has what it fetched.
class WorkerUnblocker {
 public:
  WorkerUnblocker(EventLoop& loop, AsyncConnection& redis);
  WorkerUnblocker(const WorkerUnblocker&) = delete;
  WorkerUnblocker& operator=(const WorkerUnblocker&) = delete;

  // Of one who is to follow something, after the byte that says so and never before it: a worker says that it waits,
  // then empties its control pipe and reads its flags, then waits, so that either it sees the byte or we see that it
  // waits. Of one who is to fetch only, without a byte: the answer tells whether Redis knew of its wait. `record` must
  // outlive this object.
  void unblock(const SlotRecord& record);

  // False for some minutes after Redis has refused it, for what its rules say.
  bool allowed() const;

 private:
  // A worker that said it waits when Redis did not know of it yet.
  struct Attempt {
    const SlotRecord* record;
    std::uint64_t client;
    int number;
  };

  void send(const Attempt& attempt);
  void try_again();
  void report(const std::string& why);

  AsyncConnection::Scope redis_;
  Timer next_round_;
  std::vector<Attempt> pending_;
  SteadyTime last_report_{}, refused_until_{};
};

}  // namespace brood
