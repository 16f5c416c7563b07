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

// Who takes: an incarnation, under the number of its last applied settle.  What it holds it holds until its next
// settle, its recovery, or until it gives it back; nobody writes anything for the first two.
struct LimitHolder {
  std::string identity, field;  // "<slot>.<incarnation>"
  std::uint64_t number = 0;
  std::string elsewhere = {};  // the shard where those two are written down; empty: where the limit is
  // Which taking under this number: what is given back of one frees nothing of another, however late it comes.
  unsigned taking = 0;

  std::string member() const;
  std::string score() const;
};
// As a limit has one written down; nullopt: it is none.
std::optional<LimitHolder> read_limit_holder(std::string_view member, std::string_view score);

// Takes all of these, or none.
ScriptCall take_limits(const LimitHolder& holder, const std::vector<Limit>& limits, std::chrono::milliseconds may_wait,
                       std::chrono::milliseconds has_waited);

struct LimitAnswer {
  enum class Kind {
    taken,
    over,  // it cannot be had in the time that the job may wait
    wait,  // it may be had by then
  } kind = Kind::taken;
  std::size_t which = 0;                     // of the limits stands in the way
  std::chrono::milliseconds until_then{-1};  // -1: nobody knows, so wait_for_slot()
  // Holders of other shards, where a slot stands in the way: whether they still hold is written down there.
  std::vector<LimitHolder> elsewhere = {};
};
LimitAnswer read_limit_answer(ReplyView reply);  // throws UnexpectedReply

// Waits in Redis until a slot of this limit is given back, or for that long.  A slot that is free since its holder has
// settled or died says nothing: ask again now and then.  Whatever is answered, take_limits() says what holds.
Command wait_for_slot(const std::string& limit_name, std::chrono::milliseconds longest);

// Whether a holder holds: answers the field of its incarnation, in the shard where that is.
Command ask_holder(const LimitHolder& holder);
bool read_still_holds(const LimitHolder& holder, ReplyView reply);
// Of a holder in a shard that is no longer configured nobody can ask.  It is gone when its supervisor does not beat
// where the limit is, as an orphan's: this answers whether it does.
Command ask_whether_owner_beats(const LimitHolder& holder);
// If it does not hold.
ScriptCall forget_holders(const std::string& limit_name, const std::vector<LimitHolder>& gone);

// Gives back what was taken.  Of points so many more (or fewer) are used than were wanted.
struct LimitUse {
  std::string name;
  LimitKind kind = LimitKind::concurrent;
  std::int64_t difference = 0;
};
ScriptCall give_back_limits(const LimitHolder& holder, const std::vector<LimitUse>& uses);

// Who is written down as holding a slot of a limit of concurrency.  The first answers its kind: slots have those alone.
Command ask_limit_kind(const std::string& limit_name);
bool read_has_slots(ReplyView reply);
Command ask_slots(const std::string& limit_name);
// What nobody of ours has written there is left out.  Nothing too where Redis refuses to tell.
std::vector<LimitHolder> read_slots(ReplyView reply);

// Who can say whether a holder still holds.
enum class Witness {
  its_field,  // in the shard where the limit lies
  its_shard,  // its field in another shard
  // That shard is configured no more, and nobody can ask there:
  ourselves,       // a worker of ours
  its_supervisor,  // which beats where the limit lies, as long as it lives
};
// Pure.  `shards` are those that are configured.
Witness witness_of(const LimitHolder& holder, std::string_view own_identity, const std::set<std::string>& shards);

}  // namespace brood
