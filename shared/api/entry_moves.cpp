#include "shared/api/entry_moves.hpp"

#include <algorithm>

#include "shared/api/api_state.hpp"
#include "shared/api/entries.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/job/due_job.hpp"
#include "shared/store/sets/due_jobs.hpp"
#include "shared/store/sets/job_sets.hpp"
#include "shared/store/sets/set_entries.hpp"

namespace brood {
namespace {

std::vector<EntryAsRead> as_read(const std::vector<SetEntry>& entries) {
  std::vector<EntryAsRead> read;
  read.reserve(entries.size());
  for (const SetEntry& entry : entries) read.push_back({entry.payload, entry.score_text});
  return read;
}

BulkResult done_of(std::size_t done, std::size_t all) {
  BulkResult result;
  result.done = done;
  result.gone = all - done;
  return result;
}

}  // namespace

EntryMoves::EntryMoves(detail::ApiState& state, std::string set)
    : state_(state), set_(std::move(set)), dead_(state.dead()), random_(std::random_device{}()) {}

BulkResult EntryMoves::remove(ClientConnection& redis, const std::vector<SetEntry>& entries) {
  const Reply removed = redis.run(remove_entries(set_, as_read(entries)));
  return done_of(static_cast<std::size_t>(removed.view().integer()), entries.size());
}

BulkResult EntryMoves::run(ClientConnection& redis, const std::vector<SetEntry>& entries) {
  BulkResult result;
  const auto count = set_ == scheduled_set ? RetryCount::as_it_is : RetryCount::one_less;
  redis.ask_time();
  const WallTime now = redis_now();
  const ExpiryClock clock = set_ == scheduled_set ? ExpiryClock{ExpiryClock::Kind::begins, now}
                            : set_ == dead_set    ? ExpiryClock{ExpiryClock::Kind::begins_again, now}
                                                  : ExpiryClock{};
  const bool all_have_times =
      std::ranges::all_of(entries, [](const SetEntry& one) { return one.created_at.has_value(); });
  const TimeUnit otherwise = all_have_times ? usual_time_unit : state_.times(redis);
  std::vector<DueJob> jobs;
  for (const SetEntry& entry : entries) {
    RewrittenJob job = prepare_due_job(entry.payload, now, random_, otherwise, count, clock);
    if (job.queue.empty()) {
      ++result.stuck;
      continue;
    }
    DueJob due{entry.payload, entry.score_text, std::move(job.queue), std::move(job.payload)};
    const auto lock = set_ == dead_set ? lock_of_dead(entry.payload) : std::nullopt;
    if (lock)
      raise(redis, std::move(due), *lock, result);
    else
      jobs.push_back(std::move(due));
  }
  if (jobs.empty()) return result;
  const MoveCounts moved = read_moved(redis.run(move_due(set_, std::move(jobs))).view());
  result.done += moved.moved;
  result.gone += moved.gone;
  result.stuck += moved.stuck;
  return result;
}

void EntryMoves::raise(ClientConnection& redis, DueJob job, const LockOfDead& lock, BulkResult& result) {
  Raised raised = read_raised(redis.run(raise_unique(std::move(job), lock)).view());
  ++(raised.kind == Raised::Kind::moved ? result.done : raised.kind == Raised::Kind::gone ? result.gone : result.stuck);
  if (raised.kind == Raised::Kind::held) holder_ = std::move(raised.holder);
}

BulkResult EntryMoves::kill(ClientConnection& redis, const std::vector<SetEntry>& entries) {
  redis.ask_time();
  Killed killed = read_killed(redis.run(kill_entries(set_, as_read(entries), redis_now(), dead_)).view());
  const std::size_t moved = killed.moved;
  while (!killed.trimmed) killed = read_killed(redis.run(kill_entries(set_, {}, redis_now(), dead_)).view());
  return done_of(moved, entries.size());
}

namespace {

BulkResult change_entries_of(detail::ApiState& state, const std::string& set,
                             BulkResult (EntryMoves::*change)(ClientConnection&, const std::vector<SetEntry>&),
                             const JobSet::Condition& wanted, const Progress& progress) {
  BulkResult result;
  std::size_t total = 0;
  std::vector<SetEntry> end;
  state.converse([&](ClientConnection& redis) {
    total = static_cast<std::size_t>(redis.call(ask_set_size(set)).view().integer());
    end = read_entries(redis.call(ask_last_entry(set)).view());
  });
  if (end.empty()) return result;
  // Jobs that come back at once, before the end, must not keep this loop going for ever.
  const std::size_t most = 2 * total + 1000;

  EntryMoves moves(state, set);
  EntryCursor cursor(set, JobSet::Order::lowest_first);
  for (bool at_end = false; !at_end;) {
    std::vector<SetEntry> page = state.converse([&](ClientConnection& redis) { return cursor.next(redis); });
    for (SetEntry& entry : page) entry.shard = state.shard();
    at_end = page.empty();
    std::vector<SetEntry> batch;
    for (const SetEntry& entry : page) {
      at_end = comes_before(end.front(), entry) || result.looked_at == most;
      if (at_end) break;
      ++result.looked_at;
      if (!wanted || wanted(entry)) {
        batch.push_back(entry);
      } else {
        cursor.left(entry);
      }
    }
    result.wanted += batch.size();
    if (!batch.empty()) {
      const BulkResult changed = state.converse([&](ClientConnection& redis) { return (moves.*change)(redis, batch); });
      result.done += changed.done;
      result.gone += changed.gone;
      result.stuck += changed.stuck;
    }
    if (!page.empty() && progress && !progress(result.looked_at, total)) {
      result.stopped = true;
      break;
    }
  }
  return result;
}

}  // namespace

BulkResult change_entries(const detail::ApiShards& shards, const std::string& set,
                          BulkResult (EntryMoves::*change)(ClientConnection&, const std::vector<SetEntry>&),
                          const JobSet::Condition& wanted, const Progress& progress) {
  const auto size = [&](detail::ApiState& shard) {
    return shard.converse([&](ClientConnection& redis) {
      return static_cast<std::size_t>(redis.call(ask_set_size(set)).view().integer());
    });
  };
  return change_each(shards, progress, size, [&](detail::ApiState& shard, const Progress& progress_here) {
    return change_entries_of(shard, set, change, wanted, progress_here);
  });
}

BulkResult change_each(const detail::ApiShards& shards, const Progress& progress,
                       const std::function<std::size_t(detail::ApiState&)>& size,
                       const std::function<BulkResult(detail::ApiState&, const Progress&)>& change) {
  if (!shards.several()) return change(shards.only(), progress);
  const std::size_t total = progress ? shards.sum(size) : 0;
  BulkResult all;
  shards.each([&](detail::ApiState& shard) {
    if (all.stopped) return;
    Progress of_all;
    if (progress) of_all = [&](std::size_t done, std::size_t) { return progress(all.looked_at + done, total); };
    const BulkResult here = change(shard, of_all);
    all.looked_at += here.looked_at;
    all.wanted += here.wanted;
    all.done += here.done;
    all.gone += here.gone;
    all.stuck += here.stuck;
    all.stopped = here.stopped;
  });
  return all;
}

}  // namespace brood
