#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// A child that serves beside the workers, such as the page.  If it ends, it is started again; the pause before grows if
// it ends soon each time.  It holds a lifeline, which ends when the child is no longer wanted, and when this program
// ends or is replaced.
class ServiceChild {
 public:
  struct Parts {
    SpawnSettings settings;
    const char* ended;                     // the log's event for a child that ended
    const char* not_started;               // the log's event for a child that could not be started
    std::function<void()> before = [] {};  // called in the supervisor before each start; may throw std::system_error
    std::function<std::vector<int>()> keep = [] { return std::vector<int>(); };  // more descriptors to keep
    std::function<int(int lifeline)> body{};  // called in the child; may only wait for the lifeline's end
  };

  ServiceChild(EventLoop& loop, Children& children, Parts parts);

  void start();  // does nothing if it runs or is about to be started
  // Closes the lifeline and forgets the child, which ends by itself; or is killed when this time is over.
  void let_go(std::optional<std::chrono::milliseconds> within = std::nullopt);
  void let_finish();  // closes the lifeline, but keeps track of the child
  void kill() const { child_.kill(); }

  bool is_running() const { return child_.is_running(); }
  pid_t pid() const { return child_.pid(); }  // 0: it does not run

 private:
  void start_now();
  void ended(const Children::End& end);

  Children& children_;
  const Parts parts_;
  Child child_;
  UniqueFd lifeline_;  // our end
  int failures_ = 0;   // in a row, of ends soon after a start
  SteadyTime started_{};
  Timer again_;
};

}  // namespace brood
