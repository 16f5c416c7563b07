#pragma once

#include <sys/types.h>

#include <string>

#include "shared/redis/address.hpp"

namespace brood {

// A redis-server of a benchmark's own, on a Unix socket.  It ends with this object, and with its process.
class BenchRedis {
 public:
  // Starts it in `directory` and waits until it answers.  `appendfsync`: "always", "everysec" or "no"; empty: it keeps
  // no append-only file.  Throws std::runtime_error when it does not answer.
  BenchRedis(const std::string& directory, const std::string& appendfsync);
  ~BenchRedis();
  BenchRedis(const BenchRedis&) = delete;
  BenchRedis& operator=(const BenchRedis&) = delete;

  const RedisAddress& address() const { return address_; }

 private:
  void wait_for_answer() const;

  RedisAddress address_;
  pid_t pid_;
};

}  // namespace brood
