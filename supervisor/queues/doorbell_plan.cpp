#include "supervisor/queues/doorbell_plan.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "shared/config/tenants.hpp"
#include "shared/store/in_flight/caps.hpp"

namespace brood {
namespace {

constexpr std::size_t not_there = static_cast<std::size_t>(-1);
constexpr std::chrono::milliseconds shortest_pause{1};
constexpr std::chrono::milliseconds longest_pause{100};
constexpr std::chrono::seconds look_at_type_again_after{60};

std::size_t rank(std::string_view queue, const std::vector<std::string>& queues) {
  const auto found = std::find(queues.begin(), queues.end(), queue);
  return found == queues.end() ? not_there : static_cast<std::size_t>(found - queues.begin());
}

// By weight if there are weights, else in the order of the list.
std::vector<std::string> by_priority(const QueueOrder& order) {
  std::vector<std::string> names = order.names();
  std::map<std::string, int> weights = order.weights();
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) { return weights[a] > weights[b]; });
  return names;
}

}  // namespace

WatchedQueues plan_doorbells(const CapsuleQueues& capsules, const std::vector<IdleWorker>& idle,
                             const std::set<std::string>& left_out, std::size_t most,
                             const std::set<std::string>& capped) {
  std::unordered_set<std::string_view> settled;  // waited on, or planned for
  std::set<std::size_t> with_idle;
  for (const IdleWorker& worker : idle) {
    if (!worker.waits_on.empty()) settled.insert(worker.waits_on);
    if (static_cast<std::size_t>(worker.capsule) < capsules.size())
      with_idle.insert(static_cast<std::size_t>(worker.capsule));
  }
  std::size_t longest = 0;
  for (const std::size_t capsule : with_idle) longest = std::max(longest, capsules[capsule].size());

  WatchedQueues plan;
  for (std::size_t i = 0; i < longest; ++i) {
    for (const std::size_t capsule : with_idle) {
      if (i >= capsules[capsule].size()) continue;
      const std::string& queue = capsules[capsule][i];
      if (left_out.contains(queue) || !settled.insert(queue).second) continue;
      const bool may_peek = plan.doorbells.size() < most && !capped.contains(queue) && !is_tenants(queue);
      (may_peek ? plan.doorbells : plan.looked_at).push_back(queue);
    }
  }
  return plan;
}

std::optional<int> worker_to_free(std::string_view queue, const CapsuleQueues& capsules,
                                  const std::vector<IdleWorker>& idle) {
  const auto waiters = [&](std::string_view name) {
    return std::count_if(idle.begin(), idle.end(), [&](const IdleWorker& one) { return one.waits_on == name; });
  };
  if (waiters(queue) > 0) return std::nullopt;

  const IdleWorker* best = nullptr;
  std::tuple<bool, bool, std::size_t> best_merit;
  for (const IdleWorker& worker : idle) {
    if (static_cast<std::size_t>(worker.capsule) >= capsules.size()) continue;
    const std::vector<std::string>& queues = capsules[static_cast<std::size_t>(worker.capsule)];
    if (rank(queue, queues) == not_there) continue;
    const bool waits = !worker.waits_on.empty();
    const std::tuple merit{!waits, waits && waiters(worker.waits_on) > 1, rank(worker.waits_on, queues)};
    if (best && merit <= best_merit) continue;
    best = &worker;
    best_merit = merit;
  }
  return best ? std::optional(best->slot) : std::nullopt;
}

// ---- The state of the queues

void QueueNotes::note_ring(const std::string& queue, std::string_view job, SteadyTime now) {
  Backoff& backoff = backoffs_[queue];
  const std::size_t hash = std::hash<std::string_view>()(job);
  backoff.pause = std::exchange(backoff.job, hash) == hash ? 2 * backoff.pause : shortest_pause;
  backoff.pause = std::clamp(backoff.pause, shortest_pause, longest_pause);
  backoff.until = now + backoff.pause;
}

SteadyTime QueueNotes::rests_until(const std::string& queue) const {
  const auto backoff = backoffs_.find(queue);
  return backoff == backoffs_.end() ? SteadyTime{} : backoff->second.until;
}

void QueueNotes::note_empty(const std::vector<std::string>& looked_at, const std::unordered_set<std::string>& others) {
  for (const std::string& queue : looked_at) {
    if (!others.contains(queue) && !changed_.contains(queue)) empty_.insert(queue);
  }
}

bool QueueNotes::note_change(const std::string& queue) {
  changed_.insert(queue);
  return empty_.erase(queue) > 0;
}

void QueueNotes::forget_empty() {
  empty_.clear();
  changed_.clear();
}

void QueueNotes::note_no_lists(const std::vector<std::string>& queues, SteadyTime now) {
  if (no_lists_.empty()) no_lists_until_ = now + look_at_type_again_after;
  no_lists_.insert(queues.begin(), queues.end());
}

void QueueNotes::forget_old_ones(SteadyTime now) {
  if (now >= no_lists_until_) no_lists_.clear();
}

// ---- The plan

void DoorbellPlan::set_capsules(std::vector<CapsuleSettings> capsules) {
  capsules_ = std::move(capsules);
  read_capsules();
}

void DoorbellPlan::know(const KnownQueues& known) {
  known_ = known;
  read_capsules();
}

void DoorbellPlan::read_capsules() {
  queues_.clear();
  caps_.clear();
  capped_.clear();
  each_waits_ = true;
  for (const CapsuleSettings& capsule : capsules_) {
    for (const CapSettings& cap : capsule.caps) {
      const auto has_name = [&](const CapSettings& other) { return other.name == cap.name; };
      if (std::none_of(caps_.begin(), caps_.end(), has_name)) caps_.push_back(cap);
    }
    queues_.push_back(
        with_asides(expand_queues(by_priority(capsule.queues), known_, capsule.caps), capsule.caps, known_));
    each_waits_ &= !capsule.queues.has_patterns() && capsule.queues.names().size() == 1 && queues_.back().size() <= 1;
  }
  for (const std::vector<std::string>& queues : caps_.empty() ? CapsuleQueues() : queues_) {
    for (const std::string& queue : queues) {
      if (!caps_of(caps_, queue).empty()) capped_.insert(queue);
    }
  }
  each_waits_ &= capped_.empty();  // no worker waits on a capped queue
}

void DoorbellPlan::make(std::vector<IdleWorker> idle, const std::set<int>& to_call, SteadyTime now) {
  for (const int capsule : to_call) idle.push_back({.slot = -1, .capsule = capsule});
  notes.forget_old_ones(now);
  watched_ = plan_doorbells(queues_, idle, notes.no_lists(), now < peeks_refused_until_ ? 0 : most_doorbells, capped_);
}

bool DoorbellPlan::has_doorbell(const std::string& queue) const {
  return std::find(watched_.doorbells.begin(), watched_.doorbells.end(), queue) != watched_.doorbells.end();
}

std::vector<std::string> DoorbellPlan::to_look_at(std::vector<std::string> without_doorbell) const {
  std::vector<std::string> queues = std::move(without_doorbell);
  queues.insert(queues.end(), watched_.looked_at.begin(), watched_.looked_at.end());
  std::erase_if(queues, [this](const std::string& queue) { return notes.is_empty(queue); });
  return queues;
}

std::set<int> DoorbellPlan::capsules_of(const std::string& queue) const {
  std::set<int> capsules;
  for (std::size_t capsule = 0; capsule < queues_.size(); ++capsule) {
    if (std::find(queues_[capsule].begin(), queues_[capsule].end(), queue) != queues_[capsule].end())
      capsules.insert(static_cast<int>(capsule));
  }
  return capsules;
}

}  // namespace brood
