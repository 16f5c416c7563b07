#include "shared/store/sets/set_entries.hpp"

#include <stdexcept>
#include <utility>

#include "shared/job/payload.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/keys.hpp"

namespace brood {
namespace {

void append(std::vector<std::string>& args, const std::vector<EntryAsRead>& entries) {
  if (entries.size() > max_entries_changed) throw std::invalid_argument("one script changes at most 250 entries");
  for (const EntryAsRead& entry : entries) args.emplace_back(entry.member);
  for (const EntryAsRead& entry : entries) args.emplace_back(entry.score_text);
}

void append(std::vector<std::string>& args, const EntryAsRead* entry) {
  args.emplace_back(entry ? entry->score_text : "");
  args.emplace_back(entry ? entry->member : "");
}

void append_held(ScriptCall& call, const std::vector<EntryAsRead>& entries, const DeadLimits& limits) {
  std::vector<LetGo> let_go;
  for (std::size_t i = 0; i < entries.size(); ++i)
    append_held(let_go, entries[i].member, i + 1, JobEnding::gone, limits.timeout_seconds);
  append(call, let_go);
}

}  // namespace

ScriptCall set_page(std::string_view set_key, bool highest_first, std::size_t count, const EntryAsRead* seen,
                    const EntryAsRead* anchor) {
  ScriptCall call{&scripts::set_page, {RedisKey(set_key)}, {highest_first ? "REV" : "", std::to_string(count)}};
  append(call.args, seen);
  append(call.args, anchor);
  return call;
}

ScriptCall remove_entries(std::string_view set_key, const std::vector<EntryAsRead>& entries) {
  if (entries.empty()) throw std::invalid_argument("remove_entries takes an entry at least");
  ScriptCall call{&scripts::remove_entries, {RedisKey(set_key)}, {}};
  append(call.args, entries);
  append_held(call, entries, DeadLimits{});
  return call;
}

ScriptCall kill_entries(std::string_view set_key, const std::vector<EntryAsRead>& entries, WallTime now,
                        const DeadLimits& limits) {
  ScriptCall call{&scripts::kill_entries, {RedisKey(set_key), keys::dead}, {}};
  call.args.push_back(score_text(epoch_seconds(now)));
  for (std::string& argument : limits.script_arguments(now)) call.args.push_back(std::move(argument));
  append(call.args, entries);
  append_held(call, entries, limits);
  return call;
}

Killed read_killed(ReplyView reply) { return {static_cast<std::size_t>(reply[0].integer()), reply[1].integer() == 0}; }

ScriptCall reschedule_entry(std::string_view set_key, const EntryAsRead& entry, const std::string& new_score,
                            const std::optional<LockToKeep>& lock) {
  ScriptCall call{&scripts::reschedule_entry,
                  {RedisKey(set_key)},
                  {std::string(entry.member), std::string(entry.score_text), new_score}};
  if (lock) {
    call.keys.push_back(keys::unique_lock(lock->lock));
    call.args.push_back(lock->jid);
    call.args.push_back(std::to_string(lock->longest.count()));
  }
  return call;
}

namespace scripts {
extern const Script raise_unique;
}

std::optional<LockOfDead> lock_of_dead(std::string_view payload) {
  auto named = lock_named_by(payload);
  if (!named) return std::nullopt;
  try {
    const auto unique = uniqueness_of(Payload::parse(payload));
    if (!unique || unique->until == Uniqueness::Until::running) return std::nullopt;
    return LockOfDead{std::move(named->lock), std::move(named->jid), unique->longest,
                      unique->on_conflict == OnConflict::after};
  } catch (const BadPayload&) {
    return std::nullopt;
  }
}

ScriptCall raise_unique(DueJob job, const LockOfDead& lock) {
  return {&scripts::raise_unique,
          {keys::dead, keys::queue(job.queue), keys::queues, keys::unique_lock(lock.lock)},
          {std::string(job.member), std::string(job.score_text), std::move(job.payload_to_push), lock.jid,
           std::to_string(lock.longest.count()), lock.may_wait ? "after" : ""}};
}

Raised read_raised(ReplyView reply) {
  const std::string_view word = reply[0].text();
  if (word == "MOVED") return {Raised::Kind::moved};
  if (word == "GONE") return {Raised::Kind::gone};
  if (word == "STUCK") return {Raised::Kind::stuck};
  return {Raised::Kind::held, std::string(reply[1].text())};
}

}  // namespace brood
