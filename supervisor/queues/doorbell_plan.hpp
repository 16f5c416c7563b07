#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/config/config.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "supervisor/queues/idle_watch.hpp"

// Everything that a doorbell decides.  Pure.
namespace brood {

// The queues of each capsule, in order of priority.
using CapsuleQueues = std::vector<std::vector<std::string>>;

inline constexpr std::size_t most_doorbells = 16;

// The queues that must be watched for the workers: no worker waits on them, although one that could take their jobs is
// idle.  The first queues of every capsule come first.
struct WatchedQueues {
  std::vector<std::string> doorbells;  // these get a doorbell each, at most `most`
  std::vector<std::string> looked_at;  // the rest, looked at now and then
};
// Capped queues are looked at: a peek would ring even while their jobs may not be taken.  Tenants are looked at too.
WatchedQueues plan_doorbells(const CapsuleQueues& capsules, const std::vector<IdleWorker>& idle,
                             const std::set<std::string>& left_out, std::size_t most = most_doorbells,
                             const std::set<std::string>& capped = {});

// The idle worker to free for a job of `queue`.  Prefers a worker that does not wait in Redis, then one on whose queue
// another worker waits too, then the one whose queue comes last in its capsule.  Returns nullopt if none is idle, or if
// one waits on that very queue: it has the job already.
std::optional<int> worker_to_free(std::string_view queue, const CapsuleQueues& capsules,
                                  const std::vector<IdleWorker>& idle);

// The last known state of each queue.
class QueueNotes {
 public:
  // Notes that a peek has found this job.  A worker is on its way to it, and another peek now would find the same job.
  // So the queue rests: for 1 ms, and twice as long each time that the job is still there, up to 100 ms.
  void note_ring(const std::string& queue, std::string_view job, SteadyTime now);
  void note_no_job(const std::string& queue) { backoffs_.erase(queue); }
  // When the queue may be asked again; in the past if now.
  SteadyTime rests_until(const std::string& queue) const;

  // Begins a look.  From now on a change may be reported before the look's answer although it happened after it.
  void begin_look() { changed_.clear(); }
  // Notes that the look has found all of these empty except `others`: they need no look until they change.
  void note_empty(const std::vector<std::string>& looked_at, const std::unordered_set<std::string>& others);
  // Returns true if the queue counted as empty, so that it must be looked at.
  bool note_change(const std::string& queue);
  bool is_empty(const std::string& queue) const { return empty_.contains(queue); }
  // Call this if changes may have been missed.
  void forget_empty();

  // Leaves these keys, which are no lists, out for a minute.
  void note_no_lists(const std::vector<std::string>& queues, SteadyTime now);
  const std::set<std::string>& no_lists() const { return no_lists_; }
  void forget_old_ones(SteadyTime now);

 private:
  struct Backoff {
    std::size_t job = 0;  // a hash of the last job found
    std::chrono::milliseconds pause{0};
    SteadyTime until{};
  };
  std::map<std::string, Backoff> backoffs_;
  std::unordered_set<std::string> empty_;
  std::unordered_set<std::string> changed_;  // since the last look began
  std::set<std::string> no_lists_;
  SteadyTime no_lists_until_{};
};

// Which queues to watch and how, given the capsules, the queues and the idle workers.
class DoorbellPlan {
 public:
  QueueNotes notes;

  void set_capsules(std::vector<CapsuleSettings> capsules);
  void know(const KnownQueues& known);

  // Plans anew, for these workers and for one worker of each capsule in `to_call`, which would come from another shard.
  void make(std::vector<IdleWorker> idle, const std::set<int>& to_call, SteadyTime now);
  // Plans nothing.
  void clear() { watched_ = {}; }
  // Notes that Redis refuses peeks: until then all queues are looked at.
  void refuse_peeks_until(SteadyTime until) { peeks_refused_until_ = until; }

  const std::vector<std::string>& doorbells() const { return watched_.doorbells; }
  bool has_doorbell(const std::string& queue) const;
  bool is_capped(const std::string& queue) const { return capped_.contains(queue); }
  const std::vector<CapSettings>& caps() const { return caps_; }
  // The queues to look at if these doorbells are missing.
  std::vector<std::string> to_look_at(std::vector<std::string> without_doorbell) const;

  // Whether no queue needs watching, and every idle worker waits in Redis on the only queue that it has.
  bool nothing_can_be_missed() const { return each_waits_ && watched_.doorbells.empty() && watched_.looked_at.empty(); }

  std::optional<int> worker_to_free(std::string_view queue, const std::vector<IdleWorker>& idle) const {
    return brood::worker_to_free(queue, queues_, idle);
  }
  // The capsules that fetch from this queue.
  std::set<int> capsules_of(const std::string& queue) const;

 private:
  void read_capsules();

  std::vector<CapsuleSettings> capsules_;
  KnownQueues known_;
  CapsuleQueues queues_;
  bool each_waits_ = false;  // every idle worker waits in Redis, on the only queue that it has
  std::vector<CapSettings> caps_;
  std::set<std::string> capped_;
  SteadyTime peeks_refused_until_{};
  WatchedQueues watched_;
};

}  // namespace brood
