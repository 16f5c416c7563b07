#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"

namespace brood {

struct BenchJob {
  std::string job_class, args;
  bool retry = false;
};

// The queues of one benchmark.  Their names are unique, and Sidekiq's Web UI does not list them.
class BenchQueues {
 public:
  BenchQueues(Connection& redis, int count);

  const std::vector<std::string>& names() const { return names_; }

  // Writes jobs to a key from which no worker fetches, spread evenly over the queues.  `progress` gets their number.
  using JobNumber = std::function<BenchJob(std::size_t)>;
  void lay_aside(std::size_t jobs, const JobNumber& job, const std::function<void(std::size_t)>& progress);
  // Moves all these jobs to the workers' queues in one step.
  void offer();

  // Pushes one job that records its latency to queue number `queue`.
  void push_traced(std::size_t queue);

  // Deletes their content.
  void remove();

 private:
  Connection& redis_;
  std::vector<std::string> names_;
  std::vector<bool> has_aside_;
};

}  // namespace brood
