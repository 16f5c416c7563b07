#pragma once

#include <functional>
#include <string>

#include "supervisor/process/children.hpp"
#include "supervisor/workers/generation/generations.hpp"
#include "supervisor/workers/worker_orders.hpp"

namespace brood {

// Asks workers for their stacks.  A short-lived child writes all stacks to the log, or one worker's stack to the client
// that asked.  It is a child because finding the names of functions takes time and reads files with any content.
class StackLog {
 public:
  StackLog(Children& children, const Generations& generations, WorkerOrders& orders)
      : children_(children), generations_(generations), orders_(orders) {}

  // If the child of an earlier call still runs, asks the workers but writes nothing.
  void write();

  // Calls `told` once with the object that ChildProgram::tell_stack writes; with an empty text if that fails, or an
  // earlier call is under way.
  using Told = std::function<void(const std::string& json)>;
  void tell(int slot, Told told);

 private:
  ChildProgram& program() const { return *generations_.present()->program; }

  Children& children_;
  const Generations& generations_;
  WorkerOrders& orders_;
  Child child_, teller_;
};

}  // namespace brood
