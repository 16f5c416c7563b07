#include "worker/testing/held_sequences.hpp"

#include "shared/job/sequence.hpp"

namespace brood::testing {

bool HeldSequences::Look::allows(std::string_view payload) {
  const auto sequence = sequence_named_by(payload);
  if (!sequence) return true;
  const auto holder = held_.holders_.find(sequence->name);
  if (holder != held_.holders_.end()) return holder->second == sequence->jid;
  return seen_.insert(sequence->name).second;
}

void HeldSequences::begin(std::string_view payload) {
  if (const auto sequence = sequence_named_by(payload)) holders_.insert_or_assign(sequence->name, sequence->jid);
}

void HeldSequences::end(std::string_view payload, JobEnding ending) {
  const auto sequence = sequence_named_by(payload);
  if (!sequence || (ending == JobEnding::failed && !sequence->lets_pass)) return;
  const auto holder = holders_.find(sequence->name);
  if (holder != holders_.end() && holder->second == sequence->jid) holders_.erase(holder);
}

}  // namespace brood::testing
