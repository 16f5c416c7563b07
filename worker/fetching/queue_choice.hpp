#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "shared/store/tenants/tenants.hpp"

namespace brood {

// The order in which each fetch of a worker asks its capsule's queues: as QueueOrder draws it, with the queues of each
// pattern that Redis knows, shuffled, in its place, and without those that are paused.  Redis is asked anew whenever
// the supervisor has seen a change, and now and then: the supervisor may miss a pause that comes and goes between two
// of its looks, while a worker has seen it.
class QueueChoice {
 public:
  // `changes` is a number that the supervisor changes when it sees a change; nullptr: it never does.
  QueueChoice(const CapsuleSettings& capsule, Channel& redis, const std::atomic<std::uint32_t>* changes);

  // Draws for one fetch; asks Redis first when what is known is out of date.  Returns false where that was in vain.
  bool begin();
  // Draws again from what begin() knew, without asking Redis: is_stale() still tells of a change since begin(), and
  // wait_queue() stays as it is.
  void begin_again();
  // The next `most` queues of the draw, none twice; fewer when it ends.  Costs no more than these queues.
  std::vector<std::string> take(std::size_t most);
  bool is_over() const;

  bool has_looked() const { return looked_; }  // false: Redis has been away so far, and nothing is known of it
  bool may_grow() const { return capsule_.queues.has_patterns(); }  // queues may come that the next draw has
  // A queue with a cap is fetched from by settle_and_fetch alone, and no worker waits on it: the supervisor rings when
  // one of its jobs may be taken.
  // The same holds for the tenants of a base.
  bool is_capped(const std::string& queue) const { return is_tenants(queue) || !caps_of(capsule_.caps, queue).empty(); }
  bool has_capped() const { return !capsule_.caps.empty() || !tenants_.empty(); }
  // Of each entry of a draw that stands for tenants.
  const ServedTenants& tenants() const { return tenants_; }
  // Something has changed since begin(): call begin() again instead of waiting.
  bool is_stale() const { return forgotten_ || (changes_ && changes_->load() != seen_); }
  // Nothing may have changed, but begin() asked Redis long ago.
  bool is_old() const;

  // Classes of which no job is to begin, as of now; nullptr: not known, Redis is away.  Asks Redis when something has
  // changed: not between begin() and the wait that comes of it.
  const NameSet* paused_classes();

  // The worker has gone to another shard: nothing is known any more, and what was drawn is out of date.
  void forget();

  // The queue that the capsule's worker `number` (0: the first) waits on when it is idle: they spread over all of them,
  // the first on the first.  Empty: no queue is known that is not paused, and has no cap.
  std::string wait_queue(int number) const;

 private:
  bool look();
  bool look_at_classes();
  Reply ask_names();

  const CapsuleSettings& capsule_;
  Channel& redis_;
  const std::atomic<std::uint32_t>* const changes_;
  std::mt19937_64 random_;
  std::uint32_t seen_ = 0;
  bool looked_ = false, forgotten_ = false;
  SteadyTime looked_at_{}, names_at_{};
  KnownQueues known_;
  std::vector<std::string> waits_;  // what idle workers spread over

  // The queues that a pattern stands for, in no order, and how many of them this draw has taken.
  struct Matching {
    std::vector<std::string> queues;
    std::size_t taken = 0;
  };
  std::map<std::string, Matching> matching_;  // by pattern
  ServedTenants tenants_;
  std::vector<std::string> order_;  // of this draw, with patterns
  std::size_t taken_ = 0;           // of it
};

}  // namespace brood
