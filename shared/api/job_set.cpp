#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>

#include "shared/api/api_state.hpp"
#include "shared/api/entries.hpp"
#include "shared/api/entry_cursor.hpp"
#include "shared/api/entry_moves.hpp"
#include "shared/api/pages.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/scan.hpp"
#include "shared/store/sets/job_sets.hpp"
#include "shared/store/sets/set_entries.hpp"

namespace brood {
namespace {

constexpr std::size_t scanned_at_once = 250;  // half a millisecond of Redis

std::vector<SetEntry> with_scores(ClientConnection& redis, const std::string& set,
                                  std::span<const std::string_view> members) {
  std::vector<SetEntry> entries;
  while (!members.empty()) {
    const auto some = members.first(std::min(members.size(), scanned_at_once));
    members = members.subspan(some.size());
    const Reply scores = redis.call(ask_scores(set, some));
    for (const EntryAsRead& entry : read_scores(some, scores.view()))
      entries.push_back(read_entry(entry.member, entry.score_text));
  }
  return entries;
}

void scan_pattern(detail::ApiState& state, const std::string& set, const std::string& pattern,
                  const std::function<bool(const SetEntry&)>& visit) {
  std::string position(scan_begins);
  do {
    const std::vector<SetEntry> page = state.converse([&](ClientConnection& redis) {
      const Reply reply = redis.call(scan_set(set, position, pattern, scanned_at_once));
      SetScan scanned = read_set_scan(reply.view());
      position = std::move(scanned.next);
      return with_scores(redis, set, scanned.members);
    });
    for (const SetEntry& entry : page) {
      if (!visit(entry)) return;
    }
  } while (position != scan_begins);
}

}  // namespace

JobSet::JobSet(std::shared_ptr<detail::ApiState> state, std::string name)
    : state_(std::move(state)), name_(std::move(name)) {}

std::size_t JobSet::size() const {
  return state_->converse([&](ClientConnection& redis) {
    return static_cast<std::size_t>(redis.call(ask_set_size(name_)).view().integer());
  });
}

std::vector<SetEntry> JobSet::page(std::size_t number, std::size_t per_page, Order order) const {
  const PageRange range = page_range(number, per_page);
  const Command ask = ask_entries_at(name_, range.first, range.last, order == Order::highest_first);
  return state_->converse([&](ClientConnection& redis) { return read_entries(redis.call(ask).view()); });
}

void JobSet::each(const std::function<bool(const SetEntry&)>& visit) const {
  for (EntryCursor cursor(name_, Order::highest_first);;) {
    const std::vector<SetEntry> page = state_->converse([&](ClientConnection& redis) { return cursor.next(redis); });
    if (page.empty()) return;
    for (const SetEntry& entry : page) {
      if (!visit(entry)) return;
    }
  }
}

void JobSet::scan(std::string_view match, const std::function<bool(const SetEntry&)>& visit) const {
  const bool whole = match.find('*') != std::string_view::npos;
  scan_pattern(*state_, name_,
               whole           ? std::string(match)
               : match.empty() ? "*"
                               : "*" + std::string(match) + "*",
               visit);
}

std::optional<SetEntry> JobSet::find(std::string_view jid) const {
  std::optional<SetEntry> found;
  if (jid.empty()) return found;
  scan_pattern(*state_, name_, pattern_of_jid(jid), [&](const SetEntry& entry) {
    if (entry.jid == jid) found = entry;
    return !found;
  });
  return found;
}

std::vector<SetEntry> JobSet::fetch(double score) const { return fetch(score, score); }

std::vector<SetEntry> JobSet::fetch(double lowest, double highest) const {
  if (std::isnan(lowest) || std::isnan(highest)) throw std::invalid_argument("a score is a number");
  std::vector<SetEntry> fetched;
  EntryCursor cursor(name_, Order::lowest_first);
  cursor.start_at(lowest);
  for (;;) {
    std::vector<SetEntry> page = state_->converse([&](ClientConnection& redis) { return cursor.next(redis); });
    for (SetEntry& entry : page) {
      if (entry.score > highest) return fetched;
      fetched.push_back(std::move(entry));
    }
    if (page.empty()) return fetched;
  }
}

bool JobSet::remove(const SetEntry& entry) {
  return state_->converse(
             [&](ClientConnection& redis) { return EntryMoves(*state_, name_).remove(redis, {entry}).done; }) > 0;
}

bool JobSet::run(const SetEntry& entry) {
  if (!entry.is_job) throw std::invalid_argument("an entry that is no job cannot run");
  return state_->converse([&](ClientConnection& redis) {
    const BulkResult moved = EntryMoves(*state_, name_).run(redis, {entry});
    if (moved.stuck > 0)
      throw RedisError("Redis at " + redis.name() + ": the key of the queue \"" + entry.queue + "\" is no list");
    return moved.done > 0;
  });
}

bool JobSet::kill(const SetEntry& entry) {
  return state_->converse(
             [&](ClientConnection& redis) { return EntryMoves(*state_, name_).kill(redis, {entry}).done; }) > 0;
}

bool JobSet::reschedule(const SetEntry& entry, Time time) {
  const std::string score = json_time(wall_time(time), TimeUnit::float_seconds);  // to the microsecond, as Ruby's
  return state_->converse([&](ClientConnection& redis) {
    return redis.run(reschedule_entry(name_, {entry.payload, entry.score_text}, score)).view().integer() == 1;
  });
}

BulkResult JobSet::remove_if(const Condition& wanted, const Progress& progress) {
  return change_entries(*state_, name_, &EntryMoves::remove, wanted, progress);
}

BulkResult JobSet::run_all(const Condition& wanted, const Progress& progress) {
  return change_entries(*state_, name_, &EntryMoves::run, wanted, progress);
}

BulkResult JobSet::kill_all(const Condition& wanted, const Progress& progress) {
  return change_entries(*state_, name_, &EntryMoves::kill, wanted, progress);
}

void JobSet::clear() {
  state_->converse([&](ClientConnection& redis) { redis.call(drop_set(name_)); });
}

}  // namespace brood
