#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/running_lock.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/limits/take_limits.hpp"
#include "shared/store/outcome.hpp"
#include "worker/fenced_backoff.hpp"

namespace brood {

// The worker was told to end while it waited for Redis; nothing is settled that was not.
class ToldToStop {};

// The worker is wanted in another shard while it waits for the Redis of this one.  With nothing to settle it calls
// leave_behind(); else it exits as after ToldToStop.
class ShardIsAway {};

// What one worker holds in Redis, and the only code that settles and fetches it: the numbers, the incarnation, the
// order of the scoreboard's writes, and the resending of what was not answered are all here.
class FetchAndSettle {
 public:
  struct Setup {
    std::string identity;
    std::string identity_record;  // the value in brood:processes
    int slot = 0;
    DeadLimits dead_limits;
    std::vector<CapSettings> caps = {};  // of queues
    // Returns a new incarnation, never used before, from the supervisor.
    std::function<std::uint64_t()> new_incarnation;
    // The same, when what this one holds stays behind in a shard that is away.
    std::function<std::uint64_t()> incarnation_elsewhere = {};
    // Waits between two attempts while Redis is away; throws ToldToStop to give up, or ShardIsAway.
    std::function<void(std::chrono::milliseconds)> pause;
    // A descriptor that is readable when somebody wants this worker, who waits in Redis, and what to do then: see
    // shared/redis/connection.hpp.
    int wake_fd = -1;
    std::function<std::optional<std::chrono::milliseconds>()> woken = {};
    // Whether the draw of a fetch is no longer what would be drawn now; asked after what may have taken long.
    std::function<bool()> draw_is_out_of_date = {};
    // A wait has brought nothing, and another begins, unless this says no.
    std::function<bool()> waits_again = {};
    // It is wanted in another shard: a wait that is lost is left behind here.
    std::function<bool()> is_to_leave = {};
    // There is something else to look at: waits in Redis end after some seconds.
    std::function<bool()> looks_again_soon = {};
    // So many replicas are to confirm what is settled, and what is fetched before any of it begins.
    ReplicaWait wait = {};
    // They have not: whether the server is the master all the same.  If not, it is left, and all of it sent to the one
    // that is.
    std::function<bool()> is_at_master = {};
  };

  struct Entry {
    std::string payload;
  };
  struct Batch {
    std::string queue;           // bare name
    std::vector<Entry> entries;  // oldest first; entry i is entry i of the scoreboard
  };

  // The first incarnation is the one that the supervisor assigned in the slot; without one it asks for it.
  FetchAndSettle(Channel& redis, WorkerSlot& slot, Setup setup);

  // Settles the first `outcomes.size()` entries of the held batch, in order, and, if nothing is held then, fetches up
  // to `want` jobs from the first non-empty queue of `draw`.  Sends the same bytes again until it is answered; while
  // Redis is away it pauses between attempts.  Registers an incarnation first if there is none.  On FENCED it settles
  // what its own list still holds, if it has lost its field and nobody was there before; the other outcomes it drops,
  // counts and logs, takes a new incarnation and fetches anew, unless the draw is out of date by then.
  // After ToldToStop what was sent may or may not be applied: call nothing more but the destructor, and exit without
  // retiring.  The recovery, which knows the number, does the rest.
  // `wait_queue` is the queue that wait_for_job() will wait on, should nothing be found; empty: none.
  const Batch& settle_and_fetch(const std::vector<Outcome>& outcomes, const std::vector<std::string>& draw, int want,
                                const std::string& wait_queue = "");

  // Takes something for this incarnation, by the script that `asking` makes of all that it holds then: it goes with the
  // next settle of an outcome, so the job that it is for is settled at once, or with the recovery.  Where it is fenced
  // nothing may be begun; the next settle hears of it.
  using AskToTake = ScriptCall (*)(const Fence&, const IncarnationHoldings&);
  Taken take(IncarnationHoldings::Held wanted, AskToTake asking);
  // Lets go of what was taken for a job that is not begun after all.
  void let_go_of_taken();
  // Lets go of what a job held until its beginning.  That it begins a moment later, or never, does no harm.
  void let_go_before_begin(std::string_view payload);
  Fence fence() const { return {setup_.identity, field_, number_}; }

  // Those of many queues that hold jobs now, in the same order, for one round trip; a few, or all where Redis does not
  // tell, are returned unasked.
  std::vector<std::string> which_hold_jobs(std::vector<std::string> queues);

  const Batch& batch() const { return batch_; }

  // As who its jobs hold limits, until the next settle.
  LimitHolder holder() const { return {.identity = setup_.identity, .field = field_, .number = number_}; }

  // What came of waiting.
  enum class Waited {
    job,      // one is held now
    nothing,  // nobody pushed one, or the worker was woken
    refused,  // this Redis does not let us wait: for want of memory, by its rules, or for what the queue is
  };
  // Waits in Redis, after a settle that found nothing and named a `wait_queue`, until a job comes.  A connection that
  // is lost meanwhile leaves open whether one did: then this incarnation is given up, by the ordinary recovery,
  // repeated until it is answered, and the next settle takes a new one.
  // With a `draw`, whoever is let go without a job of that queue has fetched from these at that very moment: the fetch
  // lies in Redis behind the wait.  Where there may be queues beside these, one that is let go without any job returns.
  Waited wait_for_job(const std::vector<std::string>& draw = {}, int want = 1, bool may_be_more_queues = false);

  // Returns the whole held batch, of which nothing may have been begun, to the head of its queue.
  void give_back_unbegun();

  // Leaves in order: settles `outcomes`, gives anything unbegun back to the head of its queue, and removes the
  // incarnation.  Marks the slot retired.  Throws ToldToStop when pause() does.
  void retire(const std::vector<Outcome>& outcomes);

  // Leaves in order, as that, and goes on under a new incarnation, which may be in another shard.  All outcomes are
  // settled.
  void move();

  // Goes on under a new incarnation in another shard.  What this one may still hold in its own, of which nothing was
  // begun, the supervisor recovers when that can be reached: from here on nothing is sent there.
  void leave_behind();

 private:
  // Pauses between attempts, ever longer, and says once what they wait for and in the end how long it took.
  class Retries;

  // Whether a call is confirmed by replicas once it is answered.
  enum class Confirm {
    no,       // what is lost with the master does no harm
    always,   // it settles something
    fetched,  // if it has brought jobs
  };

  std::vector<LetGo> ends_with(const std::vector<Outcome>& outcomes) const;
  void take_incarnation(std::uint64_t incarnation);
  void register_incarnation();
  Settled settle(const std::vector<Outcome>& outcomes, const std::vector<std::string>& draw, int want,
                 const std::string& wait_queue);
  std::uint64_t client_id();
  std::optional<Waited> hold_what_came(const std::vector<Reply>& replies, bool all_were_asked);
  void hold_arrived(std::string payload);
  void leave_in_order(const std::vector<Outcome>& outcomes);
  void leave_incarnation();
  std::size_t settle_without_field(const std::vector<Outcome>& outcomes);
  void give_back_other_lists();
  Reply deliver(const ScriptCall& call, bool may_be_less = false, Confirm confirm = Confirm::no);
  struct Answer {
    Reply reply;
    bool holds = true;  // replicas have confirmed it, or this is the master all the same, or nobody is asked
  };
  Answer send_and_confirm(const ScriptCall& call, Confirm confirm);
  bool holds_without(std::int64_t replicas);
  bool wait_for_replicas(std::uint64_t written_on);
  Reply deliver_in_size(const std::vector<Outcome>& outcomes,
                        const std::function<ScriptCall(const std::vector<Outcome>&)>& settling);
  void bear_being_fenced();
  void hold(Settled settled);
  void leave_fenced(const std::vector<Outcome>& outcomes);
  void report_skipped(const std::vector<std::string>& queues);

  Channel& redis_;
  WorkerSlot& slot_;
  Setup setup_;
  Batch batch_;
  IncarnationHoldings held_;
  std::uint64_t incarnation_ = 0;
  std::string field_;
  std::uint64_t number_ = 0;
  bool registered_ = false;
  bool fetch_is_known_ = true;     // to Redis, the script behind a wait
  bool sizes_are_known_ = true;    // and that of queues' sizes
  bool in_doubt_ = false;          // what was sent last may have been applied before it was answered
  std::uint64_t unconfirmed_ = 0;  // since that was last said
  SteadyTime unconfirmed_reported_{};
  bool spent_ = false;                              // this incarnation was given up: the next settle takes a new one
  std::uint64_t client_id_ = 0, client_id_of_ = 0;  // and of which connection
  SteadyTime skipped_reported_{};
  FencedBackoff fences_;
  FencedBackoff::Fenced fenced_;
};

}  // namespace brood
