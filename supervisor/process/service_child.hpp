#pragma once

#include <sys/types.h>

#include <functional>

#include "shared/base/unique_fd.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// A child that serves beside the workers for as long as it is wanted, such as the page: one that ends is started again,
// later each time that it ends soon.  It has a lifeline, which it hears the end of when nobody wants it any more and
// when this program ends, whatever takes its place.
class ServiceChild {
 public:
  struct Parts {
    SpawnSettings settings;
    const char* ended;                        // the log's events: for one that ended
    const char* not_started;                  // and for one that could not be started
    std::function<void()> before = [] {};     // here, before each start; may throw std::system_error
    std::function<int(int lifeline)> body{};  // in the child; nothing comes from the lifeline but its end
  };

  ServiceChild(EventLoop& loop, Children& children, Parts parts);

  void start();       // unless it runs, or will be started again
  void let_go();      // it hears the end of its lifeline, and goes on by itself for as long as it takes
  void let_finish();  // the same, but it is still known here
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
  int failures_ = 0;   // that came soon after a start
  SteadyTime started_{};
  Timer again_;
};

}  // namespace brood
