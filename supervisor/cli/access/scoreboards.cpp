#include "supervisor/cli/access/scoreboards.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "shared/base/identity.hpp"
#include "shared/base/job_mark.hpp"

namespace brood {
namespace {

// The pid in "<host>_<pid>_<nonce>.scoreboard"; 0 if there is none.
pid_t pid_in_path(const std::string& path) {
  const std::string name = std::filesystem::path(path).stem();
  const std::size_t nonce = name.rfind('_');
  const std::size_t before = nonce == name.npos || nonce == 0 ? name.npos : name.rfind('_', nonce - 1);
  pid_t pid = 0;
  if (before != name.npos) std::from_chars(name.data() + before + 1, name.data() + nonce, pid);
  return pid;
}

// A process that a job has started is no supervisor, unless that job started one; then others' files come first.
bool may_be_supervisor(pid_t pid) { return pid_is_taken(pid) && file_locks_of(pid).value_or(no_mark) == no_mark; }

}  // namespace

FoundScoreboards choose_scoreboards(std::vector<std::string> paths, const std::function<bool(pid_t)>& may_be_one) {
  FoundScoreboards found{std::move(paths)};
  std::vector<std::string>& all = found.paths;
  std::sort(all.begin(), all.end());
  if (all.size() <= most_scoreboards) return found;
  std::stable_partition(all.begin(), all.end(), [&](const std::string& path) { return may_be_one(pid_in_path(path)); });
  found.left_out = all.size() - most_scoreboards;
  all.resize(most_scoreboards);
  std::sort(all.begin(), all.end());
  return found;
}

FoundScoreboards find_scoreboards(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(directory, missing)) {
    if (entry.path().extension() == ".scoreboard") paths.push_back(entry.path().string());
  }
  return choose_scoreboards(std::move(paths), may_be_supervisor);
}

}  // namespace brood
