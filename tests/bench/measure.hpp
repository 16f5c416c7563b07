#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <hiredis/hiredis.h>
#include <sys/types.h>

namespace brood {

// CLOCK_MONOTONIC in nanoseconds: the same for every process of the machine.
std::int64_t monotonic_ns();

// The value below which `share` of the values lie; 0.5 is the median.
double quantile(std::vector<double> values, double share);

// Child processes that take jobs from a queue by plain BRPOP, which loses what a killed process holds: the least that
// any server on Redis lists can do.  With a `file`, each appends the latency of a job whose first argument is the time
// it was pushed, as BenchStamp does.
class BrpopWorkers {
 public:
  BrpopWorkers(const std::string& socket, const std::string& queue, int count, const std::string& file = "");
  ~BrpopWorkers();
  BrpopWorkers(const BrpopWorkers&) = delete;
  BrpopWorkers& operator=(const BrpopWorkers&) = delete;

 private:
  std::vector<pid_t> pids_;
};

// Latencies that jobs appended to `file` so far, in microseconds.
std::vector<double> read_latencies(const std::string& file);

// Requests a second that redis-benchmark reaches with one command, `clients` connections and no pipeline.
double redis_benchmark(const std::string& socket, const std::string& test, long requests, int clients);

// What a program prints: a line per figure for people, or one JSON object.
class Report {
 public:
  explicit Report(bool json) : json_(json) {}
  ~Report();
  void add(const std::string& name, double value, const std::string& unit);

 private:
  struct Figure {
    std::string name;
    double value;
    std::string unit;
  };
  bool json_;
  std::vector<Figure> figures_;
};

}  // namespace brood
