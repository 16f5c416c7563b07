#pragma once

namespace brood {

// Decides which shard a worker serves.  Shards are numbered in the order of the configuration.
class WorkerShards {
 public:
  virtual ~WorkerShards() = default;

  // A worker is forked into the slot, of this one of Generations::capsules(): notes in the table which shard it is to
  // serve first.
  virtual void place_new(int slot, int capsule, int number) = 0;
  // The slot's worker holds nothing any more in the shard that it served, and asks for a new incarnation: notes in the
  // table for which shard.
  virtual void place_again(int slot) = 0;
  // Called before place_again() when the worker reports that it left jobs there, none of them begun: they are to be
  // recovered.  Returns false if no worker would report this now: then a job has written that byte.
  virtual bool left_behind(int slot) = 0;
  // The worker reports that the Redis of its shard is elsewhere by now.
  virtual void redis_moved(int slot) = 0;
  // Makes the Redis of the slot's shard end the worker's wait, if it waits there: see WorkerUnblocker.
  virtual void unblock(int slot) = 0;
};

}  // namespace brood
