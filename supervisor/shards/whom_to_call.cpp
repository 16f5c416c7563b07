#include "supervisor/shards/whom_to_call.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace brood {
namespace {

bool is_called(const MovableWorker& worker) { return worker.wanted != worker.shard; }

// How many of these workers each shard has.
std::map<int, int> by_shard(const std::vector<const MovableWorker*>& workers) {
  std::map<int, int> counts;
  for (const MovableWorker* worker : workers) ++counts[worker->shard];
  return counts;
}

// Keeps a worker where it is unless its shard has more workers of its capsule than the other shard has in long jobs.
void keep_where_more_are(std::vector<const MovableWorker*>& workers, const std::map<int, int>& in_long_jobs) {
  std::map<std::pair<int, int>, int> there;
  for (const MovableWorker* worker : workers) ++there[{worker->shard, worker->capsule}];
  std::erase_if(workers, [&](const MovableWorker* worker) {
    const auto here = in_long_jobs.find(worker->capsule);
    return here != in_long_jobs.end() && there.at({worker->shard, worker->capsule}) <= here->second;
  });
}

}  // namespace

CalledWorkers whom_to_call(int shard, const std::set<int>& capsules, const std::vector<MovableWorker>& workers,
                           SteadyTime now) {
  std::vector<const MovableWorker*> idle, busy;
  bool one_is_here = false;
  std::map<int, int> in_long_jobs;  // how many are here, by capsule
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
  CalledWorkers called{{}, true};
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
