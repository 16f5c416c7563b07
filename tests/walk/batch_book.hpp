#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/walk/job_book.hpp"
#include "tests/walk/site.hpp"

namespace brood::walk {

// Returns what is wrong with the batches: each must count what the ledger has, have ended, and have pushed the
// callbacks that were due, at the right time.  Call it once no job moves any more.  `cancelled`: the bids that were to
// be cancelled.
std::vector<Finding> judge_batches(const JobBook& book, const std::vector<FoundBatch>& found,
                                   const std::vector<Whereabouts>& left, const std::set<std::string>& cancelled);

}  // namespace brood::walk
