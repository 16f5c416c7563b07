#pragma once

#include <random>

#include "tests/support/brood_process.hpp"
#include "tests/support/redis_server.hpp"

namespace brood {

// Repeatable random numbers: prints the seed, and takes it from BROOD_TEST_SEED if that is set.
class Dice {
 public:
  Dice();

  int roll(int lowest, int highest);
  unsigned seed() const { return seed_; }

 private:
  unsigned seed_;
  std::mt19937 generator_;
};

// Kills the supervisor and all its children, as systemd does with a unit: none of them sees another end.
void kill_with_workers(BroodProcess& brood);

// Makes all retries due now (so that no test waits the fifteen seconds of a first retry), or all scheduled jobs.
void make_retries_due(RedisServer& redis);
void make_schedule_due(RedisServer& redis);

// The number of lines in the log with this event.
std::size_t times_logged(const BroodProcess& brood, const std::string& event);

// The sum of the numbers under `key` in all lines of the log with this event.
long sum_logged(const BroodProcess& brood, const std::string& event, const std::string& key);

}  // namespace brood
