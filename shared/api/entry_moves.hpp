#pragma once

#include <random>
#include <string>
#include <vector>

#include <brood/api.hpp>

#include "shared/api/client_connection.hpp"
#include "shared/store/outcome.hpp"

namespace brood {

namespace detail {
class ApiState;
}

// What can be done to entries of one set, to max_entries_changed of them at most, each guarded by the entry as it was
// read.  The answer says how many were done, gone or stuck.
class EntryMoves {
 public:
  EntryMoves(detail::ApiState& state, std::string set);

  BulkResult remove(ClientConnection& redis, const std::vector<SetEntry>& entries);
  BulkResult run(ClientConnection& redis, const std::vector<SetEntry>& entries);
  BulkResult kill(ClientConnection& redis, const std::vector<SetEntry>& entries);

 private:
  std::string set_;
  DeadLimits dead_;
  std::mt19937_64 random_;
};

// Does so to all entries that `wanted` takes, in their order, up to the one that is the last at the beginning.
BulkResult change_entries(detail::ApiState& state, const std::string& set,
                          BulkResult (EntryMoves::*change)(ClientConnection&, const std::vector<SetEntry>&),
                          const JobSet::Condition& wanted, const Progress& progress);

}  // namespace brood
