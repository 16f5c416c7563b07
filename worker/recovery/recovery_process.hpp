#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "shared/redis/connection.hpp"

namespace brood {

// How a child of recovery speaks with Redis, and how it ends.

class RecoveryConnection : public Connection {
 public:
  // The supervisor ends a child of which `progress` stands still for 5 s.  Bytes count, and each step that is done:
  // an answer is one, however long Redis took, so that a slow Redis is not taken for a payload that ends its readers.
  explicit RecoveryConnection(const RedisAddress& redis, std::atomic<std::uint64_t>* progress = nullptr);

  Reply call(const Command& command) override;
  std::vector<Reply> call_patiently(const std::vector<Command>& commands, const Patience& patience) override;
  std::vector<Reply> pipeline(const std::vector<Command>& commands);
  void step_done() const;

 private:
  std::atomic<std::uint64_t>* progress_;  // null: not watched
};

// Does the work and returns the child's exit status: 0; 75 when Redis went away or refused something, since a recovery
// can be repeated without harm; 78 when a library cannot be used.
int end_of_recovery(const std::function<void()>& work);

}  // namespace brood
