#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shared/job/payload.hpp"

namespace brood {

// The members of a payload about the order of its job: `sequence`, a name, and `if_failed`.  Jobs of one sequence run
// one after the other, in the order of their queue.  A failed job holds up the others until it succeeds or dies.  If
// its `if_failed` is "pass", the others go on while it waits for its retry.
struct Sequence {
  std::string name;  // 1 to longest_sequence bytes
  std::string jid;   // not empty
  bool lets_pass = false;
};

inline constexpr std::size_t longest_sequence = 255;
inline constexpr std::string_view mark_of_sequence = "quence\"";

// nullopt: the job is in no sequence, its members are invalid, or the payload cannot be read.
std::optional<Sequence> sequence_named_by(std::string_view payload);
std::optional<Sequence> sequence_named_by(const Payload& job);

// Why these members are invalid, as a sentence; empty if they are valid.
std::string problem_of_sequence(const Payload& job);
// The same for one member of a push: `name` is "sequence" or "if_failed".
std::string problem_of_sequence_member(std::string_view name, std::string_view json);

}  // namespace brood
