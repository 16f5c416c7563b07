#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/upgrade/handover_record.hpp"

namespace brood {

// Workers of the previous program in this process whose records are unreadable.  They are ordered to finish the job in
// hand and exit.  If one crashes, its field no longer counts as living, so a recovery finds its jobs by that field and
// gives them back.  Their output is not logged.
class Predecessors {
 public:
  Predecessors() = default;
  // Takes over the descriptors: without them a worker would take its supervisor for dead.
  Predecessors(EventLoop& loop, const std::vector<Handover::Worker>& workers);

  bool is_one(pid_t pid) const { return left_.contains(pid); }
  // Returns false if `pid` is none of them.
  bool reaped(pid_t pid);
  void kill_all() const;

  int size() const { return static_cast<int>(left_.size()); }
  std::set<std::string> fields() const;  // "<slot>.<incarnation>" of each living one

 private:
  struct One {
    std::string field;
    UniqueFd control, output;
    std::unique_ptr<FdWatch> drain;  // empties the output pipe: a job that prints must not wait for a reader
  };
  std::map<pid_t, One> left_;
};

}  // namespace brood
