#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/limits/limit.hpp"
#include "shared/store/script.hpp"

namespace brood {

// The holder of a limit: an incarnation, under the number of its last applied settle.  It holds what it takes until it
// gives that back, settles again or is recovered.  A settle or a recovery frees it without a further write.
struct LimitHolder {
  std::string identity, field;  // "<slot>.<incarnation>"
  std::uint64_t number = 0;
  std::string elsewhere = {};  // the shard that has its field; empty: the limit's own
  // Counts the takings under this number: giving one back, however late, frees nothing of another.
  unsigned taking = 0;

  std::string member() const;
  std::string score() const;
};
// A holder as stored with a limit; nullopt if it is none.
std::optional<LimitHolder> read_limit_holder(std::string_view member, std::string_view score);

// Takes all of these limits, or none.
ScriptCall take_limits(const LimitHolder& holder, const std::vector<Limit>& limits, std::chrono::milliseconds may_wait,
                       std::chrono::milliseconds has_waited);

struct LimitAnswer {
  enum class Kind {
    taken,
    over,  // not available in the time that the job may wait
    wait,  // may be available then
  } kind = Kind::taken;
  std::size_t which = 0;                     // the index of the limit that stands in the way
  std::chrono::milliseconds until_then{-1};  // -1: unknown, so wait_for_slot()
  // If no slot is free: the holders whose fields are in other shards.  Only those shards know whether they still hold.
  std::vector<LimitHolder> elsewhere = {};
};
LimitAnswer read_limit_answer(ReplyView reply);  // throws UnexpectedReply

// Waits in Redis until a slot of this limit is given back, at most for `longest`.  A slot that becomes free by a settle
// or a death does not end the wait: ask again now and then.  Whatever the answer, only take_limits() shows whether a
// slot is free.
Command wait_for_slot(const std::string& limit_name, std::chrono::milliseconds longest);

// Asks whether a holder still holds: answers the field of its incarnation, in the shard that has it.
Command ask_holder(const LimitHolder& holder);
bool read_still_holds(const LimitHolder& holder, ReplyView reply);
// Asks whether the holder's supervisor beats in the limit's shard.  It decides for a holder in a shard that is no
// longer configured: if the supervisor does not beat, the holder is gone, as an orphan is.
Command ask_whether_owner_beats(const LimitHolder& holder);
// Frees the slots of those that no longer hold.
ScriptCall forget_holders(const std::string& limit_name, const std::vector<LimitHolder>& gone);

// Gives back what was taken.  For points, `difference` is how many more were used than were wanted.
struct LimitUse {
  std::string name;
  LimitKind kind = LimitKind::concurrent;
  std::int64_t difference = 0;
};
ScriptCall give_back_limits(const LimitHolder& holder, const std::vector<LimitUse>& uses);

// The stored holders of slots of a limit of concurrency.  Ask its kind first: other kinds have no slots.
Command ask_limit_kind(const std::string& limit_name);
bool read_has_slots(ReplyView reply);
Command ask_slots(const std::string& limit_name);
// Leaves out entries that brood did not write; empty if Redis refuses to answer.
std::vector<LimitHolder> read_slots(ReplyView reply);

// The evidence whether a holder still holds.
enum class Witness {
  its_field,  // in the shard where the limit lies
  its_shard,  // its field, in another shard
  // The next two are for a shard that is no longer configured, so that the field cannot be read.
  ourselves,       // the holder is one of our workers
  its_supervisor,  // which beats where the limit lies, as long as it lives
};
// Pure.  `shards` are those that are configured.
Witness witness_of(const LimitHolder& holder, std::string_view own_identity, const std::set<std::string>& shards);

}  // namespace brood
