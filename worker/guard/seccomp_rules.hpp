#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace brood {

// A table of every system call of Linux, by its possible effect on a job's supervisor.  The shield makes its filter
// from this table.  A filter sees the number of a call and the values of its arguments, but not the memory that they
// point to.

// The processes that a call may affect.
enum class CallReach {
  own,         // the caller, its group, its descriptors, and files it may open: none of them is the supervisor
  privileged,  // others too, but only with a capability or the right to trace them.  A process of the same user has no
               // right to trace a supervisor, which cannot be dumped
  named,       // the process that an argument names: refused if that is the supervisor
  hidden,      // others, by arguments that a filter cannot read: always refused
};

struct CallGroup {
  CallReach reach;
  std::string_view names;  // separated by spaces
};
std::span<const CallGroup> call_groups();

// Returns nullopt for a call that the table does not have.
std::optional<CallReach> reach_of(std::string_view call);

// The process, group or number that an argument must name for a call to be refused.
enum class Named { supervisor, its_group, minus_its_group, number };

// Holds if the argument with this index, from 0 on, names it.
struct Condition {
  unsigned argument;
  Named named;
  std::int64_t number = 0;  // of Named::number
};

// The call is refused with the errno `error` when all conditions hold.  Without conditions it is always refused.
struct Refusal {
  std::string_view call;
  int error;
  std::span<const Condition> conditions;
};
std::span<const Refusal> refusals();

}  // namespace brood
