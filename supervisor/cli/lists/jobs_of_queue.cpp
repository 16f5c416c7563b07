#include "supervisor/cli/lists/jobs_of_queue.hpp"

#include <set>
#include <utility>

#include "shared/store/places_of_jobs.hpp"
#include "shared/store/scan.hpp"
#include "shared/store/sets/set_entries.hpp"

namespace brood {
namespace {

bool remove_waiting(Connection& redis, const QuarantinedJob& job) {
  return redis.run(remove_entries(quarantined_set, {{job.payload, job.score_text}})).view().integer() == 1;
}

void add(BulkResult& sum, const BulkResult& more) {
  sum.looked_at += more.looked_at;
  sum.wanted += more.wanted;
  sum.done += more.done;
  sum.gone += more.gone;
  sum.stopped |= more.stopped;
}

}  // namespace

JobsOfQueue::JobsOfQueue(Api& api, ShardConnections& shards, const std::string& name) : name_(name), shards_(shards) {
  std::set<std::string> known;  // in all shards
  shards.each([&](ShardConnections::Shard& shard) {
    const Reply reply = shard.redis.call(ask_set_aside());
    if (const auto here = read_name_list_if_told(reply.view())) known.insert(here->begin(), here->end());
  });
  lists_.push_back(api.queue(name));
  for (std::string& aside : beside(name, {known.begin(), known.end()})) lists_.push_back(api.queue(std::move(aside)));
}

std::size_t JobsOfQueue::size() const {
  std::size_t sum = waiting_for_class().jobs;
  for (const Queue& list : lists_) sum += list.size();
  return sum;
}

JobsOfQueue::Waiting JobsOfQueue::waiting_for_class(const QuarantineBounds& bounds) const {
  Waiting waiting;
  shards_.each([&](ShardConnections::Shard& shard) {
    waiting.is_cut |= !each_waiting(shard, bounds, [&](const JobRecord&, const QuarantinedJob& job) {
      ++waiting.jobs;
      waiting.classes.insert(job.classes.begin(), job.classes.end());
      return QuarantineStep{};
    });
  });
  return waiting;
}

// Returns whether it reached the end of the list.
bool JobsOfQueue::each_waiting(
    ShardConnections::Shard& shard, const QuarantineBounds& bounds,
    const std::function<QuarantineStep(const JobRecord&, const QuarantinedJob&)>& take) const {
  std::size_t looked_at = 0;
  return each_quarantined(shard.redis, [&](const QuarantinedJob& waiting) {
    QuarantineStep step;
    if (waiting.queue == name_) {
      JobRecord job = JobRecord::read(waiting.payload);
      job.queue = name_;
      job.shard = shard.address.shard;
      step = take(job, waiting);
    }
    step.wants_more &= !bounds.are_reached(++looked_at);
    return step;
  });
}

void JobsOfQueue::each(const Visit& visit) const {
  bool goes_on = true;
  for (const Queue& list : lists_) {
    if (!goes_on) return;
    list.each([&](const JobRecord& job) { return goes_on = visit(job, list.name()); });
  }
  if (!goes_on) return;
  shards_.each([&](ShardConnections::Shard& shard) {
    if (!goes_on) return;
    goes_on = each_waiting(shard, {}, [&](const JobRecord& job, const QuarantinedJob&) {
      return QuarantineStep{.wants_more = visit(job, waits_for_class)};
    });
  });
}

bool JobsOfQueue::remove(const JobRecord& job) {
  for (Queue& list : lists_) {
    if (list.name() == job.queue && list.remove(job)) return true;
  }
  bool removed = false;
  shards_.each([&](ShardConnections::Shard& shard) {
    if (removed || shard.address.shard != job.shard) return;
    each_waiting(shard, {}, [&](const JobRecord&, const QuarantinedJob& waiting) {
      if (waiting.payload == job.payload) removed = remove_waiting(shard.redis, waiting);
      return QuarantineStep{.removed = removed, .wants_more = !removed};
    });
  });
  return removed;
}

BulkResult JobsOfQueue::remove_if(const std::function<bool(const JobRecord&)>& wanted, const Progress& progress) {
  BulkResult sum;
  const std::size_t total = progress ? size() : 0;
  const auto goes_on_after = [&](std::size_t looked_at) { return !progress || progress(looked_at, total); };
  for (Queue& list : lists_) {
    if (sum.stopped) return sum;
    add(sum,
        list.remove_if(wanted, [&](std::size_t done, std::size_t) { return goes_on_after(sum.looked_at + done); }));
  }
  shards_.each([&](ShardConnections::Shard& shard) {
    if (sum.stopped) return;
    each_waiting(shard, {}, [&](const JobRecord& job, const QuarantinedJob& waiting) {
      QuarantineStep step;
      ++sum.looked_at;
      if (!wanted || wanted(job)) {
        ++sum.wanted;
        step.removed = true;  // removed now, or earlier by another client
        ++(remove_waiting(shard.redis, waiting) ? sum.done : sum.gone);
      }
      sum.stopped = !goes_on_after(sum.looked_at);
      step.wants_more = !sum.stopped;
      return step;
    });
  });
  return sum;
}

std::size_t JobsOfQueue::clear() {
  std::size_t removed = 0;
  for (Queue& list : lists_) removed += list.clear();
  shards_.each([&](ShardConnections::Shard& shard) {
    each_waiting(shard, {}, [&](const JobRecord&, const QuarantinedJob& waiting) {
      removed += remove_waiting(shard.redis, waiting);
      return QuarantineStep{.removed = true};
    });
  });
  return removed;
}

}  // namespace brood
