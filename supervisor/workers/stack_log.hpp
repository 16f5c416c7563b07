#pragma once

#include "supervisor/process/child_bodies.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/workers/worker_orders.hpp"

namespace brood {

// Asks the workers for their stacks.  A short-lived child writes the stacks to the log, since finding the names of
// functions takes time and reads files that may be anything.
class StackLog {
 public:
  StackLog(Children& children, const ChildBodies& bodies, WorkerOrders& orders)
      : children_(children), bodies_(bodies), orders_(orders) {}

  // While such a child still runs, the workers are asked and nothing is written.
  void write();

 private:
  Children& children_;
  const ChildBodies& bodies_;
  WorkerOrders& orders_;
  Child child_;
};

}  // namespace brood
