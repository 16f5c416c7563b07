#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// The values that a supervisor hands to a worker that it forks.
struct WorkerSetup {
  int slot = 0;  // its record's number, by which Redis knows it
  std::uint32_t generation = 1;
  int capsule = 0;   // index into Config::capsules
  int number = 0;    // among the capsule's workers
  int control = -1;  // the worker's end of its control pipe
  int output = -1;   // the worker's end of the pipe that takes its standard output and error; -1: they stay as they are
  std::string output_token = {};  // of the job end marks that it writes there
  SlotRecord* record = nullptr;
  const std::array<Scoreboard::ShardBeat, max_shards>* beats = nullptr;  // the facts of each shard
  const std::atomic<std::uint32_t>* queue_changes = nullptr;             // see Scoreboard::Header
  pid_t supervisor = 0;
  UsageTable* usage = nullptr;    // of the job classes; nullptr: it is not counted
  bool in_memory_cgroup = false;  // the kernel holds this worker to memory_limit; otherwise it does so itself
  std::uint64_t host_bytes = 0;   // what all workers may have together, as seen from outside of a worker's own cgroup
};

// The messages between the two ends of a control pipe, a byte each.
enum class ControlByte : char {
  look_at_flags = '!',     // supervisor: your slot's flags, or its incarnation, have changed
  ready = 'R',             // worker: my libraries are loaded
  batching = 'B',          // worker: I begin to fetch more than one job at a time
  left_wait = 'L',         // worker: the queue that I waited on may have no waiter now; or I wait outside of Redis
  need_incarnation = 'I',  // worker: mine was recovered by another process, or I have left it in order
  left_behind = 'A',       // worker: as need_incarnation, but mine stays in its shard, which is away; no job had begun
  redis_moved = 'M',       // worker: I have connected to another server of my shard than before
};

}  // namespace brood
