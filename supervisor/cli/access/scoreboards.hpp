#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace brood {

// A machine has fewer supervisors, but a job can make any number of files.
inline constexpr std::size_t most_scoreboards = 256;

struct FoundScoreboards {
  std::vector<std::string> paths;  // sorted, at most most_scoreboards
  std::size_t left_out = 0;
};

// Pure.  If there are too many, prefers those whose supervisor may live, by the pid in the file's name.
FoundScoreboards choose_scoreboards(std::vector<std::string> paths,
                                    const std::function<bool(pid_t)>& may_be_supervisor);

// All files of `directory` that may be scoreboards; none if it is unreadable.
FoundScoreboards find_scoreboards(const std::string& directory);
inline std::vector<std::string> scoreboard_paths(const std::string& directory) {
  return find_scoreboards(directory).paths;
}

}  // namespace brood
