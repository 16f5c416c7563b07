#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <vector>

#include "shared/config/config.hpp"
#include "supervisor/process/service_child.hpp"

namespace brood {

// Runs the page as a child of its own: the supervisor knows no HTTP and does not wait for the page.
class WebChild {
 public:
  // Called in the child: executes the page's program, and returns an exit status only if that fails.
  using Body = std::function<int(const Config&)>;

  struct Program {
    Body body;
    std::vector<int> keep = {};  // descriptors that the child needs
  };

  WebChild(EventLoop& loop, Children& children, Program program);

  // Starts, replaces or ends the child as the configuration demands.  Any change of the configuration replaces it,
  // since the page shows more than its own settings.
  void follow(std::shared_ptr<const Config> config);
  void stop();  // for good

  pid_t pid() const { return child_.pid(); }  // 0: it does not run

 private:
  const Body body_;
  std::shared_ptr<const Config> config_;  // null: the child has not been started yet
  ServiceChild child_;
};

}  // namespace brood
