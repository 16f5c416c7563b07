#include <optional>

#include "shared/json/json_writer.hpp"
#include "shared/store/report/work_entries.hpp"
#include "supervisor/cli/access/process_use.hpp"
#include "supervisor/cli/lists/class_list.hpp"
#include "supervisor/cli/lists/process_json.hpp"
#include "supervisor/cli/status/status_report.hpp"

namespace brood {
namespace {

std::string json_of_process(const ProcessStatus& process) {
  JsonWriter json;
  return write_process(json, process, TellEmbedded::no)
      .number("in_flight", process.in_flight)
      .decimal("oldest_in_flight", process.oldest_in_flight)
      .number("generation", process.state ? std::optional(process.state->generation) : std::nullopt)
      .decimal("loaded_at", process.state ? std::optional(process.state->loaded_at) : std::nullopt)
      .object();
}

std::string json_of_silent(const SilentStatus& silent) {
  return JsonWriter()
      .text("identity", silent.identity)
      .number("in_flight", silent.in_flight)
      .decimal("oldest_in_flight", silent.oldest_in_flight)
      .object();
}

std::string json_of_queue(const QueueStatus& queue) {
  JsonWriter json;
  json.text("name", queue.name)
      .number("size", queue.size)
      .decimal("latency", queue.latency)
      .truth("paused", queue.paused)
      .truth("served", queue.served);
  if (queue.tenants) json.number("tenants", queue.tenants->known).number("tenants_with_jobs", queue.tenants->with_jobs);
  return json.object();
}

std::string json_of_job(const WorkerStatus& worker) {
  return JsonWriter()
      .text("class", worker.job_class)
      .text("jid", worker.jid)
      .text("queue", worker.queue)
      .decimal("age", worker.age)
      .decimal("deadline_in", worker.deadline_in)
      .json("progress", worker.progress ? progress_json(*worker.progress) : "null")
      .number("pid", worker.job_pid > 0 ? worker.job_pid : worker.pid)
      .object();
}

std::string json_of_worker(const WorkerStatus& worker) {
  const bool lives = worker.pid > 0 && worker.state != "gone" && worker.state != "resting";
  const auto use = lives ? use_of_worker(worker.pid, worker.job_pid) : std::nullopt;
  JsonWriter json;
  json.text("identity", worker.identity)
      .number("slot", worker.slot)
      .text("capsule", worker.capsule)
      .number("generation", worker.generation)
      .number("pid", worker.pid)
      .text("state", worker.state)
      .decimal("rests_for", worker.rests_for)
      .json("job", worker.state == "busy" ? json_of_job(worker) : "null")
      .number("processed", worker.processed)
      .number("failed", worker.failed);
  if (use) return json.number("rss_kb", use->rss_kb).decimal("cpu_s", use->cpu_s, 2).object();
  return json.null("rss_kb").null("cpu_s").object();
}

std::string json_of_preceding(const ClassUsage& usage) {
  if (!usage.preceding) return "null";
  return JsonWriter()
      .text("class", usage.preceding_name)
      .number("crashes", usage.preceding->crashes)
      .number("crashes_after", usage.preceding->crashes_after)
      .decimal("usual", usage.preceding->usual, 6)
      .decimal("certainty", usage.preceding->certainty, 6)
      .object();
}

std::string json_of_class(const ClassUsage& usage) {
  return JsonWriter()
      .text("name", usage.job_class)
      .number("runs", usage.runs)
      .number("failed", usage.failed)
      .number("crashed", usage.crashed)
      .decimal("cpu_s", static_cast<double>(usage.cpu_us) / 1e6, 6)
      .decimal("wall_s", static_cast<double>(usage.wall_us) / 1e6, 6)
      .number("peak_rss_kb", usage.peak_rss_kb)
      .text("threads", usage.allows_threads ? "allow" : "replace")
      .number("left_threads", usage.left_threads)
      .number("expired", usage.expired)
      .text("isolation", usage.isolated ? "process" : "worker")
      .json("crashes_follow", json_of_preceding(usage))
      .object();
}

std::string json_of_crash(const Crash& crash) {
  return JsonWriter()
      .text("fingerprint", crash.fingerprint)
      .number("count", crash.count)
      .decimal("at", crash.at)
      .text("class", crash.job_class)
      .text("error_class", crash.error_class)
      .text("message", crash.message)
      .text("jid", crash.jid)
      .text("queue", crash.queue)
      .text("identity", crash.identity)
      .text("top_frame", top_frame(crash))
      .texts("frames", crash.frames)
      .each("days", crash.days, [](std::int64_t count) { return std::to_string(count); })
      .object();
}

std::string json_of_quarantined(const QuarantinedClasses::value_type& one) {
  return JsonWriter()
      .text("class", one.first)
      .text("fingerprint", one.second.fingerprint)
      .decimal("since", one.second.since)
      .number("crashes", one.second.crashes)
      .number("passed", one.second.passed)
      .object();
}

std::string json_of_periodic(const std::pair<const std::string, KnownPeriodic>& one) {
  const auto& last = one.second.last;
  return JsonWriter()
      .text("name", one.first)
      .number("last", last ? std::optional<std::int64_t>(last->time_since_epoch().count()) : std::nullopt)
      .truth("paused", one.second.has_no_ticks())
      .number("claimed", one.second.claimed)
      .number("missed", one.second.missed)
      .number("skipped", one.second.skipped)
      .object();
}

void write_locks(JsonWriter& json, const std::optional<LockCounts>& locks) {
  if (!locks) {
    json.null("locks");
    return;
  }
  json.json("locks", JsonWriter().number("unique", locks->unique).number("running", locks->running).object());
}

// The numbers of jobs; null if Redis is away.
void write_counts(JsonWriter& json, const std::optional<RedisStatus>& redis) {
  if (!redis) {
    for (const char* member : {"processed", "failed", "enqueued", "scheduled", "retries", "dead", "in_flight"})
      json.null(member);
    return;
  }
  json.number("processed", redis->processed)
      .number("failed", redis->failed)
      .number("enqueued", redis->enqueued)
      .number("scheduled", redis->scheduled)
      .number("retries", redis->retries)
      .number("dead", redis->dead)
      .number("in_flight", redis->in_flight());
}

// The processes and queues that hold them.
void write_holders(JsonWriter& json, const std::optional<RedisStatus>& redis) {
  if (!redis) {
    for (const char* member : {"oldest_in_flight", "processes", "silent", "queues"}) json.null(member);
    return;
  }
  json.decimal("oldest_in_flight", redis->oldest_in_flight())
      .each("processes", redis->processes, json_of_process)
      .each("silent", redis->silent, json_of_silent)
      .each("queues", redis->queues, json_of_queue);
}

std::string json_of_shard(const ShardReport& shard) {
  JsonWriter json;
  json.text("name", shard.name)
      .text("address", shard.address)
      .text("state", shard.redis ? "answers" : "away")
      .truth("draining", shard.is_drained)
      .text_or_null("error", shard.error);
  write_counts(json, shard.redis);
  return (shard.redis ? json.number("left", shard.left()) : json.null("left")).object();
}

std::string json_of_error_reports(const ErrorReportStatus& reports) {
  std::vector<std::string> services;
  for (std::size_t i = 0; i < reports.sinks.size(); ++i) {
    const ErrorSinkStatus& sink = reports.sinks[i];
    if (!sink.in_use) continue;
    services.push_back(JsonWriter()
                           .text("name", error_sink_names[i])
                           .number("sent", sink.sent)
                           .number("refused", sink.refused)
                           .number("overflown", sink.overflown)
                           .number("away_since", sink.away_since > 0 ? std::optional(sink.away_since) : std::nullopt)
                           .object());
  }
  return JsonWriter()
      .number("written", reports.written)
      .number("unwritten", reports.unwritten)
      .number("summed", reports.summed)
      .number("forgotten", reports.forgotten)
      .each("services", services, [](const std::string& service) { return service; })
      .object();
}

}  // namespace

std::string crash_json(const Crash& crash) { return json_of_crash(crash) + "\n"; }

std::string status_json(const StatusReport& report) {
  const auto& redis = report.redis;
  const JobCounters losses = sum_of_counters(report.machine);
  JsonWriter json;
  json.text_or_null("redis", report.address);
  if (!report.shards.empty()) json.each("shards", report.shards, json_of_shard);
  redis ? json.null("error") : json.text("error", report.error);
  write_counts(json, redis);
  write_holders(json, redis);
  json.each("supervisors", report.supervisors, [](const JsonObject& supervisor) { return supervisor.text(); })
      .each("workers", report.machine.workers, json_of_worker)
      .each("classes", report.machine.classes, json_of_class)
      .number("outcomes_dropped", losses.outcomes_dropped)
      .number("unconfirmed", losses.unconfirmed)
      .number("expired", losses.expired)
      .json("error_reports", json_of_error_reports(losses.error_reports));
  if (redis) {
    json.each("crashes", redis->crashes, json_of_crash)
        .each("quarantine", redis->quarantine, json_of_quarantined)
        .number("quarantined", redis->quarantined)
        .number("in_sequences", redis->in_sequences)
        .number("batches", redis->batches)
        .each("paused_classes", redis->paused_classes, [](const std::string& name) { return json_string(name); })
        .each("class_pauses", redis->class_pauses,
              [](const auto& one) { return class_pause_json(one.first, one.second); })
        .each("periodic", redis->periodic, json_of_periodic)
        .each("limits", redis->limits, [](const ListedLimit& limit) { return limit.json(); });
    write_locks(json, redis->locks);
  } else {
    json.null("crashes")
        .null("quarantine")
        .null("quarantined")
        .null("in_sequences")
        .null("batches")
        .null("paused_classes")
        .null("class_pauses")
        .null("periodic")
        .null("limits")
        .null("locks");
  }
  return json.object() + "\n";
}

}  // namespace brood
