#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shared/redis/address.hpp"

namespace brood {

// How the `brood run` of a benchmark is set up.
struct BenchServerSettings {
  RedisAddress redis;
  std::string directory;  // for its configuration, log, scoreboard and state
  std::string brood;      // the path of the program
  std::string library, record;
  std::vector<std::string> queues;
  int workers = 1;
  int max_batch = 32;
  bool log_jobs = false;
  std::string poll_interval{};                                       // empty: brood's default
  std::function<std::vector<pid_t>(pid_t supervisor)> workers_of{};  // empty: by the scoreboard
};

// A `brood run`, which is stopped in order at the end of this object.
class BenchServer {
 public:
  // Starts it and waits until each worker has loaded the library.  Throws std::runtime_error if one does not.
  explicit BenchServer(const BenchServerSettings& settings);
  ~BenchServer();
  BenchServer(const BenchServer&) = delete;
  BenchServer& operator=(const BenchServer&) = delete;

  std::chrono::nanoseconds start_up() const { return start_up_; }
  pid_t supervisor() const { return pid_; }
  std::vector<pid_t> workers() const;  // by slot
  std::int64_t last_beat() const;      // its last heartbeat, on CLOCK_BOOTTIME; 0: never

  // Throws std::runtime_error, with the end of the log, if it has ended by itself.
  void expect_alive() const;
  // Stops it and returns how long that took.  Throws std::runtime_error if it did not end well.
  std::chrono::nanoseconds stop();

 private:
  BenchServerSettings settings_;
  pid_t pid_ = -1;
  std::chrono::nanoseconds start_up_{};
};

}  // namespace brood
