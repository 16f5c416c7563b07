#include "shared/store/holdings.hpp"

#include <string.h>

#include <algorithm>
#include <utility>

#include "shared/json/json_object.hpp"
#include "shared/store/keys.hpp"

namespace brood {
namespace {

constexpr std::string_view lock_member = mark_of_holders.substr(1, mark_of_holders.size() - 2);

}  // namespace

void append(ScriptCall& call, const std::vector<LetGo>& all) {
  for (const LetGo& one : all) {
    call.keys.push_back(one.key);
    call.args.insert(call.args.end(), {std::to_string(one.of), one.what, one.member, one.verdict});
  }
}

void append(ScriptCall& call, std::size_t counted_at, const std::vector<LetGo>& all) {
  if (all.empty()) return;
  call.args.at(counted_at) += " " + std::to_string(all.size());
  append(call, all);
}

bool may_hold(std::string_view payload) {
  return memmem(payload.data(), payload.size(), mark_of_holders.data(), mark_of_holders.size()) != nullptr;
}

std::optional<NamedLock> lock_named_by(std::string_view payload) {
  if (!may_hold(payload)) return std::nullopt;
  try {
    const JsonObject job = JsonObject::parse(payload);
    auto lock = job.string(lock_member), jid = job.string("jid");
    if (lock && jid && !lock->empty() && !jid->empty()) return NamedLock{std::move(*lock), std::move(*jid)};
  } catch (const BadJson&) {  // holds nothing
  }
  return std::nullopt;
}

void append_held(std::vector<LetGo>& all, std::string_view payload, std::size_t entry) {
  if (const auto held = lock_named_by(payload))
    all.push_back({entry, "unique", keys::unique_lock(held->lock), held->jid});
}

bool ends_job(Outcome::Kind kind) { return kind == Outcome::Kind::acknowledge || kind == Outcome::Kind::move_to_dead; }

// A line is "<what> <member> <key>": neither of the first two has a blank.
IncarnationHoldings::IncarnationHoldings(std::string_view note) {
  while (!note.empty()) {
    const std::size_t end = std::min(note.find('\n'), note.size());
    const std::string_view line = note.substr(0, end);
    note.remove_prefix(std::min(end + 1, note.size()));
    const std::size_t first = line.find(' ');
    const std::size_t second = first == line.npos ? line.npos : line.find(' ', first + 1);
    if (second == line.npos) continue;
    all_.push_back({std::string(line.substr(0, first)), RedisKey(line.substr(second + 1)),
                    std::string(line.substr(first + 1, second - first - 1))});
  }
}

std::string IncarnationHoldings::note() const {
  std::string text;
  for (const Held& held : all_) text += held.what + " " + held.member + " " + held.key.name() + "\n";
  return text;
}

void append_held(std::vector<LetGo>& all, const IncarnationHoldings& held, std::string_view identity) {
  if (held.empty()) return;
  for (const IncarnationHoldings::Held& one : held.all()) all.push_back({0, one.what, one.key, one.member});
  all.push_back({0, "note", keys::in_flight_hash(identity), held.note()});
}

}  // namespace brood
