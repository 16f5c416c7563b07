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

// The order in which each fetch of a worker asks its capsule's queues.  QueueOrder draws it.  Each pattern is replaced
// by the queues that match it in Redis, shuffled, and paused queues are left out.  Redis is asked anew when the
// supervisor has seen a change, and also now and then: a worker may have seen a pause that came and went between two
// looks of the supervisor.
class QueueChoice {
 public:
  // `changes` is a number that the supervisor changes when it sees a change; nullptr: it never does.
  QueueChoice(const CapsuleSettings& capsule, Channel& redis, const std::atomic<std::uint32_t>* changes);

  // Draws for one fetch.  Asks Redis first if the known queues are out of date.  Returns false if Redis is away then.
  bool begin();
  // Draws again from what begin() knew, without asking Redis.  is_stale() still shows a change since begin(), and
  // wait_queue() stays the same.
  void begin_again();
  // The next `most` queues of the draw, none twice; fewer at the end of the draw.
  std::vector<std::string> take(std::size_t most);
  bool is_over() const;

  bool has_looked() const { return looked_; }  // false: Redis has not answered yet, and nothing is known
  bool may_grow() const { return capsule_.queues.has_patterns(); }  // later draws may have further queues
  // Jobs of a queue with a cap are fetched only by settle_and_fetch, and no worker waits on it: the supervisor wakes a
  // worker when one of its jobs may be taken.  The same holds for the tenants of a base.
  bool is_capped(const std::string& queue) const { return is_tenants(queue) || !caps_of(capsule_.caps, queue).empty(); }
  bool has_capped() const { return !capsule_.caps.empty() || !tenants_.empty(); }
  // The tenants of each entry of a draw that stands for some.
  const ServedTenants& tenants() const { return tenants_; }
  // Whether something has changed since begin(): then call begin() again instead of waiting.
  bool is_stale() const { return forgotten_ || (changes_ && changes_->load() != seen_); }
  // Whether begin() asked Redis long ago; nothing need have changed since.
  bool is_old() const;

  // The paused classes, none of whose jobs may begin; nullptr: not known, since Redis is away.  Asks Redis if something
  // has changed, so do not call it between begin() and the wait that follows.
  const NameSet* paused_classes();

  // Call it when the worker has gone to another shard: nothing is known any more, and the draw is out of date.
  void forget();

  // The queue that the capsule's worker `number` (0: the first) waits on when it is idle.  The workers spread over all
  // queues, the first on the first.  Empty: all known queues are paused or have a cap.
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
  std::vector<std::string> waits_;  // the queues that idle workers spread over

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
