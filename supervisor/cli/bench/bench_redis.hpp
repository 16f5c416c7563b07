#pragma once

#include <sys/types.h>

#include <string>

#include "shared/redis/address.hpp"

namespace brood {

// A redis-server for one benchmark, on a Unix socket.  It ends with this object, and with its process.
class BenchRedis {
 public:
  // Starts it in `directory` and waits until it answers.  `appendfsync` is "always", "everysec" or "no"; empty: no
  // append-only file.  Throws std::runtime_error if it does not answer.
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
