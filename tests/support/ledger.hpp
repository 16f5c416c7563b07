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

// The runs that really took place, independent of brood and of Redis.
//
// The Ledger example appends `S id pid starttime mono` to a file when it begins and `D id pid mono` when it ends.  Each
// is one write, so that a line is whole even if its writer is killed.  See worker/examples/ledger.hpp.
class Ledger {
 public:
  struct Run {
    std::string id;
    pid_t pid = 0;
    std::uint64_t worker_began = 0;     // its start time, since pids are reused
    std::int64_t began = 0;             // CLOCK_MONOTONIC, common to all processes, in nanoseconds
    std::optional<std::int64_t> ended;  // nullopt: the run was cut off
  };

  explicit Ledger(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::vector<Run> runs() const;             // in the order of their beginnings
  std::map<std::string, int> begun() const;  // number of runs by id
  std::map<std::string, int> done() const;
  bool is_whole() const;  // no line is torn, even if its writer was killed
  // These may be called often: they read only what was added since the last call.
  std::size_t begins() const;             // the number of runs
  bool has_done(std::size_t jobs) const;  // whether so many different jobs are done

  struct Verdict {
    std::vector<std::string> lost;        // expected ids that were never done
    std::vector<std::string> unexpected;  // ids that were never enqueued
    std::vector<std::string> doubled;     // ids that were done more than once
    std::vector<std::string> overlapped;  // ids of which two runs overlapped
  };
  // Compares the ledger with the ids 0 .. count-1.
  Verdict judge(int count) const;

 private:
  void read_on() const;

  std::string path_;
  mutable std::streamoff read_ = 0;  // up to here, in whole lines
  mutable std::size_t begins_ = 0, ends_ = 0;
};

}  // namespace brood
