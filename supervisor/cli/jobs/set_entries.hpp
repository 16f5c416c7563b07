#pragma once

#include <string>
#include <vector>

#include "supervisor/cli/jobs/set_order.hpp"

namespace brood {

struct FoundEntries {
  std::vector<SetEntry> entries;
  std::vector<std::string> not_found;  // of the words
};

// The entries that the words mean: ids, or beginnings of ids.  Throws UsageError if there are no words, or a beginning
// fits several ids.
FoundEntries find_entries(const JobSet& set, const std::vector<std::string>& words);

// Reports on standard error which words were not found.  Returns false if none is missing.
bool complain_of_missing(const SetKind& kind, const FoundEntries& found);

}  // namespace brood
