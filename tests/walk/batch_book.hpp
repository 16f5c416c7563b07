#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/walk/job_book.hpp"
#include "tests/walk/site.hpp"

namespace brood::walk {

// Returns the faults of the batches.  Each batch must count what the ledger has, have ended, and have pushed the
// callbacks that were due, at the right time.  Call it once no job moves any more.  `cancelled`: the bids whose
// cancellation was requested.
std::vector<Finding> judge_batches(const JobBook& book, const std::vector<FoundBatch>& found,
                                   const std::vector<Whereabouts>& left, const std::set<std::string>& cancelled);

}  // namespace brood::walk
