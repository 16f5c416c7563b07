#include <cmath>
#include <random>
#include <stdexcept>

#include "shared/api/api_state.hpp"
#include "shared/api/entries.hpp"
#include "shared/api/entry_cursor.hpp"
#include "shared/api/entry_moves.hpp"
#include "shared/api/pages.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/sets/set_entries.hpp"

namespace brood {
namespace {

constexpr std::size_t scanned_at_once = 250;  // half a millisecond of Redis

// Members with their scores, spelled as other commands spell them: ZSCAN spells them differently.
std::vector<SetEntry> with_scores(ClientConnection& redis, const std::string& set, ReplyView scanned) {
  std::vector<SetEntry> entries;
  for (std::size_t first = 0; first < scanned.size();) {
    Command command{"ZMSCORE", set};
    const std::size_t begin = first;
    for (; first < scanned.size() && command.args.size() < 2 + scanned_at_once; first += 2)
      command.add(scanned[first].text());
    const Reply scores = redis.call(command);
    for (std::size_t i = 0; i < scores.view().size(); ++i) {
      if (!scores.view()[i].is_nil())
        entries.push_back(read_entry(scanned[begin + 2 * i].text(), scores.view()[i].text()));
    }
  }
  return entries;
}

void scan_pattern(detail::ApiState& state, const std::string& set, const std::string& pattern,
                  const std::function<bool(const SetEntry&)>& visit) {
  std::string position = "0";
  do {
    const std::vector<SetEntry> page = state.converse([&](ClientConnection& redis) {
      const Reply reply =
          redis.call({"ZSCAN", set, position, "MATCH", pattern, "COUNT", std::to_string(scanned_at_once)});
      position = reply.view()[0].text();
      return with_scores(redis, set, reply.view()[1]);
    });
    for (const SetEntry& entry : page) {
      if (!visit(entry)) return;
    }
  } while (position != "0");
}

}  // namespace

JobSet::JobSet(std::shared_ptr<detail::ApiState> state, std::string name)
    : state_(std::move(state)), name_(std::move(name)) {}

std::size_t JobSet::size() const {
  return state_->converse([&](ClientConnection& redis) {
    return static_cast<std::size_t>(redis.call({"ZCARD", name_}).view().integer());
  });
}

std::vector<SetEntry> JobSet::page(std::size_t number, std::size_t per_page, Order order) const {
  const PageRange range = page_range(number, per_page);
  const char* const command = order == Order::lowest_first ? "ZRANGE" : "ZREVRANGE";
  return state_->converse([&](ClientConnection& redis) {
    return read_entries(redis.call({command, name_, range.first, range.last, "WITHSCORES"}).view());
  });
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
  state_->converse([&](ClientConnection& redis) { redis.call({"UNLINK", name_}); });
}

}  // namespace brood
