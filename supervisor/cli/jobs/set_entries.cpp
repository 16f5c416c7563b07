#include "supervisor/cli/jobs/set_entries.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/ascii.hpp"
#include "shared/base/log_line.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/jobs/jid_search.hpp"

namespace brood {
namespace {

// Whether Redis itself can search for the word: it is no pattern, and the payload contains it literally.
bool is_plain(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(),
                                      [](char c) { return ascii::is_letter_or_digit(c) || c == '-' || c == '_'; });
}

}  // namespace

FoundEntries find_entries(const JobSet& set, const std::vector<std::string>& words) {
  if (words.empty()) throw UsageError("the id of the job is missing");
  JidSearch<SetEntry> search(words);
  const std::string match = words.size() == 1 && is_plain(words.front()) ? words.front() : "";
  set.scan(match, [&](const SetEntry& entry) {
    search.offer(entry);
    return true;
  });
  return {search.jobs(), search.not_found()};
}

bool complain_of_missing(const SetKind& kind, const FoundEntries& found) {
  for (const std::string& word : found.not_found)
    fmt::print(stderr, "brood {}: there is no {} \"{}\"\n", kind.command, kind.one, log::printable(word));
  return !found.not_found.empty();
}

}  // namespace brood
