#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>

#include "shared/base/unique_fd.hpp"
#include "shared/config/config.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// The page, as a child of its own: the supervisor knows no HTTP and waits for nothing of it.  One that ends is started
// again, later each time that it ends soon.  It ends with this program, whatever takes its place.
class WebChild {
 public:
  // In the child; executes the page's program, and returns an exit status only when that cannot be done.
  using Body = std::function<int(const Config&)>;

  WebChild(EventLoop& loop, Children& children, Body body);

  // Starts, replaces or ends it, as the configuration wants it: it shows more of that than its own settings.
  void follow(std::shared_ptr<const Config> config);
  void stop();  // for good

  pid_t pid() const { return child_.pid(); }  // 0: it does not run

 private:
  void start();
  void ended(const Children::End& end);

  Children& children_;
  const Body body_;
  std::shared_ptr<const Config> config_;  // null: it has not been started yet
  Child child_;
  UniqueFd lifeline_;  // which it hears the end of
  int failures_ = 0;   // that came soon after a start
  SteadyTime started_{};
  Timer again_;
};

}  // namespace brood
