#include "shared/store/in_flight/running_lock.hpp"

#include <algorithm>

#include "shared/store/keys.hpp"

namespace brood {

namespace scripts {
extern const Script take_running_lock;
}

namespace {

// What stands in a note has neither blanks nor ends of lines.
bool is_plain(std::string_view jid) {
  return std::all_of(jid.begin(), jid.end(), [](unsigned char c) { return c > ' ' && c < 127; });
}

}  // namespace

IncarnationHoldings::Held running_lock(const Fence& fence, std::string_view digest, std::string_view jid) {
  std::string member = fence.identity + "/" + fence.field + "#";
  if (is_plain(jid)) member += jid;
  return {"running", keys::running_lock(digest), std::move(member)};
}

ScriptCall take_running_lock(const Fence& fence, const IncarnationHoldings& all) {
  const IncarnationHoldings::Held& lock = all.all().back();
  return {&scripts::take_running_lock,
          {keys::in_flight_hash(fence.identity), lock.key},
          {fence.field, std::to_string(fence.number), lock.member, all.note()}};
}

Taken read_taken(ReplyView reply) {
  const std::string_view word = reply.text();
  if (word == "TAKEN") return Taken::yes;
  return word == "HELD" ? Taken::no : Taken::fenced;
}

}  // namespace brood
