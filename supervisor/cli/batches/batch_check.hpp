#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/batches/batch_list.hpp"

namespace brood {

// Why a batch has not ended, or what was wrong with it.
struct BatchFinding {
  enum class Kind {
    push,      // a push has not returned
    jobs,      // jobs wait or run
    missing,   // jobs are nowhere any more, or died without a script noticing
    callback,  // a callback has not ended
    child,     // a batch below it has not ended
  } kind;
  std::string text;  // one sentence without a full stop
  bool is_mended = false;
  bool needs_person = false;
};

struct CheckedBatch {
  ListedBatch batch;  // after the check
  std::vector<BatchFinding> findings;
};

struct BatchCheck {
  std::int64_t dead_timeout_s = 0;  // how long a batch with a death is kept
  // The pause between two looks at all places of jobs.  The jobs that a Ruby process runs are only in its memory until
  // its next heartbeat, so beside Ruby processes the pause is longer than the time between two heartbeats.
  std::chrono::milliseconds pause{2'000}, pause_beside_ruby{12'000};
  std::optional<SteadyTime> until = {};  // nullopt: no limit
};

// Finds out why batches have not ended: the batch `bid` and those below it, or all batches.  Repairs only what is
// certain:
//   - if the process of a push is gone, its batch is cancelled, with those below it;
//   - jobs that two looks have found nowhere, or in the dead set, count as dead;
//   - callbacks that are nowhere count as dead too.
// Returns the batches with findings; nothing for an unknown bid.
std::vector<CheckedBatch> check_batches(ShardConnections& shards, const std::optional<std::string>& bid,
                                        const BatchCheck& check);

bool needs_person(const std::vector<CheckedBatch>& checked);
std::string checked_batch_json(const CheckedBatch& checked);

}  // namespace brood
