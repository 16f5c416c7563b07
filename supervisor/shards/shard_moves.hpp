#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "supervisor/shards/whom_to_call.hpp"
#include "supervisor/workers/generation/generations.hpp"
#include "supervisor/workers/worker_orders.hpp"
#include "supervisor/workers/worker_shards.hpp"
#include "supervisor/workers/worker_slots.hpp"

namespace brood {

class Shard;
// Those of one supervisor, in the order of its configuration; at least one.
using Shards = std::vector<std::unique_ptr<Shard>>;

// Which worker serves which shard.  They begin spread over all of them.  One that has nothing to do is brought to where
// a job waits and nobody is free to take it; with nobody idle, the first that ends what it does goes to a shard in
// which nobody is at all; and whoever waits in a shard that is away goes to another.
class ShardMoves : public WorkerShards {
 public:
  // `identity` is the supervisor's name.  `orders` and `shards` may come to be after this object.
  ShardMoves(std::string identity, WorkerSlots& slots, const Generations& generations, WorkerOrders& orders,
             Shards& shards);

  // Of which capsules somebody would come to this shard if called: indexes into Generations::capsules().
  std::set<int> capsules_to_call(int shard);
  // Brings somebody of these capsules.  False: nobody comes, or whoever does was called before.
  bool call(int shard, const std::set<int>& capsules);
  bool are_several() const;
  // The first of all, while none can be used.
  int first_usable() const;

  // Now and then: nobody who runs no job is to wait in a shard that is away.
  void leave_those_away(SteadyTime now);

  void place_new(int slot, int capsule, int number) override;
  void place_again(int slot) override;
  bool left_behind(int slot) override;
  void unblock(int slot) override;

 private:
  std::vector<MovableWorker> movable();
  bool is_usable(int shard) const;
  bool may_serve(int capsule, int shard) const;
  int usable_near(int shard, int capsule) const;
  int emptiest_usable() const;
  void want(int slot, int shard, bool if_first);
  void stay(int slot);
  void enter(int slot, int shard);
  Shard& shard(int number) const;

  const std::string identity_;
  WorkerSlots& slots_;
  const Generations& generations_;
  WorkerOrders& orders_;
  Shards& shards_;
};

}  // namespace brood
