#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Resolves a host name in a short-lived child: getaddrinfo blocks, and this loop does not.
class Resolver {
 public:
  // `done` gets the numeric addresses; none when the name did not resolve within ten seconds.
  using Done = std::function<void(std::vector<std::string>)>;

  explicit Resolver(EventLoop& loop);

  // Begins to resolve, unless it is about to already.  Throws std::system_error when it cannot fork.
  void resolve(const std::string& host, Done done);

  bool is_child(pid_t pid) const { return pid != 0 && pid == pid_; }
  // The child ended: what it wrote is the answer.
  void reaped();

 private:
  Timer deadline_;
  pid_t pid_ = 0;
  UniqueFd answers_;
  Done done_;
};

}  // namespace brood
