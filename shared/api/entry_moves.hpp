#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include <brood/api.hpp>

#include "shared/api/api_state.hpp"
#include "shared/api/push/client_connection.hpp"
#include "shared/store/outcome.hpp"
#include "shared/store/sets/due_jobs.hpp"
#include "shared/store/sets/set_entries.hpp"

namespace brood {

namespace detail {
class ApiShards;
class ApiState;
}  // namespace detail

// Changes entries of one set, at most max_entries_changed at a time.  An entry that has changed since it was read
// stays.  A dead unique job takes its lock again when it runs, and stays if another job holds the lock.  The answer
// has the numbers of done, gone and stuck entries.
class EntryMoves {
 public:
  EntryMoves(detail::ApiState& state, std::string set);

  BulkResult remove(ClientConnection& redis, const std::vector<SetEntry>& entries);
  BulkResult run(ClientConnection& redis, const std::vector<SetEntry>& entries);
  BulkResult kill(ClientConnection& redis, const std::vector<SetEntry>& entries);

  // The jid of the job whose lock keeps the entry stuck; empty: none.
  const std::string& holder() const { return holder_; }

 private:
  void raise(ClientConnection& redis, DueJob job, const LockOfDead& lock, BulkResult& result);

  detail::ApiState& state_;
  std::string set_;
  DeadLimits dead_;
  std::mt19937_64 random_;
  std::string holder_;
};

// Applies `change` to every entry that `wanted` accepts, of each shard in order, up to the entry that was last there
// when the walk began.
BulkResult change_entries(const detail::ApiShards& shards, const std::string& set,
                          BulkResult (EntryMoves::*change)(ClientConnection&, const std::vector<SetEntry>&),
                          const JobSet::Condition& wanted, const Progress& progress);

// Changes many entries, in one shard after the other, and adds up what became of them.  `progress` gets the sums.
BulkResult change_each(const detail::ApiShards& shards, const Progress& progress,
                       const std::function<std::size_t(detail::ApiState&)>& size,
                       const std::function<BulkResult(detail::ApiState&, const Progress&)>& change);

}  // namespace brood
