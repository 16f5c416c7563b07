#pragma once

#include <functional>
#include <string>
#include <vector>

#include "shared/dump_request.hpp"
#include "shared/seat.hpp"
#include "shared/store/casualty.hpp"

namespace brood {

// What forked children run.  The supervisor knows no worker: the program hands it these, and tests hand it lambdas.
// Each returns the child's exit status.
struct ChildBodies {
  std::function<int(const Seat&)> worker = {};
  std::function<int(const std::vector<Casualty>&, RecoveryMode)> autopsy = {};
  std::function<int(const Estate&, RecoveryMode)> estate = {};
  std::function<int()> sweep = {};
  std::function<int(const std::vector<DumpRequest>&)> log_stacks = {};
  // Tries what a worker would load; why it cannot be used, in a sentence, or nothing.
  std::function<std::string()> check = {};
};

}  // namespace brood
