#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {

// Processor time in seconds.
struct BenchCpu {
  double supervisor = 0, workers = 0, redis = 0;
};

struct BenchThroughput {
  std::size_t jobs = 0;
  double seconds = 0;  // from the start of the first job to the end of the last
  double jobs_per_second = 0;
  std::optional<double> share_of_ideal;  // of what workers without any pause between jobs would achieve
  BenchCpu cpu;
  double redis_commands_per_job = 0, redis_requests_per_job = 0;
};

// From the push to the job's first line, in microseconds.
struct BenchLatency {
  std::size_t jobs = 0;
  double p50 = 0, p99 = 0, p999 = 0, max = 0;
};

struct BenchIdle {
  double seconds = 0;
  BenchCpu cpu;
  double redis_commands_per_second = 0, redis_requests_per_second = 0;
};

// Private memory in KB.
struct BenchMemory {
  std::uint64_t supervisor = 0, worker_median = 0, worker_largest = 0, redis = 0;
};

struct BenchReport {
  int workers = 0, queues = 0;
  double job_ms = 0;
  std::string redis, redis_version;
  double start_seconds = 0;  // until each worker was ready
  double stop_seconds = 0;
  std::optional<BenchThroughput> throughput;
  std::optional<BenchLatency> latency;
  std::optional<BenchIdle> idle;
  BenchMemory memory;
};

// For people.
std::string bench_text(const BenchReport& report, const Style& style);
// Stable for programs: members are added, never renamed or removed.
std::string bench_json(const BenchReport& report);

}  // namespace brood
