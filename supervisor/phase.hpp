#pragma once

#include <string_view>

namespace brood {

enum class Phase {
  running,   // every slot is kept filled
  quiet,     // workers finish the job in hand and fetch no more
  stopping,  // as quiet, and workers exit; those that outlast the deadline are killed
  killing,   // SIGKILL has been sent; only reaping and recovery are left
};

// The events that change the phase: a signal, the Web UI, a command or a deadline.
enum class Order { quiet, resume, stop, deadline_passed };

// The phase after `order`.  Only quiet can be undone; a second stop during a stop kills.
Phase next_phase(Phase phase, Order order);

std::string_view name_of(Phase phase);

}  // namespace brood
