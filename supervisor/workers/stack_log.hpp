#pragma once

#include <functional>
#include <string>

#include "supervisor/process/child_bodies.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/workers/worker_orders.hpp"

namespace brood {

// Asks the workers for their stacks.  A short-lived child writes the stacks to the log, or that of one worker for who
// asks, since finding the names of functions takes time and reads files that may be anything.
class StackLog {
 public:
  StackLog(Children& children, const ChildBodies& bodies, WorkerOrders& orders)
      : children_(children), bodies_(bodies), orders_(orders) {}

  // While such a child still runs, the workers are asked and nothing is written.
  void write();

  // Calls `told` once with the object that ChildBodies::tell_stack writes; with an empty text if that does not come, or
  // another one is being told.
  using Told = std::function<void(const std::string& json)>;
  void tell(int slot, Told told);

 private:
  Children& children_;
  const ChildBodies& bodies_;
  WorkerOrders& orders_;
  Child child_, teller_;
};

}  // namespace brood
