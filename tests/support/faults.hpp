#pragma once

#include <random>

#include "tests/support/brood_process.hpp"
#include "tests/support/redis_server.hpp"

namespace brood {

// Random numbers that can be had again: the seed is printed, and BROOD_TEST_SEED in the environment sets it.
class Dice {
 public:
  Dice();

  int roll(int lowest, int highest);
  unsigned seed() const { return seed_; }

 private:
  unsigned seed_;
  std::mt19937 generator_;
};

// SIGKILL for the supervisor and all its children, as systemd does to a unit: none of them sees another end.
void kill_with_workers(BroodProcess& brood);

// Makes all retries due now, so that no test waits the fifteen seconds of a first retry; or all that is scheduled.
void make_retries_due(RedisServer& redis);
void make_schedule_due(RedisServer& redis);

// How often a line of the log has this event.
std::size_t times_logged(const BroodProcess& brood, const std::string& event);

// The numbers under `key` in all lines of the log with this event, added up.
long sum_logged(const BroodProcess& brood, const std::string& event, const std::string& key);

}  // namespace brood
