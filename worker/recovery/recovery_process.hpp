#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "shared/redis/connection.hpp"

namespace brood {

// The connection of a child of recovery, and its exit status.

class RecoveryConnection : public Connection {
 public:
  // The supervisor kills a child whose `progress` stands still for 5 s.  Bytes count as progress, and so does each
  // step.  An answer of Redis is a step, however long it took, so that a slow Redis is not taken for a payload that
  // hangs its readers.
  explicit RecoveryConnection(const RedisAddress& redis, std::atomic<std::uint64_t>* progress = nullptr);

  Reply call(const Command& command) override;
  std::vector<Reply> call_patiently(const std::vector<Command>& commands, const Patience& patience) override;
  std::vector<Reply> pipeline(const std::vector<Command>& commands);
  void step_done() const;

 private:
  std::atomic<std::uint64_t>* progress_;  // null: not watched
};

// Does the work and returns the child's exit status.  0: done.  75: Redis went away or refused something; the recovery
// can be repeated without harm.  78: a library cannot be used.
int end_of_recovery(const std::function<void()>& work);

}  // namespace brood
