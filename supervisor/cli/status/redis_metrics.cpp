#include "supervisor/cli/status/redis_metrics.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/sidekiq_release.hpp"
#include "supervisor/cli/status/metric_units.hpp"

namespace brood {
namespace {

// The figures of one Redis.  With several shards, the shard's name is a label.
struct MetricSource {
  std::string shard;
  const RedisStatus* redis;

  Exposition::Labels labels(Exposition::Labels own = {}) const {
    if (!shard.empty()) own.emplace_back("shard", shard);
    return own;
  }
};

using MetricSources = std::vector<MetricSource>;

MetricSources sources_of(const StatusReport& report) {
  if (report.shards.empty()) return {{"", &*report.redis}};
  MetricSources sources;
  for (const ShardReport& shard : report.shards) {
    if (shard.redis) sources.push_back({shard.name, &*shard.redis});
  }
  return sources;
}

void add_redis_up(Exposition& out, const StatusReport& report) {
  out.gauge("brood_redis_up", "1 if Redis answers; otherwise all figures from Redis are missing here.");
  if (report.shards.empty()) out.sample({}, report.redis ? 1 : 0);
  for (const ShardReport& shard : report.shards) out.sample({{"shard", shard.name}}, shard.redis ? 1 : 0);
}

void add_drained(Exposition& out, const StatusReport& report) {
  if (report.shards.empty()) return;
  out.gauge("brood_shard_draining", "1 while nothing new is pushed to the shard, so that it can be removed.");
  for (const ShardReport& shard : report.shards) out.sample({{"shard", shard.name}}, shard.is_drained ? 1 : 0);
  out.gauge("brood_shard_left", "Jobs that still wait, are in flight or in quarantine in a shard that is drained.");
  for (const ShardReport& shard : report.shards) {
    if (shard.is_drained && shard.redis) out.sample({{"shard", shard.name}}, shard.left());
  }
}

void add_totals(Exposition& out, const MetricSources& sources) {
  const auto each = [&](auto&& value_of) {
    for (const MetricSource& source : sources) out.sample(source.labels(), value_of(*source.redis));
  };
  out.counter("brood_jobs_processed_total", "Runs of jobs that were begun, by all processes of this Redis.");
  each([](const RedisStatus& redis) { return redis.processed; });
  out.counter("brood_jobs_failed_total",
              "Runs that failed, crashed, were cut short or interrupted themselves, by all processes of this Redis: "
              "counted as failed in Sidekiq.");
  each([](const RedisStatus& redis) { return redis.failed; });
  out.gauge("brood_jobs_enqueued", "Jobs in all queues.");
  each([](const RedisStatus& redis) { return redis.enqueued; });
  out.gauge("brood_jobs_scheduled", "Jobs that are not yet due.");
  each([](const RedisStatus& redis) { return redis.scheduled; });
  out.gauge("brood_jobs_retries", "Failed jobs that will be retried.");
  each([](const RedisStatus& redis) { return redis.retries; });
  out.gauge("brood_jobs_dead", "Jobs in the dead set.");
  each([](const RedisStatus& redis) { return redis.dead; });
  out.gauge("brood_jobs_in_flight", "Jobs fetched and not yet settled.");
  each([](const RedisStatus& redis) { return redis.in_flight(); });
  out.gauge("brood_oldest_in_flight_seconds",
            "Age of the job that has been in flight for longest; 0 if there is none.");
  each([](const RedisStatus& redis) { return redis.oldest_in_flight().value_or(0); });
}

constexpr std::size_t most_queues_told = 128;

// The queues that need attention: those that no process serves, then the fullest.  The others are summed up.
std::vector<QueueStatus> queues_to_tell(std::vector<QueueStatus> queues) {
  if (queues.size() <= most_queues_told) return queues;
  std::stable_sort(queues.begin(), queues.end(), [](const QueueStatus& a, const QueueStatus& b) {
    const auto rank = [](const QueueStatus& queue) {
      const std::int64_t size = queue.size.value_or(0);
      return std::tuple(size > 0 && !queue.served && !queue.paused, size, queue.latency);
    };
    return rank(a) > rank(b);
  });
  QueueStatus others{.name = "", .size = 0, .served = true};
  for (std::size_t i = most_queues_told; i < queues.size(); ++i) {
    *others.size += queues[i].size.value_or(0);
    if (!queues[i].paused) others.latency = std::max(others.latency, queues[i].latency);
    others.served = others.served && (queues[i].served || queues[i].size.value_or(0) == 0);
  }
  queues.resize(most_queues_told);
  queues.push_back(std::move(others));
  return queues;
}

void add_queues(Exposition& out, const MetricSources& sources) {
  std::vector<std::vector<QueueStatus>> told;
  for (const MetricSource& source : sources) told.push_back(queues_to_tell(source.redis->queues));
  const auto each = [&](auto&& value_of) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      for (const QueueStatus& queue : told[i])
        out.sample(sources[i].labels({{"queue", label_of(queue.name)}}), value_of(queue));
    }
  };
  out.gauge("brood_queues", "Queues in Redis; at most 128 have figures of their own, the others together.");
  for (const MetricSource& source : sources) out.sample(source.labels(), source.redis->queues.size());
  out.gauge("brood_queue_size", "Jobs in the queue.");
  each([](const QueueStatus& queue) { return queue.size.value_or(0); });
  out.gauge("brood_queue_latency_seconds", "How long the next job of the queue has waited; 0 if none waits.");
  each([](const QueueStatus& queue) { return queue.latency; });
  out.gauge("brood_queue_paused", "1 while the queue is paused.");
  each([](const QueueStatus& queue) { return queue.paused ? 1 : 0; });
  out.gauge("brood_queue_served", "1 while a process fetches from the queue.");
  each([](const QueueStatus& queue) { return queue.served ? 1 : 0; });
}

// Whether a process is exported here.
using IsTold = std::function<bool(const ProcessStatus&)>;

// `all` sums up all shards: a process that serves several shards is counted once, with its workers and memory.
void add_processes(Exposition& out, const RedisStatus& all, const MetricSources& sources, const IsTold& is_told) {
  const auto each_process = [&](auto&& value_of) {
    for (const ProcessStatus& process : all.processes) {
      if (is_told(process)) out.sample({{"identity", process.identity}}, value_of(process));
    }
  };
  const auto each = [&](auto&& value_of, auto&& value_of_silent) {
    for (const MetricSource& source : sources) {
      for (const ProcessStatus& process : source.redis->processes) {
        if (is_told(process)) out.sample(source.labels({{"identity", process.identity}}), value_of(process));
      }
      for (const SilentStatus& one : source.redis->silent)
        out.sample(source.labels({{"identity", one.identity}}), value_of_silent(one));
    }
  };
  out.gauge("brood_process_up",
            "1 for each process with a heartbeat, and its identity; 0 for one that holds jobs and has none.");
  for (const ProcessStatus& process : all.processes) {
    if (!is_told(process)) continue;
    out.sample({{"identity", process.identity},
                {"hostname", process.hostname},
                {"tag", process.tag},
                {"state", process.quiet ? "quiet" : "running"}},
               1);
  }
  for (const SilentStatus& one : all.silent)
    out.sample({{"identity", one.identity}, {"hostname", ""}, {"tag", ""}, {"state", "silent"}}, 0);
  out.gauge("brood_process_workers", "Jobs that the process can run at once.");
  each_process([](const ProcessStatus& process) { return process.concurrency; });
  out.gauge("brood_process_busy", "Jobs that the process runs.");
  for (const MetricSource& source : sources) {
    for (const ProcessStatus& process : source.redis->processes) {
      if (is_told(process)) out.sample(source.labels({{"identity", process.identity}}), process.busy);
    }
  }
  out.gauge("brood_process_resident_memory_bytes", "Memory of the process and its workers.");
  each_process([](const ProcessStatus& process) { return static_cast<double>(process.rss_kb) * kilobyte; });
  const auto each_state = [&](auto&& value_of) {
    for (const ProcessStatus& process : all.processes) {
      if (is_told(process) && process.state) out.sample({{"identity", process.identity}}, value_of(*process.state));
    }
  };
  out.gauge(
      "brood_process_generation",
      "The generation of configuration and job libraries by which a supervisor starts workers: one more with each "
      "rolling restart.");
  each_state([](const SupervisorState& state) { return state.generation; });
  out.gauge(
      "brood_process_loaded_seconds",
      "When a supervisor has read that configuration and these libraries, since the epoch. During a restart of the "
      "fleet the processes with a time before it are still to come.");
  each_state([](const SupervisorState& state) { return state.loaded_at; });
  out.gauge("brood_process_oldest_in_flight_seconds",
            "Age of the job that has been in flight for longest, 0 if there is none; for a process without a "
            "heartbeat, since it was enqueued.");
  each([](const ProcessStatus& process) { return process.oldest_in_flight.value_or(0); },
       [](const SilentStatus& one) { return one.oldest_in_flight.value_or(0); });
  out.gauge("brood_process_in_flight", "Jobs fetched and not yet settled.");
  each([](const ProcessStatus& process) { return process.in_flight.value_or(process.busy); },
       [](const SilentStatus& one) { return one.in_flight; });
}

void add_certificates(Exposition& out, const MetricSources& sources) {
  out.gauge("brood_certificate_expires_seconds",
            "When the certificate of a connection to Redis expires, since the epoch: the server's, and the client's if "
            "there is one.");
  const auto add = [&](const MetricSource& source, const char* side, const std::optional<WallTime>& end) {
    if (end) out.sample(source.labels({{"side", side}}), static_cast<std::int64_t>(epoch_seconds(*end)));
  };
  for (const MetricSource& source : sources) {
    add(source, "server", source.redis->certificates.server);
    add(source, "client", source.redis->certificates.client);
  }
}

// One sample for each fingerprint: Redis forgets the oldest crashes, so a sum would go down, and a counter must not.
void add_crashes(Exposition& out, const MetricSources& sources) {
  out.counter("brood_crashes_total", "Crashes of workers, by class, error and place.");
  for (const MetricSource& source : sources) {
    for (const Crash& crash : source.redis->crashes)
      out.sample(
          source.labels({{"class", crash.job_class}, {"error", crash.error_class}, {"fingerprint", crash.fingerprint}}),
          crash.count);
  }
}

void add_sequences(Exposition& out, const MetricSources& sources) {
  out.gauge("brood_jobs_in_sequences", "Jobs that wait for the jobs before them in their sequence.");
  for (const MetricSource& source : sources) out.sample(source.labels(), source.redis->in_sequences);
}

void add_quarantine(Exposition& out, const MetricSources& sources) {
  out.gauge("brood_jobs_quarantined", "Jobs that wait because their class is in quarantine or paused.");
  for (const MetricSource& source : sources) out.sample(source.labels(), source.redis->quarantined);
  out.gauge("brood_class_quarantined", "1 for each class in quarantine, with the fingerprint of its crash.");
  for (const MetricSource& source : sources) {
    for (const auto& [name, one] : source.redis->quarantine)
      out.sample(source.labels({{"class", name}, {"fingerprint", one.fingerprint}}), 1);
  }
}

void add_paused_classes(Exposition& out, const MetricSources& sources) {
  out.gauge("brood_class_paused", "1 for each class that is paused.");
  for (const MetricSource& source : sources) {
    for (const std::string& name : source.redis->paused_classes) out.sample(source.labels({{"class", name}}), 1);
  }
  out.gauge("brood_class_pause_ends_seconds", "Time at which the pause of a class ends by itself, since the epoch.");
  for (const MetricSource& source : sources) {
    for (const auto& [name, pause] : source.redis->class_pauses) {
      if (pause.until) out.sample(source.labels({{"class", name}}), *pause.until);
    }
  }
}

void add_periodic(Exposition& out, const MetricSources& sources) {
  out.counter("brood_periodic_ticks_total", "Ticks of periodic jobs, by outcome.");
  for (const MetricSource& source : sources) {
    for (const auto& [name, one] : source.redis->periodic) {
      out.sample(source.labels({{"name", name}, {"outcome", "claimed"}}), one.claimed);
      out.sample(source.labels({{"name", name}, {"outcome", "missed"}}), one.missed);
      out.sample(source.labels({{"name", name}, {"outcome", "skipped"}}), one.skipped);
    }
  }
  out.gauge("brood_periodic_last_tick_seconds", "Time of the last tick of a periodic job, since the epoch.");
  for (const MetricSource& source : sources) {
    for (const auto& [name, one] : source.redis->periodic) {
      if (one.last) out.sample(source.labels({{"name", name}}), one.last->time_since_epoch().count());
    }
  }
  out.gauge("brood_periodic_paused", "1 for each periodic job that is paused.");
  for (const MetricSource& source : sources) {
    for (const auto& [name, one] : source.redis->periodic)
      out.sample(source.labels({{"name", name}}), one.has_no_ticks() ? 1 : 0);
  }
}

void add_limits(Exposition& out, const MetricSources& sources) {
  const auto each = [&](bool with_caps, auto&& value_of) {
    for (const MetricSource& source : sources) {
      for (const ListedLimit& limit : source.redis->limits) {
        if (with_caps || limit.counts)
          out.sample(source.labels({{"limit", limit.name}, {"kind", limit.kind}}), value_of(limit));
      }
    }
  };
  out.gauge("brood_limit_amount", "Amount of the limit, at once or in its interval.");
  each(true, [](const ListedLimit& limit) { return limit.amount; });
  out.gauge("brood_limit_held", "Slots or places that jobs hold, or the used part of the interval.");
  each(true, [](const ListedLimit& limit) { return limit.held; });
  out.counter("brood_limit_taken_total", "How often the limit was taken.");
  each(false, [](const ListedLimit& limit) { return limit.counts->taken; });
  out.counter("brood_limit_waited_total", "How often a job waited before it could take it.");
  each(false, [](const ListedLimit& limit) { return limit.counts->waited; });
  out.counter("brood_limit_wait_seconds_total", "How long these waited.");
  each(false, [](const ListedLimit& limit) { return static_cast<double>(limit.counts->waited_ms) / 1000; });
  out.counter("brood_limit_over_total", "How often a job gave up waiting for it.");
  each(false, [](const ListedLimit& limit) { return limit.counts->over; });
}

void add_locks(Exposition& out, const MetricSources& sources) {
  out.gauge("brood_unique_locks",
            "Locks of unique jobs, held by jobs or while these run; absent if Redis has too many keys to count them.");
  for (const MetricSource& source : sources) {
    if (!source.redis->locks) continue;
    out.sample(source.labels({{"kind", "job"}}), static_cast<double>(source.redis->locks->unique));
    out.sample(source.labels({{"kind", "running"}}), static_cast<double>(source.redis->locks->running));
  }
}

void add_batches(Exposition& out, const MetricSources& sources) {
  out.gauge("brood_batches", "Batches, also those that have ended and are still kept.");
  for (const MetricSource& source : sources) out.sample(source.labels({}), static_cast<double>(source.redis->batches));
}
IsTold told_of(const StatusReport& report, MetricsScope scope) {
  if (scope == MetricsScope::all || scope == MetricsScope::redis) return [](const ProcessStatus&) { return true; };
  return [&report, scope](const ProcessStatus& process) {
    const bool has_brood = !process.version.empty() && !SidekiqRelease::parse(process.version);
    return report.machine.identities.contains(process.identity) ||
           (scope == MetricsScope::host_and_redis && !has_brood);
  };
}

}  // namespace

void add_redis_metrics(Exposition& out, const StatusReport& report, MetricsScope scope) {
  add_redis_up(out, report);
  if (!report.redis) return;
  const MetricSources sources = sources_of(report);
  if (scope != MetricsScope::host) {
    add_drained(out, report);
    add_totals(out, sources);
    add_queues(out, sources);
    out.gauge("brood_processes", "Processes with a heartbeat.");
    out.sample({}, report.redis->processes.size());
  }
  add_processes(out, *report.redis, sources, told_of(report, scope));
  if (scope != MetricsScope::host) {
    add_crashes(out, sources);
    add_quarantine(out, sources);
    add_sequences(out, sources);
    add_paused_classes(out, sources);
    add_periodic(out, sources);
    add_limits(out, sources);
    add_locks(out, sources);
    add_batches(out, sources);
  }
  if (scope != MetricsScope::redis) add_certificates(out, sources);
}

}  // namespace brood
