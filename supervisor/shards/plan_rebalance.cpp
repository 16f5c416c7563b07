#include "supervisor/shards/plan_rebalance.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace brood {
namespace {

bool is_called(const MovableWorker& worker) { return worker.wanted != worker.shard; }

// The number of these workers in each shard.
std::map<int, int> by_shard(const std::vector<const MovableWorker*>& workers) {
  std::map<int, int> counts;
  for (const MovableWorker* worker : workers) ++counts[worker->shard];
  return counts;
}

// Drops workers in shards that have no more workers of their capsule than the calling shard has in long jobs.
void keep_where_more_are(std::vector<const MovableWorker*>& workers, const std::map<int, int>& in_long_jobs) {
  std::map<std::pair<int, int>, int> there;
  for (const MovableWorker* worker : workers) ++there[{worker->shard, worker->capsule}];
  std::erase_if(workers, [&](const MovableWorker* worker) {
    const auto here = in_long_jobs.find(worker->capsule);
    return here != in_long_jobs.end() && there.at({worker->shard, worker->capsule}) <= here->second;
  });
}

}  // namespace

int choose_shard(int first, const std::vector<ShardToServe>& shards) {
  int usable = -1, there = -1;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::size_t next = (static_cast<std::size_t>(first) + i) % shards.size();
    if (!shards[next].is_there) continue;
    if (there < 0) there = static_cast<int>(next);
    if (!shards[next].is_usable) continue;
    if (shards[next].is_in_order) return static_cast<int>(next);
    if (usable < 0) usable = static_cast<int>(next);
  }
  if (usable >= 0) return usable;
  return there < 0 ? first : there;
}

Rebalance plan_rebalance(int shard, const std::set<int>& capsules, const std::vector<MovableWorker>& workers,
                         SteadyTime now) {
  std::vector<const MovableWorker*> idle, busy;
  bool one_is_here = false;
  std::map<int, int> in_long_jobs;  // by capsule, for this shard
  for (const MovableWorker& worker : workers) {
    if (!capsules.contains(worker.capsule)) continue;
    const bool comes = worker.shard != shard && worker.wanted == shard;
    if (comes && !worker.goes_if_first && now - worker.called < time_to_come) return {};
    if (worker.shard == shard || comes) {
      one_is_here |= !worker.runs_a_long_job;
      in_long_jobs[worker.capsule] += worker.runs_a_long_job;
    }
    if (worker.shard == shard || (is_called(worker) && !worker.goes_if_first)) continue;
    if (worker.is_idle)
      idle.push_back(&worker);
    else if (!is_called(worker) && now - worker.since >= shortest_stay)
      busy.push_back(&worker);
  }
  if (!idle.empty()) {
    const std::map<int, int> there = by_shard(idle);
    const auto best = std::max_element(idle.begin(), idle.end(), [&](const MovableWorker* a, const MovableWorker* b) {
      return there.at(a->shard) < there.at(b->shard);
    });
    return {{(*best)->slot}, false};
  }
  if (one_is_here) return {};
  keep_where_more_are(busy, in_long_jobs);
  const std::map<int, int> there = by_shard(busy);
  const bool some_have_others =
      std::any_of(there.begin(), there.end(), [](const auto& counted) { return counted.second > 1; });
  Rebalance called{{}, true};
  for (const MovableWorker* worker : busy) {
    if (!some_have_others || there.at(worker->shard) > 1) called.slots.push_back(worker->slot);
  }
  return called;
}

std::set<int> capsules_to_call(int shard, const std::vector<MovableWorker>& workers) {
  std::set<int> idle_elsewhere, elsewhere, here;
  for (const MovableWorker& worker : workers) {
    if (worker.shard != shard)
      elsewhere.insert(worker.capsule);
    else if (!worker.runs_a_long_job)
      here.insert(worker.capsule);
    if (worker.shard != shard && worker.is_idle && !is_called(worker)) idle_elsewhere.insert(worker.capsule);
  }
  for (const int capsule : elsewhere) {
    if (!here.contains(capsule)) idle_elsewhere.insert(capsule);
  }
  return idle_elsewhere;
}

}  // namespace brood
