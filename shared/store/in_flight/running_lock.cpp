#include "shared/store/in_flight/running_lock.hpp"

#include <algorithm>

#include "shared/base/log.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/scan.hpp"

namespace brood {

namespace scripts {
extern const Script take_running_lock, take_unique_lock, enter_sequence, let_go_of_stray, let_go_at_begin;
}

namespace {

// A note may contain neither blanks nor line ends.
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

ScriptCall take_unique_lock(const Fence& fence, std::string_view lock, std::string_view jid,
                            std::chrono::milliseconds longest, std::string_view sequence) {
  ScriptCall call{&scripts::take_unique_lock,
                  {keys::in_flight_hash(fence.identity), keys::unique_lock(lock)},
                  {fence.field, std::to_string(fence.number), std::string(jid), std::to_string(longest.count())}};
  if (!sequence.empty()) {
    call.keys.push_back(keys::brood_sequences);
    call.args.emplace_back(sequence);
  }
  return call;
}

ScriptCall enter_sequence(const Fence& fence, std::string_view name, std::string_view jid) {
  return {&scripts::enter_sequence,
          {keys::in_flight_hash(fence.identity), keys::brood_sequences},
          {fence.field, std::to_string(fence.number), std::string(name), std::string(jid)}};
}

ScriptCall let_go_at_begin(const Fence& fence, const std::vector<LetGo>& all) {
  ScriptCall call{
      &scripts::let_go_at_begin, {keys::in_flight_hash(fence.identity)}, {fence.field, std::to_string(fence.number)}};
  append(call, all);
  return call;
}

Taken read_taken(ReplyView reply) {
  const std::string_view word = reply.text();
  if (word == "TAKEN") return Taken::yes;
  if (word == "NO LOCK") return Taken::no_lock;
  if (word == "BEHIND") return Taken::behind;
  return word == "HELD" ? Taken::no : Taken::fenced;
}

std::optional<RunningHolder> parse_running_holder(std::string_view member) {
  const std::size_t slash = member.find('/');
  const std::size_t sharp = slash == member.npos ? slash : member.find('#', slash);
  if (sharp == member.npos) return std::nullopt;
  return RunningHolder{std::string(member.substr(0, slash)), std::string(member.substr(slash + 1, sharp - slash - 1)),
                       std::string(member.substr(sharp + 1))};
}

int let_go_of_stray_locks(Channel& redis, const std::function<bool(const RunningHolder&)>& owner_lives) {
  int let_go = 0;
  for_each_key(redis, keys::running_lock("*"), "string", [&](const std::string& name) {
    const RedisKey lock(name);
    const Reply reply = redis.call({"GET", lock});
    if (!reply.view().is_string()) return;
    const std::string member(reply.view().text());
    const std::optional<RunningHolder> holder = parse_running_holder(member);
    if (!holder || owner_lives(*holder)) return;
    const ScriptCall call{
        &scripts::let_go_of_stray, {keys::in_flight_hash(holder->identity), lock}, {holder->field, member}};
    if (redis.run(call).view().integer() == 0) return;
    ++let_go;
    log::warn("stray_lock_let_go", {{"key", name}, {"holder", member}});
  });
  return let_go;
}

}  // namespace brood
