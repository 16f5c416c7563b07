#pragma once

#include <string_view>

namespace brood {

enum class Phase {
  running,   // every slot is kept filled
  quiet,     // workers finish the job in hand and fetch no more
  stopping,  // as quiet, and workers exit; whoever outlasts the deadline is killed
  killing,   // SIGKILL has been sent; only reaping and recovery are left
};

// What the supervisor may be told, by a signal, by the Web UI, by a command or by a deadline.
enum class Order { quiet, resume, stop, deadline_passed };

// The phase after `order`.  Only quiet can be undone; a second stop during a stop kills.
Phase next_phase(Phase phase, Order order);

std::string_view name_of(Phase phase);

}  // namespace brood
