#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/store/batches/batch.hpp"
#include "shared/store/batches/flow.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {

struct ListedBatch {
  BatchRecord batch;
  std::string shard;  // where it is; empty if there is only one
  std::vector<FlowStep> steps = {};
};

// The batches of all shards, without their steps.  Those in trouble come first, then the unended, then the others, each
// group from newest to oldest.  At most `most` of each shard: those that are kept longest.
std::vector<ListedBatch> list_batches(ShardConnections& shards,
                                      std::size_t most = std::numeric_limits<std::size_t>::max());
std::optional<ListedBatch> find_batch(ShardConnections& shards, std::string_view bid);
// The same for one shard; the list is in the order of Redis.
std::vector<ListedBatch> list_batches_of(ShardConnections::Shard& shard, std::size_t most);
std::optional<BatchRecord> find_batch(Connection& redis, std::string_view bid);
std::vector<FlowStep> steps_of(Connection& redis, const BatchRecord& batch);
// For each step, the length of the chain of steps before it; 0 if it waits for no step.
std::vector<std::size_t> depths_of(const std::vector<FlowStep>& steps);

// Whether no more of its jobs will run, unless a dead one is retried.
bool has_ended(const BatchRecord& batch);
// Whether jobs have failed, so that it may not succeed by itself.
bool is_in_trouble(const BatchRecord& batch);

// The percentage of jobs that have ended; 100 without jobs.
int percent_ended(const BatchRecord& batch);
// "[######....]  62%"
std::string bar_of(const BatchRecord& batch);
// "waits", "is pushed, and has not ended" or "has ended".
std::string callback_state(const BatchRecord& batch, const BatchRecord::Callback& callback);

// One JSON object for programs.  `one` adds its callbacks and pushers.
enum class TellOf { list, one };
std::string batch_json(const ListedBatch& batch, TellOf tells);

// Cancels a batch and all batches below it, from the top down, so that no child is created meanwhile.  Returns how many
// were cancelled: 0 if all had ended already; nullopt if there is no such batch.
std::optional<std::size_t> cancel_with_children(ShardConnections& shards, std::string_view bid);
std::optional<std::size_t> cancel_with_children(Connection& redis, std::string_view bid);

// Forgets a batch.  Returns false if there is none.
bool forget_batch(ShardConnections& shards, std::string_view bid);

// The batches below a batch, at most `most`, each with its depth; a batch comes before its children.
struct BatchBelow {
  std::size_t depth = 1;
  std::string bid;
  std::optional<BatchRecord> batch;  // nullopt if it is gone
};
struct BatchesBelow {
  std::vector<BatchBelow> batches;
  bool is_cut = false;
};
BatchesBelow batches_below(Connection& redis, std::string_view bid, std::size_t most);

}  // namespace brood
