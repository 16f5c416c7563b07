#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/job/payload.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "worker/admission/quarantine.hpp"

namespace brood {

// Puts back jobs that wait because their class was in quarantine or paused, once they need not wait any more.  Of all
// workers, one at a time does so.
class QuarantinedJobs {
 public:
  // `knows` returns whether the worker has code for a class.
  QuarantinedJobs(Channel& redis, Quarantine& quarantine, std::function<bool(const std::string&)> knows);

  // Every few seconds asks Redis which classes are in quarantine, and puts back jobs that need not wait.  If the
  // quarantine is not configured, it does so at first, after each change of the pauses, and once a minute.  `paused`:
  // see Quarantine::note_pauses().
  void look(SteadyTime now, const NameSet* paused);

  // Whether jobs wait that may soon be put back: then call look() again before long.
  bool some_wait() const;

  // Call it when the worker has gone to another shard: forgets the jobs that wait in the former one.
  void forget();

 private:
  void note_changes(SteadyTime now);
  std::chrono::nanoseconds until_next_look(SteadyTime now) const;
  void read();
  bool may_release();
  void release(SteadyTime now);
  std::size_t release_from(std::size_t first, std::size_t& looked_at);
  enum class PutBack { done, gone, refused };
  PutBack put_back(const Payload& job);

  Channel& redis_;
  Quarantine& quarantine_;
  const std::function<bool(const std::string&)> knows_;
  NameSet paused_;  // at the last look
  int looks_after_change_ = 0;
  bool said_refused_ = false;
  std::int64_t waiting_ = 0;
  std::size_t looked_through_ = 0;       // how many of the waiting jobs, from the oldest on
  bool looks_again_ = false;             // besides those put back last, more may need no longer wait
  bool looks_at_all_ = false;            // after a change of the pauses, until it has come to the end
  std::optional<SteadyTime> next_look_;  // nullopt before the first
};

}  // namespace brood
