#pragma once

#include <set>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "supervisor/shards/plan_rebalance.hpp"
#include "supervisor/shards/shard_set.hpp"
#include "supervisor/workers/generation/generations.hpp"
#include "supervisor/workers/worker_orders.hpp"
#include "supervisor/workers/worker_shards.hpp"
#include "supervisor/workers/worker_slots.hpp"

namespace brood {

class Shard;
// The shards of one supervisor; at least one.
using Shards = ShardSet<Shard>;

// Decides which worker serves which shard.
//
// At first workers are spread over all shards.  An idle worker is called to a shard where a job waits and no worker is
// free.  If none is idle, the first that ends its job moves to a shard that has no worker at all.  A worker that waits
// in a shard that is away moves to another.
//
// Workers do not rotate by themselves: an idle worker blocks in one Redis, so it would have to poll the others.  The
// supervisor already knows where a job waits and which shards are away, drained or in order.
class ShardMoves : public WorkerShards {
 public:
  // `identity` is the supervisor's name.  `orders` and `shards` may be constructed after this object.
  ShardMoves(std::string identity, WorkerSlots& slots, const Generations& generations, WorkerOrders& orders,
             const Shards& shards);

  // The capsules with a worker that would come to this shard if called, as indexes into Generations::capsules().
  std::set<int> capsules_to_call(int shard);
  // Calls a worker of these capsules to this shard.  Returns false if none comes, or if the one that comes was called
  // before.
  bool call(int shard, const std::set<int>& capsules);
  bool are_several() const;
  // The first usable shard; the first of all if none is usable.
  int first_usable() const;

  // Call it now and then: moves workers without a job out of shards that are away.
  void leave_those_away(SteadyTime now);

  void place_new(int slot, int capsule, int number) override;
  void place_again(int slot) override;
  bool left_behind(int slot) override;
  void redis_moved(int slot) override;
  void unblock(int slot) override;

 private:
  std::vector<MovableWorker> movable();
  bool is_usable(int shard) const;
  // Whether the generation of this capsule has the shard, and it was not removed.
  bool is_there(int capsule, int shard) const;
  bool may_serve(int capsule, int shard) const;
  int place_near(int shard, int capsule) const;
  int emptiest_usable(int capsule) const;
  void want(int slot, int shard, bool if_first);
  void stay(int slot);
  void enter(int slot, int shard);

  const std::string identity_;
  WorkerSlots& slots_;
  const Generations& generations_;
  WorkerOrders& orders_;
  const Shards& shards_;
};

}  // namespace brood
