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

// Sends a worker's calls to Redis, which may be away, refuse them, or lose what it has confirmed.  Each call is sent
// again until it is answered.  Throws std::bad_alloc if there is no memory for the answer.  Logs when that takes long,
// and when it is over.
class Delivery {
 public:
  struct Setup {
    int slot = 0;
    // Waits between two attempts; may throw to give up.
    std::function<void(std::chrono::milliseconds)> pause;
    // How many replicas must confirm a call that needs confirmation.
    ReplicaWait wait = {};
    // Whether the server is the master all the same, asked when too few replicas have confirmed.  If not, the call is
    // sent again to the server that is the master.
    std::function<bool()> is_at_master = {};
  };
  Delivery(Channel& redis, WorkerSlot& slot, Setup setup);

  // Whether replicas must confirm a call once it is answered.
  enum class Confirm {
    no,       // its loss with the master does no harm
    always,   // it settles something
    fetched,  // only if it has brought jobs
  };

  // Sends one call until it is answered by something other than a refusal.  A refusal has applied nothing.  After a
  // lost connection it is unknown whether the call was applied, or will be: it must be harmless when it is repeated.
  Reply send(const ScriptCall& call, Confirm confirm = Confirm::no);

  // The same for a call that settles `outcomes`.  If Redis refuses it for its size, it has applied nothing, and would
  // always refuse it: then the outcomes are sent in a shorter form.
  Reply send_in_size(const std::vector<Outcome>& outcomes,
                     const std::function<ScriptCall(const std::vector<Outcome>&)>& settling);

  // Whether the last call may have been applied by an earlier sending, before the one that was answered.
  bool in_doubt() const { return in_doubt_; }

  // Calls `attempt` again until the connection is not lost and no reply is unexpected.
  void until_done(const std::function<void()>& attempt);

  // Whether replicas have confirmed jobs that came by a command which this class did not send.  Waits for all writes on
  // the connection `written_on`.  If there is another connection by now, returns false: it may be to another server,
  // whose replicas do not know of those writes.
  bool asks_replicas() const { return setup_.wait.replicas > 0; }
  bool is_confirmed(std::uint64_t written_on);
  static constexpr std::string_view not_confirmed =
      "no replica confirms it, and no other server confirms that this is the master";

 private:
  // Pauses between attempts, longer each time.  Logs the reason, and in the end how long it took.
  class Retries;

  struct Answer {
    Reply reply;
    bool holds = true;  // replicas have confirmed it, need not confirm it, or the server is the master all the same
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
