#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/outcome.hpp"

namespace brood {

// Why a fetched job does not begin now, or does not go on: no attempt is charged, and it runs later.  Pure.
//
//   why          it waits in                      what brings it back
//   cap          the queue "<its queue>@<cap>"    a fetch that finds a free place under the cap
//   quarantine   `brood:quarantined`              a worker with other libraries, or a person who releases its class
//   pause        `brood:quarantined`              a worker, once its class is resumed
//   sequence     the head of its queue            the next fetch, which lets it wait for its sequence
//   lock         `schedule`                       the scheduler, in 1 to 10 s
//   behind       its sequence, as the next        the end of the job that has its lock and waited behind it
//   limit        `schedule`                       the scheduler, after `delay`
//   interrupted  `schedule`; the back of its      the scheduler, after `delay`; a fetch
//                queue where `delay` is 0
//
// places_of_jobs.hpp lists these places for code that looks for a job.  The time of `expires_in` runs on wherever a job
// waits: a job that goes to `schedule`, or is enqueued anew, stores the end of that time as `expiry`.  A payload in a
// set names the queue that it came from, since nothing else there does.
struct Deferral {
  enum class Why { cap, quarantine, pause, sequence, lock, behind, limit, interrupted } why = Why::cap;
  std::string into = {};               // cap: the name of the queue that it waits in
  std::chrono::milliseconds delay{0};  // limit, interrupted

  // After an interruption the job may choose its delay.  If it chooses none and has run for less than a second, it
  // waits a second: otherwise it would spin between queue and worker.
  static Deferral interrupted(std::chrono::nanoseconds ran_for, std::chrono::milliseconds delay);
};

// How a job fetched from `queue` is settled.  `now` is Redis's time; a cap needs none.
Outcome defer(const Payload& job, const Deferral& deferral, const std::string& queue, WallTime now);

// How often in a row the job was deferred for a limit: `overrated` in its payload, at most a million.
inline constexpr std::int64_t most_deferrals = 1'000'000;
std::int64_t times_over_limit(const Payload& job);
// Resets that count in a job that has failed; nullopt if it has none.
std::optional<Payload> without_times_over_limit(const Payload& job);

}  // namespace brood
