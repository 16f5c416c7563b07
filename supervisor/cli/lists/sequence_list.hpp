#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "shared/store/sequences/sequences.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {

// A sequence that has jobs.
struct ListedSequence {
  SequenceState state;
  std::string shard = {};                 // where it is kept; empty if there is only one
  std::vector<std::string> waiting = {};  // payloads of waiting jobs, the next first; filled on request

  std::string json(bool with_jobs = false) const;
};

// Sorted by name, at most `most` of each shard.  Throws ConnectionLost or UnexpectedReply.
std::vector<ListedSequence> list_sequences(ShardConnections& shards,
                                           std::size_t most = std::numeric_limits<std::size_t>::max());
// With up to `most` waiting jobs; nullopt if no job has this sequence, or all have ended.
std::optional<ListedSequence> find_sequence(ShardConnections& shards, const std::string& name, std::size_t most);
// Deletes those of the jobs that wait for the sequence.  Returns how many were deleted.
std::size_t delete_waiting(ShardConnections& shards, const std::string& name, const std::vector<std::string>& jids);

// The facts shown of a waiting job.
struct WaitingJob {
  std::string jid, job_class, queue;
};
WaitingJob waiting_job(const std::string& payload);

}  // namespace brood
