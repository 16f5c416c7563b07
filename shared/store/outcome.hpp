#pragma once

#include <cstdint>
#include <string>

namespace brood {

// How one entry of a batch is settled.
struct Outcome {
  enum class Kind {
    acknowledge,   // done, or stored nowhere
    retry,         // ZADD retry score payload
    move_to_dead,  // ZADD dead score payload, and the dead set is trimmed
    schedule,      // ZADD schedule score payload (a job that interrupted itself within its first second)
    requeue_back,  // LPUSH: behind what waits
    requeue_head,  // RPUSH: next to run
  } kind = Kind::acknowledge;
  std::string payload;  // empty for acknowledge
  double score = 0;     // seconds; for retry, move_to_dead, schedule
};

// How far the dead set may grow: the settings dead_max_jobs and dead_timeout.  `now` is the wall clock in seconds.
struct DeadLimits {
  std::int64_t max_jobs = 10'000;
  std::int64_t timeout_seconds = 15'552'000;
};

}  // namespace brood
