#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shared/redis/address.hpp"
#include "shared/redis/connection.hpp"
#include "shared/scoreboard/bench_record.hpp"
#include "supervisor/cli/bench/bench_directory.hpp"
#include "supervisor/cli/bench/bench_queues.hpp"
#include "supervisor/cli/bench/bench_report.hpp"
#include "supervisor/cli/bench/bench_server.hpp"

namespace brood {

// How a benchmark is set up.
struct BenchSettings {
  RedisAddress redis;
  std::string brood;    // the path of the program
  std::string library;  // of the jobs
  int workers = 1;
  int queues = 1;                     // of the benchmark's own
  std::vector<std::string> others{};  // additional ones that the server serves, before the others
  std::size_t traces = 0;             // how many jobs may record when they began and ended
  std::chrono::nanoseconds longest_job{};
  int max_batch = 32;
  bool log_jobs = false;
  std::string poll_interval{};  // empty: brood's default
  // Finds a supervisor's workers, for a program of another version whose scoreboard we cannot read.
  std::function<std::vector<pid_t>(pid_t supervisor)> workers_of{};
};

// One benchmark: a server, its queues, and what its jobs record.  A function that waits throws Interrupt if this
// program was interrupted, and std::runtime_error if the server has ended or makes no progress.
class Bench {
 public:
  explicit Bench(const BenchSettings& settings);

  Connection& redis() { return redis_; }
  BenchQueues& queues() { return queues_; }
  BenchRecord& record() { return record_; }
  BenchServer& server() { return server_; }

  // Afterwards each worker has run jobs and knows how many it can fetch at once.
  void warm_up();

  // Pushes all jobs before the first is fetched.  The share of the ideal is measured over the jobs that leave traces.
  // Resources are counted until all jobs are performed and `settled` returns.
  BenchThroughput measure_throughput(
      std::size_t jobs, const BenchQueues::JobNumber& job, const std::function<void()>& settled = [] {});

  // Pushes one job at a time to an idle server.
  BenchLatency measure_latency(std::size_t jobs);
  BenchIdle measure_idle(double seconds);
  BenchMemory measure_memory();

  void wait_until_performed(std::uint64_t jobs, const char* label);

 private:
  struct Usage {
    BenchCpu cpu;
    std::int64_t commands = 0, requests = 0;
  };
  Usage usage_before();
  Usage usage_since(const Usage& before);
  Usage usage(std::int64_t questions);
  std::chrono::nanoseconds time_in_jobs() const;

  const BenchSettings settings_;
  const BenchDirectory directory_;
  Connection redis_;
  BenchQueues queues_;
  BenchRecord record_;
  BenchServer server_;
};

}  // namespace brood
