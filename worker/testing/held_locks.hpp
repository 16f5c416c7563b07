#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "shared/api/push/push_writer.hpp"
#include "shared/base/clock.hpp"

namespace brood::testing {

// The locks of unique jobs, as Redis would keep them.
class HeldLocks {
 public:
  // The result of a push.
  enum class Taken {
    yes,      // the job is pushed, with its lock if it has one
    refused,  // another job or this job holds the lock already; the pusher gets the holder
  };
  Taken take(const ClientPush& push);
  // Gives the lock to the pushed job, which replaces the holder.
  void hand_over(const ClientPush& push);

  // The decision about a job that is to begin, see worker/admission/unique_turn.hpp.
  enum class Turn {
    begins,   // the job holds its lock alone, or has none
    waits,    // another job holds the lock
    dropped,  // another job holds the lock, and this job does not wait for it
  };
  Turn take_turn(std::string_view payload);

  std::string holder(std::string_view lock);  // the jid; empty: the lock is free
  void let_go(std::string_view jid);          // releases all locks of the job

 private:
  struct Held {
    std::string jid;
    std::optional<SteadyTime> until;  // nullopt: until the job ends
  };
  using All = std::map<std::string, Held, std::less<>>;

  Held* find(std::string_view lock);
  bool take(std::string_view lock, std::string_view jid, std::chrono::milliseconds longest);

  All locks_;
  std::map<std::string, std::string, std::less<>> running_;  // lock -> jid, for locks that are held while a job runs
};

}  // namespace brood::testing
