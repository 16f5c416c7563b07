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
    yes,      // it is pushed, with its lock if it has one
    refused,  // another job holds it, or this very one already; the pusher gets the holder
  };
  Taken take(const ClientPush& push);
  // It takes the place of the job that refused it.
  void hand_over(const ClientPush& push);

  // The decision about a job that would begin, see worker/fetching/unique_turn.hpp.
  enum class Turn {
    begins,   // it holds its lock, and no other
    waits,    // another holds that
    dropped,  // likewise, and it wants no turn
  };
  Turn take_turn(std::string_view payload);

  std::string holder(std::string_view lock);  // empty: none
  void let_go(std::string_view jid);          // of all that it holds

 private:
  struct Held {
    std::string jid;
    std::optional<SteadyTime> until;  // nullopt: as long as the job
  };
  using All = std::map<std::string, Held, std::less<>>;

  Held* find(std::string_view lock);
  bool take(std::string_view lock, std::string_view jid, std::chrono::milliseconds longest);

  All locks_;
  std::map<std::string, std::string, std::less<>> running_;  // lock -> jid, of those that are held while they run
};

}  // namespace brood::testing
