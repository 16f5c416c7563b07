#pragma once

namespace brood {

// Decides which shard a worker serves.  Shards are numbered in the order of the configuration.
class WorkerShards {
 public:
  virtual ~WorkerShards() = default;

  // Called when a worker is forked into the slot, for this index of Generations::capsules().  Notes in the table which
  // shard it serves first.
  virtual void place_new(int slot, int capsule, int number) = 0;
  // Called when the slot's worker holds nothing any more in its shard, and asks for a new incarnation.  Notes in the
  // table for which shard it gets one.
  virtual void place_again(int slot) = 0;
  // Called before place_again() if the worker reports that it left unbegun jobs there, which must be recovered.
  // Returns false if no worker would report this now: then a job has written the byte.
  virtual bool left_behind(int slot) = 0;
  // Called when the worker reports that the Redis of its shard has moved.
  virtual void redis_moved(int slot) = 0;
  // Makes the Redis of the slot's shard end the worker's wait, if it waits there: see WorkerUnblocker.
  virtual void unblock(int slot) = 0;
};

}  // namespace brood
