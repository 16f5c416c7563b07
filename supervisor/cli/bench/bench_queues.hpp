#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"

namespace brood {

// The queues of one benchmark: of names that nobody else uses, and unknown to Sidekiq's Web UI.
class BenchQueues {
 public:
  BenchQueues(Connection& redis, int count);

  const std::vector<std::string>& names() const { return names_; }

  // Writes jobs where no worker looks, spread evenly over the queues.  `progress` is told how many there are.
  void lay_aside(std::size_t jobs, const std::string& job_class, const std::function<std::string(std::size_t)>& args,
                 const std::function<void(std::size_t)>& progress);
  // Gives the workers all that was laid aside, at one moment.
  void offer();

  // Pushes one job that notes its latency to queue number `queue`.
  void push_traced(std::size_t queue);

  // Deletes whatever lies in them.
  void remove();

 private:
  Connection& redis_;
  std::vector<std::string> names_;
  std::vector<bool> has_aside_;
};

}  // namespace brood
