#pragma once

namespace brood {

// Who says which shard a worker serves.  A number counts them in the order of the configuration.
class WorkerShards {
 public:
  virtual ~WorkerShards() = default;

  // A worker is forked into the slot: notes in the table which shard it is to serve first.
  virtual void place_new(int slot, int capsule, int number) = 0;
  // The slot's worker holds nothing any more in the shard that it served, and asks for an incarnation: notes in the
  // table for which shard.
  virtual void place_again(int slot) = 0;
  // Before that: it says that it has left something there, of which nothing was begun, and that is to be recovered.
  // False: no worker says so here.
  virtual bool left_behind(int slot) = 0;
  // Has the slot's Redis let go of its worker, should it wait there: see WorkerUnblocker.
  virtual void unblock(int slot) = 0;
};

}  // namespace brood
