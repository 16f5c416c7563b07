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

// The queues of one benchmark, with unique names and unknown to Sidekiq's Web UI.
class BenchQueues {
 public:
  BenchQueues(Connection& redis, int count);

  const std::vector<std::string>& names() const { return names_; }

  // Writes jobs to a place where no worker looks, spread evenly over the queues.  `progress` gets their number.
  using JobNumber = std::function<BenchJob(std::size_t)>;
  void lay_aside(std::size_t jobs, const JobNumber& job, const std::function<void(std::size_t)>& progress);
  // Moves all these jobs to the workers' queues at one moment.
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
