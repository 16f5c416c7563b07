#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shared/job/payload.hpp"

namespace brood {

// What a payload says about the order of its job: `sequence`, a name, and `if_failed`.  Jobs of one sequence run one
// after the other, in the order of their queue.  A failed one holds up the others until it succeeds or dies; with
// `if_failed` "pass" they go on while it waits for its retry.
struct Sequence {
  std::string name;  // 1 to longest_sequence bytes
  std::string jid;   // not empty
  bool lets_pass = false;
};

inline constexpr std::size_t longest_sequence = 255;
inline constexpr std::string_view mark_of_sequence = "quence\"";

// nullopt: the job is in no sequence, or it says something wrong.  Also for a payload that cannot be read.
std::optional<Sequence> sequence_named_by(std::string_view payload);
std::optional<Sequence> sequence_named_by(const Payload& job);

// What is wrong with what it says, as a sentence; empty: nothing.
std::string problem_of_sequence(const Payload& job);
// The same of one member of a push: `name` is "sequence" or "if_failed".
std::string problem_of_sequence_member(std::string_view name, std::string_view json);

}  // namespace brood
