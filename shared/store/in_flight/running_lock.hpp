#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/reply.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/script.hpp"

namespace brood {

// An incarnation and its progress.  A script that takes something for the incarnation gets both, and takes nothing once
// they are out of date.
struct Fence {
  std::string identity;
  std::string field;         // "<slot>.<incarnation>"
  std::uint64_t number = 0;  // of the last applied settle
};

// A lock that a job holds while it runs.
IncarnationHoldings::Held running_lock(const Fence& fence, std::string_view digest, std::string_view jid);

// Whether an incarnation got what it wanted.
enum class Taken {
  yes,
  no,       // another has it
  behind,   // another job has it, and waits for the sequence that the asking job holds
  no_lock,  // it cannot be taken: a key of another type lies in its place
  fenced,   // the incarnation is not the sender's any more
};

// Takes the last lock in `all`, which lists all that the incarnation then holds.
ScriptCall take_running_lock(const Fence& fence, const IncarnationHoldings& all);
Taken read_taken(ReplyView reply);  // throws UnexpectedReply

// Takes the lock of a unique job that was pushed while another held it.  From then on the job holds the lock as if it
// had been pushed with it.  The lock lives for `longest`; 0: as long as the job.  `sequence` is the job's; "": none.
ScriptCall take_unique_lock(const Fence& fence, std::string_view lock, std::string_view jid,
                            std::chrono::milliseconds longest, std::string_view sequence = {});

// Whether a job may begin as the next one of its sequence; it holds the sequence then.  Read with read_taken().
ScriptCall enter_sequence(const Fence& fence, std::string_view name, std::string_view jid);

// Lets go of what a job held only until its beginning, or of what was taken for a job that does not begin after all.
// Changes nothing else.
ScriptCall let_go_at_begin(const Fence& fence, const std::vector<LetGo>& all);

// The holder of a running lock; nullopt if brood's scripts did not write it.
struct RunningHolder {
  std::string identity, field, jid;
};
std::optional<RunningHolder> parse_running_holder(std::string_view member);

// Lets go of the locks whose incarnation has neither a field nor a living owner: such locks remain if the incarnation's
// note was deleted.  Scans all keys of that Redis.  Returns how many.  Throws ConnectionLost or UnexpectedReply.
int let_go_of_stray_locks(Channel& redis, const std::function<bool(const RunningHolder&)>& owner_lives);

}  // namespace brood
