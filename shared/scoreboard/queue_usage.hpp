#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/scoreboard/entry_name.hpp"
#include "shared/scoreboard/shared_counts.hpp"

namespace brood {

class Scoreboard;

inline constexpr int max_usage_queues = 128;

// The runs of one queue's jobs since the supervisor began, in shared memory.
struct alignas(64) QueueEntry : EntryName {
  std::atomic<std::uint64_t> failed;  // crashes and runs that were cut short included
  SharedTimeCounts waited;            // from when a job was enqueued last until it began
  SharedTimeCounts took;              // each run, however it ended
};

// As UsageTable: queues that do not fit any more are counted together.
struct alignas(64) QueueTable {
  std::array<QueueEntry, max_usage_queues> entries;
  QueueEntry others;

  QueueEntry& at(int index);  // `others` for max_usage_queues, and for any number that is no index
};

// The entry of a queue, claimed if it has none yet.  The index of `others` if there is no room, or if the name is empty
// or too long.
int queue_index(QueueTable& table, std::string_view queue);

// The queue that has the entry; empty: none has.
std::string queue_at(const QueueTable& table, int index);

// Several runs together.
struct QueueRuns {
  std::uint64_t failed = 0;
  TimeCounts waited, took;
};

void add_queue_runs(QueueEntry& entry, const QueueRuns& runs);

// The counts of one queue.  Each only grows.
struct QueueUsage : QueueRuns {
  std::string queue;  // empty: all that found no room in the table
};

// The usage of all queues by name: at most max_usage_queues, and the rest.  Leaves out entries with impossible counts,
// which a job has scribbled over.
std::vector<QueueUsage> read_queue_usage(const Scoreboard& board);

}  // namespace brood
