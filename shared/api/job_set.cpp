#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>

#include "shared/api/api_state.hpp"
#include "shared/api/entries.hpp"
#include "shared/api/entry_moves.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/uniqueness.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/marked_jobs.hpp"
#include "shared/store/scan.hpp"
#include "shared/store/sets/job_sets.hpp"
#include "shared/store/sets/set_entries.hpp"
#include "shared/store/take_aside.hpp"

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

// Returns false if `visit` wants no more.  `round` is called after each page; if it returns false, that ends the scan
// too.
bool scan_pattern(detail::ApiState& state, const std::string& set, const std::string& pattern,
                  const std::function<bool(const SetEntry&)>& visit, const std::function<bool()>& round = {}) {
  std::string position(scan_begins);
  do {
    std::vector<SetEntry> page = state.converse([&](ClientConnection& redis) {
      const Reply reply = redis.call(scan_set(set, position, pattern, scanned_at_once));
      SetScan scanned = read_set_scan(reply.view());
      position = std::move(scanned.next);
      return with_scores(redis, set, scanned.members);
    });
    for (SetEntry& entry : page) {
      entry.shard = state.shard();
      if (!visit(entry)) return false;
    }
    if (round && position != scan_begins && !round()) return false;
  } while (position != scan_begins);
  return true;
}

// The lock of a scheduled job with `unique_for`, which counts from when the job is due.
std::optional<LockToKeep> lock_until_due(ClientConnection& redis, std::string_view payload, WallTime due) {
  const auto named = lock_named_by(payload);
  if (!named) return std::nullopt;
  try {
    const auto unique = uniqueness_of(Payload::parse(payload));
    if (!unique || unique->longest.count() == 0) return std::nullopt;
    redis.ask_time();
    const auto until_due = std::chrono::duration_cast<std::chrono::milliseconds>(due - redis_now());
    return LockToKeep{named->lock, named->jid, unique->longest + std::max(until_due, std::chrono::milliseconds(0))};
  } catch (const BadPayload&) {
    return std::nullopt;
  }
}

std::size_t set_size(detail::ApiState& state, const std::string& set) {
  return state.converse([&](ClientConnection& redis) {
    return static_cast<std::size_t>(redis.call(ask_set_size(set)).view().integer());
  });
}

// The entries of one shard, in order.
struct Source {
  detail::ApiState& state;
  EntryCursor cursor;
  std::vector<SetEntry> page = {};
  std::size_t at = 0;

  bool empty() const { return at == page.size(); }
  const SetEntry& next() const { return page[at]; }
  void read() {
    page = state.converse([&](ClientConnection& redis) { return cursor.next(redis); });
    at = 0;
    for (SetEntry& entry : page) entry.shard = state.shard();
  }
};

// Walks through the sets of all shards as if they were one set.
void walk(const detail::ApiShards& shards, const EntryCursor& begin, JobSet::Order order,
          const std::function<bool(SetEntry&)>& visit) {
  std::vector<Source> sources;
  shards.each([&](detail::ApiState& shard) {
    Source source{shard, begin};
    source.read();
    sources.push_back(std::move(source));
  });
  for (;;) {
    Source* first = nullptr;
    for (Source& source : sources) {
      if (source.empty()) continue;
      if (first == nullptr || (order == JobSet::Order::lowest_first ? comes_before(source.next(), first->next())
                                                                    : comes_before(first->next(), source.next())))
        first = &source;
    }
    if (first == nullptr || !visit(first->page[first->at++])) return;
    if (first->empty() && !shards.goes_on(first->state, [&](detail::ApiState&) { first->read(); })) first->page.clear();
  }
}

// One by one, so that each lets go of what it holds.
void remove_holding_jobs_of_set(ClientConnection& redis, const std::string& set) {
  for (std::size_t first = 0;;) {
    const MarkedJobs page = read_marked_jobs(redis.run(holding_jobs_of_set(set, first)).view());
    if (page.looked_at == 0) return;
    for (std::size_t i = 0; i < page.jobs.size(); i += max_entries_changed) {
      std::vector<EntryAsRead> some;
      for (std::size_t j = i; j < std::min(page.jobs.size(), i + max_entries_changed); ++j)
        some.push_back({page.jobs[j].payload, page.jobs[j].score_text});
      redis.run(remove_entries(set, some));
    }
    first += page.looked_at - page.jobs.size();  // these have gone
  }
}

}  // namespace

JobSet::JobSet(std::shared_ptr<detail::ApiShards> shards, std::string name)
    : shards_(std::move(shards)), name_(std::move(name)) {}

std::size_t JobSet::size() const {
  return shards_->sum([&](detail::ApiState& shard) { return set_size(shard, name_); });
}

std::vector<SetEntry> JobSet::page(std::size_t number, std::size_t per_page, Order order) const {
  const PageRange range = page_range(number, per_page);
  std::vector<SetEntry> entries;
  if (!shards_->several()) {
    detail::ApiState& only = shards_->only();
    const Command ask = ask_entries_at(name_, range.first, range.last, order == Order::highest_first);
    entries = only.converse([&](ClientConnection& redis) { return read_entries(redis.call(ask).view()); });
    for (SetEntry& entry : entries) entry.shard = only.shard();
    return entries;
  }
  std::size_t before = number * per_page;
  walk(*shards_, EntryCursor(name_, order), order, [&](SetEntry& entry) {
    if (before > 0)
      --before;
    else
      entries.push_back(std::move(entry));
    return entries.size() < per_page;
  });
  return entries;
}

void JobSet::each(const std::function<bool(const SetEntry&)>& visit, Order order) const {
  walk(*shards_, EntryCursor(name_, order), order, [&](const SetEntry& entry) { return visit(entry); });
}

void JobSet::scan(std::string_view match, const std::function<bool(const SetEntry&)>& visit) const {
  scan(match, visit, {});
}

bool JobSet::scan(std::string_view match, const std::function<bool(const SetEntry&)>& visit,
                  const Progress& progress) const {
  const bool whole = match.find('*') != std::string_view::npos;
  const std::string pattern = whole ? std::string(match) : match.empty() ? "*" : "*" + std::string(match) + "*";
  const std::size_t total = progress ? size() : 0;
  std::size_t looked_at = 0;
  bool goes_on = true, stopped = false;
  const auto round = [&] {
    looked_at = std::min(total, looked_at + scanned_at_once);
    stopped = progress && !progress(looked_at, total);
    return !stopped;
  };
  shards_->each(
      [&](detail::ApiState& shard) { goes_on = goes_on && scan_pattern(shard, name_, pattern, visit, round); });
  return !stopped;
}

std::optional<SetEntry> JobSet::find(std::string_view jid) const {
  std::optional<SetEntry> found;
  if (jid.empty()) return found;
  shards_->each([&](detail::ApiState& shard) {
    if (found) return;
    scan_pattern(shard, name_, pattern_of_jid(jid), [&](const SetEntry& entry) {
      if (entry.jid == jid) found = entry;
      return !found;
    });
  });
  return found;
}

std::optional<SetEntry> JobSet::find(double score, const std::function<bool(const SetEntry&)>& wanted) const {
  if (std::isnan(score)) throw std::invalid_argument("a score is a number");
  std::optional<SetEntry> found;
  EntryCursor cursor(name_, Order::lowest_first);
  cursor.start_at(score);
  walk(*shards_, cursor, Order::lowest_first, [&](SetEntry& entry) {
    if (entry.score > score) return false;
    if (wanted(entry)) found = std::move(entry);
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
  walk(*shards_, cursor, Order::lowest_first, [&](SetEntry& entry) {
    if (entry.score > highest) return false;
    fetched.push_back(std::move(entry));
    return true;
  });
  return fetched;
}

bool JobSet::remove(const SetEntry& entry) {
  return shards_->any(entry.shard, [&](detail::ApiState& shard) {
    return shard.converse(
               [&](ClientConnection& redis) { return EntryMoves(shard, name_).remove(redis, {entry}).done; }) > 0;
  });
}

bool JobSet::run(const SetEntry& entry) {
  if (!entry.is_job) throw std::invalid_argument("an entry that is no job cannot run");
  return shards_->any(entry.shard, [&](detail::ApiState& shard) {
    return shard.converse([&](ClientConnection& redis) {
      EntryMoves moves(shard, name_);
      const BulkResult moved = moves.run(redis, {entry});
      if (!moves.holder().empty())
        throw JobStays("Redis at " + redis.name() + ": the job stays: job " + moves.holder() + " holds its lock");
      if (moved.stuck > 0)
        throw JobStays("Redis at " + redis.name() + ": the job stays: " +
                       (entry.queue.empty() ? "its queue has no name"
                                            : "the key of the queue \"" + entry.queue + "\" is no list"));
      return moved.done > 0;
    });
  });
}

bool JobSet::kill(const SetEntry& entry) {
  return shards_->any(entry.shard, [&](detail::ApiState& shard) {
    return shard.converse([&](ClientConnection& redis) { return EntryMoves(shard, name_).kill(redis, {entry}).done; }) >
           0;
  });
}

bool JobSet::reschedule(const SetEntry& entry, Time time) {
  const std::string score = json_time(wall_time(time), TimeUnit::float_seconds);  // to the microsecond, as Ruby's
  return shards_->any(entry.shard, [&](detail::ApiState& shard) {
    return shard.converse([&](ClientConnection& redis) {
      const auto lock = name_ == scheduled_set ? lock_until_due(redis, entry.payload, wall_time(time)) : std::nullopt;
      return redis.run(reschedule_entry(name_, {entry.payload, entry.score_text}, score, lock)).view().integer() == 1;
    });
  });
}

BulkResult JobSet::remove_if(const Condition& wanted, const Progress& progress) {
  return change_entries(*shards_, name_, &EntryMoves::remove, wanted, progress);
}

BulkResult JobSet::run_all(const Condition& wanted, const Progress& progress) {
  return change_entries(*shards_, name_, &EntryMoves::run, wanted, progress);
}

BulkResult JobSet::kill_all(const Condition& wanted, const Progress& progress) {
  return change_entries(*shards_, name_, &EntryMoves::kill, wanted, progress);
}

// As Queue::clear().
std::size_t JobSet::clear() {
  const std::string aside = set_aside_for_clearing(name_);
  return shards_->sum([&](detail::ApiState& shard) {
    return shard.converse([&](ClientConnection& redis) {
      std::size_t deleted = 0;
      for (TakenAside aside_now{}; !aside_now.taken;) {
        aside_now = read_taken_aside(redis.run(take_set_aside(name_)).view());
        if (name_ != dead_set && aside_now.jobs > 0) remove_holding_jobs_of_set(redis, aside);
        redis.call(drop_set(aside));
        deleted += aside_now.jobs;
      }
      return deleted;
    });
  });
}

}  // namespace brood
