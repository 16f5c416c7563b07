#pragma once

#include <vector>

namespace brood {

// A shard, as it matters to a worker that is to serve one.
struct ShardToServe {
  bool is_usable = false;
  // In a capsule of one worker order holds: what was left behind in a shard goes back before a job is fetched there.
  bool is_in_order = true;
  bool is_there = true;  // the worker knows it, and it has not been taken out
};

// The shard for a worker that would rather serve `first`: that one, or the next in their circle.  One that is not in
// order only where no other can be used; and `first`, or the next one that is there, where none can.  Pure.
int where_to_go(int first, const std::vector<ShardToServe>& shards);

}  // namespace brood
