#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/address.hpp"
#include "shared/redis/connection.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/outcome.hpp"
#include "shared/store/script.hpp"

namespace brood {

// How a worker's calls reach Redis while it may be away, refuse them, or lose what it has confirmed: each is sent again
// until it is answered; where there is no memory for the answer, std::bad_alloc is thrown.  Says in the log when that
// takes long, and that it is over.
class Delivery {
 public:
  struct Setup {
    int slot = 0;
    // Waits between two attempts; may throw to give up.
    std::function<void(std::chrono::milliseconds)> pause;
    // How many replicas must confirm what is to be confirmed.
    ReplicaWait wait = {};
    // Asked when too few replicas have confirmed: whether the server is the master all the same.  If not, the same is
    // sent again to the server that is.
    std::function<bool()> is_at_master = {};
  };
  Delivery(Channel& redis, WorkerSlot& slot, Setup setup);

  // Whether a call is confirmed by replicas once it is answered.
  enum class Confirm {
    no,       // what is lost with the master does no harm
    always,   // it settles something
    fetched,  // if it has brought jobs
  };

  // Sends one call until it is answered by something other than a refusal.  A refusal has applied nothing; a lost
  // connection leaves open whether it was applied, now or later: the call must be harmless when it is repeated.
  Reply send(const ScriptCall& call, Confirm confirm = Confirm::no);

  // The same for a call that settles `outcomes`.  Redis has applied nothing of what it refuses for its size, and would
  // refuse it for ever: then less of them is sent.
  Reply send_in_size(const std::vector<Outcome>& outcomes,
                     const std::function<ScriptCall(const std::vector<Outcome>&)>& settling);

  // Whether what was sent last may have been applied before it was answered.
  bool in_doubt() const { return in_doubt_; }

  // Makes the attempt again until the connection lasts and no reply is unexpected.
  void until_done(const std::function<void()>& attempt);

  // For what came by a command that was sent elsewhere: whether it is confirmed.  Waits for all that was written on the
  // connection `written_on`.  On another connection the replicas of another server might be asked, which know nothing
  // of it.
  bool asks_replicas() const { return setup_.wait.replicas > 0; }
  bool is_confirmed(std::uint64_t written_on);
  static constexpr std::string_view not_confirmed =
      "no replica confirms it, and no other server confirms that this is the master";

 private:
  // Pauses between attempts, longer each time.  Logs what they wait for, and in the end how long it took.
  class Retries;

  struct Answer {
    Reply reply;
    bool holds = true;  // replicas have confirmed it, or this is the master all the same, or none is to confirm
  };
  Reply send_again(const ScriptCall& call, bool may_be_less, Confirm confirm);
  Answer send_and_confirm(const ScriptCall& call, Confirm confirm);
  bool holds_without(std::int64_t replicas);

  Channel& redis_;
  WorkerSlot& slot_;
  const Setup setup_;
  bool in_doubt_ = false;
  std::uint64_t unconfirmed_ = 0;  // calls since the last log line about them
  SteadyTime unconfirmed_reported_{};
};

}  // namespace brood
