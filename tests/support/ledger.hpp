#pragma once

#include <cstddef>
#include <cstdint>
#include <ios>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace brood {

// The runs that really took place, independent of brood and of Redis: the Ledger example appends `S id pid starttime
// mono` to a file when it begins and `D id pid mono` when it ends, each by one write, so that a line survives whatever
// kills its writer.  See worker/examples/ledger.hpp.
class Ledger {
 public:
  struct Run {
    std::string id;
    pid_t pid = 0;
    std::uint64_t worker_began = 0;     // its start time, since a pid comes again
    std::int64_t began = 0;             // CLOCK_MONOTONIC, common to all processes, in nanoseconds
    std::optional<std::int64_t> ended;  // nullopt: it was cut off
  };

  explicit Ledger(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::vector<Run> runs() const;             // in the order they began
  std::map<std::string, int> begun() const;  // id -> how often
  std::map<std::string, int> done() const;
  bool is_whole() const;  // no line was torn, though its writer was killed
  // Cheap to ask again and again: they read what was added since they were last asked.
  std::size_t begins() const;             // how many runs there are
  bool has_done(std::size_t jobs) const;  // so many different jobs

  struct Verdict {
    std::vector<std::string> lost;        // of the expected ids: never done
    std::vector<std::string> unexpected;  // seen, but never enqueued
    std::vector<std::string> doubled;     // done more than once
    std::vector<std::string> overlapped;  // two runs of it at one time
  };
  // Compares the ledger with the ids 0 .. count-1.
  Verdict judge(int count) const;

 private:
  void read_on() const;

  std::string path_;
  mutable std::streamoff read_ = 0;  // whole lines
  mutable std::size_t begins_ = 0, ends_ = 0;
};

}  // namespace brood
