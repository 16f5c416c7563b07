#pragma once

#include <functional>
#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "supervisor/process/children.hpp"

namespace brood {

// Resolves a host name in a short-lived child: getaddrinfo blocks, and the loop must not.
class Resolver {
 public:
  // `done` gets the numeric addresses; none when the name did not resolve within ten seconds.
  using Done = std::function<void(std::vector<std::string>)>;

  explicit Resolver(Children& children) : children_(children) {}

  // Begins to resolve, unless it is about to already.  Throws std::system_error when it cannot fork.
  void resolve(const std::string& host, Done done);

 private:
  void ended();

  Children& children_;
  UniqueFd answers_;
  Done done_;
  Child child_;
};

}  // namespace brood
