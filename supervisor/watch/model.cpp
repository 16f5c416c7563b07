#include "supervisor/watch/model.hpp"

#include <algorithm>

namespace brood::watch {
namespace {

using namespace std::chrono_literals;

// Two heartbeats: by then every process has sent its counts.
constexpr auto redis_window = 20s, queue_window = 5s;

bool is_there(const WorkerStatus& worker) { return worker.state != "gone" && worker.state != "resting"; }

}  // namespace

Model::Model(std::size_t looks_in_a_bar)
    : machine_rates_(SteadyTime::duration::zero(), looks_in_a_bar), redis_rates_(redis_window, looks_in_a_bar) {}

void Model::Rates::note(SteadyTime at, std::uint64_t processed_now, std::uint64_t failed_now) {
  processed.note(at, processed_now);
  failed.note(at, failed_now);
  processed_series.add(processed.per_second());
  failed_series.add(failed.per_second());
}

void Model::note(const MachineLook& look) {
  for (const auto& [identity, now] : look.status.counters) {
    const auto before = counters_.find(identity);
    if (before != counters_.end()) {
      counted_.processed += now.processed - std::min(now.processed, before->second.processed);
      counted_.failed += now.failed - std::min(now.failed, before->second.failed);
    }
  }
  counters_ = look.status.counters;
  machine_rates_.note(look.at, counted_.processed, counted_.failed);
  machine_before_ = std::move(machine_);
  machine_ = look;
}

void Model::note(const RedisLook& look) {
  error_ = look.error;
  shards_away_ = look.away;
  if (!look.status) {
    if (!away_since_) away_since_ = look.wall;
    return;
  }
  away_since_.reset();
  round_trip_ = look.took;
  redis_ = look.status;
  redis_rates_.note(look.at, static_cast<std::uint64_t>(std::max<std::int64_t>(0, redis_->processed)),
                    static_cast<std::uint64_t>(std::max<std::int64_t>(0, redis_->failed)));
  std::map<std::string, Trend> queues;
  for (const QueueStatus& queue : redis_->queues) {
    const auto known = queues_.find(queue.name);
    Trend trend = known != queues_.end() ? std::move(known->second) : Trend(queue_window);
    trend.note(look.at, queue.size.value_or(0));
    queues.emplace(queue.name, std::move(trend));
  }
  queues_ = std::move(queues);
}

const ProcessUse* Model::use_of(std::int64_t pid) const {
  const auto found = machine_.use.find(pid);
  return found == machine_.use.end() ? nullptr : &found->second;
}

std::optional<double> Model::cpu_percent(std::int64_t pid) const {
  const ProcessUse* const now = use_of(pid);
  const auto before = machine_before_.use.find(pid);
  if (!now || before == machine_before_.use.end() || before->second.start_time != now->start_time) return std::nullopt;
  const double seconds = std::chrono::duration<double>(machine_.at - machine_before_.at).count();
  return seconds > 0 ? std::optional(100 * std::max(0.0, now->cpu_s - before->second.cpu_s) / seconds) : std::nullopt;
}

std::optional<double> Model::queue_change(const std::string& queue) const {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? std::nullopt : found->second.per_second();
}

Model::Source Model::source() const {
  const auto& workers = machine_.status.workers;
  return std::any_of(workers.begin(), workers.end(), is_there) ? Source::machine : Source::redis;
}

std::optional<double> Model::processed_per_second() const { return rates().processed.per_second(); }
std::optional<double> Model::failed_per_second() const { return rates().failed.per_second(); }
const Series& Model::processed() const { return rates().processed_series; }
const Series& Model::failed() const { return rates().failed_series; }

Model::Busy Model::busy() const {
  Busy sum;
  if (source() == Source::machine) {
    for (const WorkerStatus& worker : machine_.status.workers) {
      sum.all += is_there(worker);
      sum.busy += worker.state == "busy";
    }
  } else if (redis_) {
    for (const ProcessStatus& process : redis_->processes) {
      sum.all += static_cast<std::uint64_t>(std::max<std::int64_t>(0, process.concurrency));
      sum.busy += static_cast<std::uint64_t>(std::max<std::int64_t>(0, process.busy));
    }
  }
  return sum;
}

}  // namespace brood::watch
