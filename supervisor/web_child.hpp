#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <vector>

#include "shared/config/config.hpp"
#include "supervisor/process/service_child.hpp"

namespace brood {

// The page, as a child of its own: the supervisor knows no HTTP and waits for nothing of it.
class WebChild {
 public:
  // In the child; executes the page's program, and returns an exit status only when that cannot be done.
  using Body = std::function<int(const Config&)>;

  struct Program {
    Body body;
    std::vector<int> keep = {};  // descriptors that the child needs
  };

  WebChild(EventLoop& loop, Children& children, Program program);

  // Starts, replaces or ends it, as the configuration wants it: it shows more of that than its own settings.
  void follow(std::shared_ptr<const Config> config);
  void stop();  // for good

  pid_t pid() const { return child_.pid(); }  // 0: it does not run

 private:
  const Body body_;
  std::shared_ptr<const Config> config_;  // null: it has not been started yet
  ServiceChild child_;
};

}  // namespace brood
