#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace brood {

// Every system call of Linux, by its possible effect on a job's supervisor: one table, from which the shield makes its
// filter.  A filter sees the number of a call and the values of its arguments, but not the memory that they point to.

enum class CallReach {
  own,         // the caller, its group, its descriptors, and files it may open: none of them is the supervisor
  privileged,  // others too, but only with a capability or the right to trace them, which the same user does not have
               // trace a supervisor, which cannot be dumped
  named,       // the process that an argument names: refused if that is the supervisor
  hidden,      // others, by arguments that a filter cannot read: always refused
};

struct CallGroup {
  CallReach reach;
  std::string_view names;  // a space between them
};
std::span<const CallGroup> call_groups();

// nullopt: the table does not know it.
std::optional<CallReach> reach_of(std::string_view call);

// A call is refused if its argument names this process, group or number.
enum class Named { supervisor, its_group, minus_its_group, number };

struct Condition {
  unsigned argument;
  Named named;
  std::int64_t number = 0;  // of Named::number
};

// A call that is refused with `error` when all conditions hold; without conditions always.
struct Refusal {
  std::string_view call;
  int error;
  std::span<const Condition> conditions;
};
std::span<const Refusal> refusals();

}  // namespace brood
