#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/walk/job_book.hpp"
#include "tests/walk/site.hpp"

namespace brood::walk {

// Returns what is not as it must be of batches: each counts what the ledger has, has ended, and has pushed the
// callbacks that were due, when they were.  Call it once no job moves any more.  `cancelled`: the bids that were to be
// cancelled.
std::vector<Finding> judge_batches(const JobBook& book, const std::vector<FoundBatch>& found,
                                   const std::vector<Whereabouts>& left, const std::set<std::string>& cancelled);

}  // namespace brood::walk
