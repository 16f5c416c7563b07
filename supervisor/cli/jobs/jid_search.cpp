#include "supervisor/cli/jobs/jid_search.hpp"

#include <fmt/format.h>

#include "shared/base/log_line.hpp"
#include "supervisor/cli/arguments/command_line.hpp"

namespace brood {

template <typename Job>
std::vector<Job> JidSearch<Job>::jobs() const {
  std::map<std::string, std::vector<Job>> chosen;  // a map, since two words may mean one job
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const ById& found = found_[i].exact.empty() ? found_[i].beginning : found_[i].exact;
    if (found.size() > 1) {
      std::string ids;
      for (const auto& [jid, jobs] : found) ids += (ids.empty() ? "" : ", ") + log::printable(jid);
      throw UsageError(fmt::format("\"{}\" may be any of {}{}", log::printable(words_[i]), ids,
                                   found.size() == most_ids ? ", ..." : ""));
    }
    chosen.insert(found.begin(), found.end());
  }
  std::vector<Job> all;
  for (auto& [jid, jobs] : chosen) all.insert(all.end(), jobs.begin(), jobs.end());
  return all;
}

template <typename Job>
std::vector<std::string> JidSearch<Job>::not_found() const {
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (found_[i].exact.empty() && found_[i].beginning.empty()) missing.push_back(words_[i]);
  }
  return missing;
}

template class JidSearch<JobRecord>;
template class JidSearch<SetEntry>;

}  // namespace brood
