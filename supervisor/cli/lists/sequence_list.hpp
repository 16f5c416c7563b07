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
  std::string shard = {};                 // that keeps it; empty: the only one
  std::vector<std::string> waiting = {};  // payloads of jobs that wait, the next first; if asked for

  std::string json(bool with_jobs = false) const;
};

// By name; of each shard not more than `most`.  Throws ConnectionLost or UnexpectedReply.
std::vector<ListedSequence> list_sequences(ShardConnections& shards,
                                           std::size_t most = std::numeric_limits<std::size_t>::max());
// With up to `most` jobs that wait; nullopt: no job has this sequence, or all have ended.
std::optional<ListedSequence> find_sequence(ShardConnections& shards, const std::string& name, std::size_t most);
// How many of the jobs with these ids waited for the sequence, and are deleted now.
std::size_t delete_waiting(ShardConnections& shards, const std::string& name, const std::vector<std::string>& jids);

// What is shown of a job that waits.
struct WaitingJob {
  std::string jid, job_class, queue;
};
WaitingJob waiting_job(const std::string& payload);

}  // namespace brood
