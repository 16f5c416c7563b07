#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/running_lock.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/limits/take_limits.hpp"
#include "shared/store/outcome.hpp"
#include "worker/fetching/delivery.hpp"
#include "worker/fetching/fenced_backoff.hpp"

namespace brood {

// Thrown when the worker is wanted in another shard while it waits for the Redis of this one.  If it has nothing to
// settle, it then calls leave_behind(); otherwise it exits as after ToldToStop.
class ShardIsAway {};

// What one worker holds in Redis, and the only code that settles and fetches it: the numbers, the incarnation and the
// order of the scoreboard's writes are all here.
class FetchAndSettle {
 public:
  struct Setup {
    std::string identity;
    std::string identity_record;  // the value in brood:processes
    int slot = 0;
    DeadLimits dead_limits;
    std::function<const std::vector<CapSettings>&()> caps = {};  // of queues; none: there are none
    // Returns a new incarnation, never used before, from the supervisor.
    std::function<std::uint64_t()> new_incarnation;
    // The same for leave_behind(): what the old incarnation may hold stays in a shard that is away.
    std::function<std::uint64_t()> incarnation_elsewhere = {};
    // Waits between two attempts while Redis is away; throws ToldToStop to give up, or ShardIsAway.
    std::function<void(std::chrono::milliseconds)> pause;
    // `wake_fd` is readable when somebody wants this worker while it waits in Redis; `woken` says what to do then: see
    // shared/redis/connection.hpp.
    int wake_fd = -1;
    std::function<std::optional<std::chrono::milliseconds>()> woken = {};
    // Whether other queues would be drawn now than those of the fetch under way; asked after calls that may have taken
    // long.
    std::function<bool()> draw_is_out_of_date = {};
    // Asked when a wait has brought nothing.  False: no other wait begins.
    std::function<bool()> waits_again = {};
    // Whether the worker is wanted in another shard.  If so, and the connection is lost during a wait, ShardIsAway is
    // thrown.
    std::function<bool()> is_to_leave = {};
    // Whether the worker has something else to look at soon.  If so, a wait in Redis ends after some seconds.
    std::function<bool()> looks_again_soon = {};
    // How many replicas must confirm what is settled, and what is fetched before any of it begins.
    ReplicaWait wait = {};
    // Asked when too few replicas have confirmed: whether the server is the master all the same.  If not, the worker
    // disconnects and sends the same again to the server that is.
    std::function<bool()> is_at_master = {};
  };

  struct Entry {
    std::string payload;
  };
  struct Batch {
    std::string queue;           // bare name
    std::vector<Entry> entries;  // oldest first; entry i is entry i of the scoreboard
  };

  // The first incarnation is the one that the supervisor assigned in the slot; if the slot has none, the worker asks
  // the supervisor for one.
  FetchAndSettle(Channel& redis, WorkerSlot& slot, Setup setup);

  // Settles the first `outcomes.size()` entries of the held batch, in order, and, if nothing is held then, fetches up
  // to `want` jobs from the first non-empty queue of `draw`.  Sends the same bytes again until it is answered; while
  // Redis is away it pauses between attempts.  Registers an incarnation first if there is none.  On FENCED, if only the
  // field of this incarnation is lost and nobody has recovered its list, it settles what the list still holds.  The
  // other outcomes it drops, counts and logs.  Then it takes a new incarnation and fetches again, unless the draw is
  // out of date by then.
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
  // Takes the lock of a job that was pushed while another held it: the job holds it then, not this incarnation.
  Taken take_for_job(std::string_view lock, std::string_view jid, std::chrono::milliseconds longest);
  // Lets go of what a job held until its beginning.  That it begins a moment later, or never, does no harm.
  bool let_go_before_begin(const std::vector<LetGo>& all);
  Fence fence() const { return {setup_.identity, field_, number_}; }

  const Batch& batch() const { return batch_; }

  // As who its jobs hold limits, until the next settle.
  LimitHolder holder() const { return {.identity = setup_.identity, .field = field_, .number = number_}; }

  // What came of waiting.
  enum class Waited {
    job,      // one is held now
    nothing,  // nobody pushed one, or the worker was woken
    refused,  // this Redis does not let us wait: for want of memory, by its rules, or for what the queue is
  };
  // Waits in Redis, after a settle that found nothing and named a `wait_queue`, until a job comes.  When the connection
  // is lost meanwhile, nobody knows whether a job came.  Then the worker recovers its own incarnation as that of a dead
  // worker, again and again until Redis answers, and the next settle takes a new one.
  // With a `draw`, Redis gets the fetch from these queues behind the wait: a wait that ends without a job is followed
  // by the fetch at once.  With `may_be_more_queues`, a worker whose wait and fetch bring no job returns instead of
  // waiting on.
  Waited wait_for_job(const std::vector<std::string>& draw = {}, int want = 1, bool may_be_more_queues = false);

  // Gives the whole held batch back to the head of its queue.  Does nothing if its first job has begun.
  void give_back_unbegun();

  // Leaves in order: settles `outcomes`, gives anything unbegun back to the head of its queue, and removes the
  // incarnation.  Marks the slot retired.  Throws ToldToStop when pause() does.
  void retire(const std::vector<Outcome>& outcomes);

  // Leaves in order as retire() does, but goes on under a new incarnation, which may be in another shard.  All outcomes
  // must be settled before.
  void move();

  // Goes on under a new incarnation in another shard.  Sends nothing more to the old shard.  What the old incarnation
  // may still hold there was not begun: the supervisor recovers it when that shard can be reached.
  void leave_behind();

 private:
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
  void bear_being_fenced();
  void hold(Settled settled);
  void leave_fenced(const std::vector<Outcome>& outcomes);
  void report_skipped(const std::vector<std::string>& queues);
  void report_no_lock(const RedisKey& key);

  Channel& redis_;
  WorkerSlot& slot_;
  Setup setup_;
  Delivery delivery_;
  Batch batch_;
  IncarnationHoldings held_;
  std::uint64_t incarnation_ = 0;
  std::string field_;
  std::uint64_t number_ = 0;
  bool registered_ = false;
  bool spent_ = false;                              // this incarnation was given up: the next settle takes a new one
  std::uint64_t client_id_ = 0, client_id_of_ = 0;  // the id, and the connection that it is of
  SteadyTime skipped_reported_{}, no_locks_since_{};
  std::set<std::string> no_locks_;  // reported since then
  FencedBackoff fences_;
  FencedBackoff::Fenced fenced_;
};

}  // namespace brood
