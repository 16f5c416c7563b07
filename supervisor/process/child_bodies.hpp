#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shared/scoreboard/dump_request.hpp"
#include "shared/scoreboard/seat.hpp"
#include "shared/store/casualty.hpp"

namespace brood {

// What forked children run.  The supervisor knows no worker: the program hands it these, and tests hand it lambdas.
// Each returns the child's exit status.
struct ChildBodies {
  // How many bytes have gone to Redis and come from it: a child in which they move is not hanging.
  using ByteCount = std::atomic<std::uint64_t>;

  std::function<int(const Seat&)> worker = {};
  std::function<int(const std::vector<Casualty>&, RecoveryMode, ByteCount&)> autopsy = {};
  std::function<int(const Estate&, RecoveryMode, ByteCount&)> estate = {};
  std::function<int(const OwnIncarnations&)> sweep = {};
  std::function<int(const std::vector<DumpRequest>&)> log_stacks = {};
  // Tries what a worker would load; why it cannot be used, in a sentence, or nothing.
  std::function<std::string()> check = {};
};

}  // namespace brood
