#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/running_lock.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/limits/take_limits.hpp"
#include "shared/store/outcome.hpp"
#include "worker/session/delivery.hpp"
#include "worker/session/fenced_backoff.hpp"

namespace brood {

// Thrown by a pause when the worker is wanted in another shard while the Redis of this one is away.
class ShardIsAway {};

// How a worker may leave a shard that is away.
enum class Leaving {
  not_yet,  // its slot does not have the whole outcome of some job
  goes_on,  // it has nothing to settle: the jobs that it holds were not begun, and it goes on in another shard
  ends,     // its slot has the outcome of each job, for the recovery when the shard is back
};
// `has_outcomes`: whether jobs have run that are not known to be settled.
Leaving how_to_leave(const WorkerSlot& slot, bool has_outcomes);

// The jobs that one worker holds in Redis.  Only this code fetches and settles them: it keeps the numbers, the
// incarnation and the order of writes to the scoreboard.  While Redis is away each call pauses and sends the same
// again; it returns once Redis has answered.
class Session {
 public:
  struct Setup {
    std::string identity;
    std::string identity_record;  // the value in brood:processes
    int slot = 0;
    DeadLimits dead_limits;
    // How many replicas must confirm a settle, and a fetch before any of its jobs begins.
    ReplicaWait wait = {};
    // Waits between two attempts while Redis is away; throws ToldToStop or ShardIsAway to give up.  Then the last
    // request may or may not be applied.  After ToldToStop call only the destructor, and exit without retiring: the
    // recovery, which knows the number, does the rest.
    std::function<void(std::chrono::milliseconds)> pause;
    // Whether the server is the master all the same, asked when too few replicas have confirmed.  If not, the worker
    // disconnects, and sends the same again to the server that is the master.
    std::function<bool()> is_at_master = {};
  };

  struct Batch {
    std::string queue;                 // bare name
    std::vector<std::string> entries;  // payloads, oldest first; entry i is entry i of the scoreboard
  };

  // The session begins under the incarnation that the supervisor has assigned in the slot, if there is one.
  Session(Channel& redis, WorkerSlot& slot, Setup setup);

  // A fetch of up to `most` jobs, from the first queue of `draw` that is not empty.
  struct Want {
    std::vector<std::string> draw = {};
    int most = 0;
    std::string wait_queue = {};                     // that wait() will wait on if nothing is found; empty: none
    const std::vector<CapSettings>* caps = nullptr;  // of queues; null: there are none
    const ServedTenants* tenants = nullptr;          // must be set if the draw has some
  };
  enum class Next {
    held,     // batch() has the held jobs; it may be empty
    renewal,  // begin() a new incarnation: there was none, it was given up, or Redis has fenced it.  Nothing is held
  };
  // Settles the first `outcomes.size()` entries of the held batch, in order, and then fetches if nothing is held.
  // Registers the incarnation first, if that was not done.  If this incarnation is fenced only because its field is
  // lost, and no recovery has touched its list, settles the outcomes of jobs that the list still holds.  All other
  // outcomes are dropped, counted and logged.
  Next next(const std::vector<Outcome>& outcomes, const Want& want);

  // Goes on under an incarnation that was never used before.
  void begin(std::uint64_t incarnation);

  const Batch& batch() const { return batch_; }
  // Whether a queue has jobs although the last next() fetched nothing: then call next() again instead of waiting.
  bool has_more() const { return has_more_; }

  // How to wait in Redis for a job.
  struct Wait {
    // Redis gets a fetch of up to `most` jobs from these queues right behind the wait.  So if the wait ends without a
    // job, Redis runs the fetch at once.
    std::vector<std::string> draw = {};
    int most = 1;
    bool may_be_more_queues = false;  // whether the worker serves more queues than `draw`
    bool looks_again_soon = false;    // the worker has something else to look at: waits for some seconds only
    int wake_fd = -1;                 // readable when the worker is wanted while it waits
    // Called when `wake_fd` is readable: see Patience in shared/redis/connection.hpp.
    std::function<std::optional<std::chrono::milliseconds>()> woken = {};
  };
  enum class Waited {
    job,      // one is held now
    nothing,  // none was pushed, or the worker was woken
    passed,   // no job was pushed in all that time: it may wait again
    refused,  // Redis refuses to let us wait: for want of memory, of a right, or since the queue is no list
    lost,     // the connection is lost, and a job may have come: give_up(), or leave_behind()
  };
  // Waits in Redis, after a next() that found nothing and named a `wait_queue`.
  Waited wait(const Wait& how);

  // Takes something for this incarnation.  `asking` makes the script from all that the incarnation then holds.  The
  // thing is let go of by the next settle of an outcome or by the recovery, so settle the job that it is for at once.
  // If the answer is `fenced`, nothing may be begun; the next settle is fenced, too.
  using AskToTake = ScriptCall (*)(const Fence&, const IncarnationHoldings&);
  Taken take(IncarnationHoldings::Held wanted, AskToTake asking);
  // Lets go of what was taken for a job that is not begun after all.
  void let_go_of_taken();
  // Takes the lock of a job that was pushed while another held it.  The job then holds it, not this incarnation.
  Taken take_for_job(std::string_view lock, std::string_view jid, std::chrono::milliseconds longest,
                     std::string_view sequence);
  // Asks whether a job is the next one of its sequence; if so, it holds the sequence.
  Taken enter_sequence(std::string_view name, std::string_view jid);
  // Lets go of what a job held only until its beginning.  It does no harm if the job begins a moment later, or never.
  // Returns false if the incarnation is fenced.
  bool let_go_before_begin(const std::vector<LetGo>& all);
  Fence fence() const { return {setup_.identity, field_, number_}; }

  // The holder in whose name its jobs hold limits, until the next settle.
  LimitHolder holder() const { return {.identity = setup_.identity, .field = field_, .number = number_}; }

  // Gives the whole held batch back to the head of its queue.  Does nothing if its first job has begun.
  void give_back_unbegun();

  // Leaves in order: settles `outcomes`, gives the jobs that have not begun back to the head of their queue, and
  // removes the incarnation.  After that begin() another one, in this shard or another.
  void leave(const std::vector<Outcome>& outcomes = {});
  // Leaves in order for good: also marks the slot retired.
  void retire(const std::vector<Outcome>& outcomes);
  // After a wait that was lost: recovers its own incarnation as that of a dead worker, until Redis answers.
  void give_up();
  // Sends nothing more to this shard.  Jobs that it may still hold there were not begun: the supervisor recovers them
  // when that shard can be reached.
  void leave_behind();

 private:
  std::vector<LetGo> ends_with(const std::vector<Outcome>& outcomes) const;
  void register_incarnation();
  Settled settle(const std::vector<Outcome>& outcomes, const Want& want);
  std::uint64_t client_id();
  Waited hold_what_came(const std::vector<Reply>& replies, bool all_were_asked);
  void leave_incarnation();
  std::size_t settle_without_field(const std::vector<Outcome>& outcomes);
  void hold(Settled settled);
  bool note_soon();
  FencedBackoff::Fenced leave_fenced(const std::vector<Outcome>& outcomes);
  void back_off(const FencedBackoff::Fenced& fenced);
  void report_skipped(const std::vector<std::string>& queues);
  void report_no_lock(const RedisKey& key);

  Channel& redis_;
  WorkerSlot& slot_;
  const Setup setup_;
  Delivery delivery_;
  Batch batch_;
  IncarnationHoldings held_;
  bool has_more_ = false;
  int soon_in_a_row_ = 0;
  SteadyTime soon_since_{}, others_late_until_{};
  std::uint64_t incarnation_ = 0;  // 0: none, begin() one
  std::string field_;
  std::uint64_t number_ = 0;
  bool registered_ = false;
  struct {
    std::uint64_t id = 0, connection = 0;  // the id, and the connection that has it
  } client_;
  std::uint64_t fetch_known_on_ = 0;  // the connection that has sent the text of fetch_after_wait.lua
  SteadyTime skipped_reported_{};
  struct {
    SteadyTime since{};
    std::set<std::string> reported;
  } no_locks_;
  FencedBackoff fences_;
};

}  // namespace brood
