#include <fmt/format.h>

#include <algorithm>

#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/units.hpp"
#include "shared/store/lenient.hpp"
#include "shared/store/report/work_entries.hpp"
#include "supervisor/cli/status/status_report.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"

namespace brood {
namespace {

constexpr std::size_t most_crashes = 10, most_frames_of_last_crash = 14;

std::string age_text(double seconds) {
  return duration_text(std::chrono::milliseconds(static_cast<std::int64_t>(seconds) * 1000));
}

std::string ago(double at) { return age_text(std::max(0.0, epoch_seconds(wall_now()) - at)) + " ago"; }

std::string latency_text(double seconds) {
  return seconds < 1 ? fmt::format("{}ms", static_cast<int>(seconds * 1000)) : age_text(seconds);
}

std::string memory_text(std::int64_t kilobytes) {
  return fmt::format("{:.0f} MB", static_cast<double>(kilobytes) / 1024);
}

std::string section(const Style& style, const std::string& title, const Table& table) {
  const std::string rows = table.empty() ? "  " + style.dim("none") + "\n" : table.text(style);
  return "\n" + style.bold(title) + "\n" + rows;
}

std::string totals(const RedisStatus& redis, const Style& style) {
  const std::string dead = redis.dead > 0 ? style.red(std::to_string(redis.dead)) : "0";
  const std::string retries = redis.retries > 0 ? style.yellow(std::to_string(redis.retries)) : "0";
  const auto oldest = redis.oldest_in_flight();
  const std::string in_flight =
      fmt::format("in flight {}{}", redis.in_flight(), oldest ? ", the oldest for " + latency_text(*oldest) : "");
  const std::size_t locks = redis.locks ? redis.locks->unique + redis.locks->running : 0;
  return fmt::format("processed {}   failed {}   enqueued {}   scheduled {}   retries {}   dead {}   {}{}\n",
                     redis.processed, redis.failed, redis.enqueued, redis.scheduled, retries, dead, in_flight,
                     locks > 0 ? fmt::format("   locks {}", locks) : "");
}

std::string state_text(const ShardReport& shard) {
  if (!shard.is_drained) return "answers";
  return shard.left() == 0 ? "drained" : fmt::format("draining, {} left", shard.left());
}

std::string shards_text(const std::vector<ShardReport>& shards, const Style& style) {
  if (shards.empty()) return "";
  Table table({{"SHARD"},
               {"REDIS"},
               {"STATE"},
               {"PROCESSED", Table::Align::right},
               {"ENQUEUED", Table::Align::right},
               {"SCHEDULED", Table::Align::right},
               {"RETRIES", Table::Align::right},
               {"DEAD", Table::Align::right},
               {"IN FLIGHT", Table::Align::right}});
  std::string away;
  for (const ShardReport& shard : shards) {
    if (!shard.redis) {
      table.add({shard.name, shard.address, shard.is_drained ? "away, draining" : "away", "", "", "", "", "", ""});
      away +=
          "  " + style.red("shard " + log::printable(shard.name) + " is away: ") + log::printable(shard.error) + "\n";
      continue;
    }
    const RedisStatus& redis = *shard.redis;
    table.add({shard.name, shard.address, state_text(shard), std::to_string(redis.processed),
               std::to_string(redis.enqueued), std::to_string(redis.scheduled), std::to_string(redis.retries),
               std::to_string(redis.dead), std::to_string(redis.in_flight())});
  }
  return section(style, "Shards", table) + away;
}

std::string processes_text(const RedisStatus& redis, const Style& style) {
  const double now = epoch_seconds(wall_now());
  Table table({{"PROCESS"},
               {"TAG"},
               {"STATE"},
               {"BUSY", Table::Align::right},
               {"OLDEST", Table::Align::right},
               {"QUEUES"},
               {"MEMORY", Table::Align::right},
               {"UP", Table::Align::right},
               {"BEAT", Table::Align::right}});
  for (const ProcessStatus& process : redis.processes) {
    table.add({fmt::format("{}:{}", process.hostname, process.pid), process.tag, process.quiet ? "quiet" : "running",
               fmt::format("{}/{}", process.busy, process.concurrency),
               process.oldest_in_flight ? latency_text(*process.oldest_in_flight) : "",
               fmt::format("{}", fmt::join(process.queues, " ")), memory_text(process.rss_kb),
               age_text(std::max(0.0, now - epoch_seconds(process.started_at))),
               age_text(std::max(0.0, now - epoch_seconds(process.beat))) + " ago"});
  }
  return section(style, "Processes", table);
}

std::string silent_text(const RedisStatus& redis, const Style& style) {
  if (redis.silent.empty()) return "";
  Table table({{"IDENTITY"}, {"IN FLIGHT", Table::Align::right}, {"OLDEST", Table::Align::right}});
  for (const SilentStatus& one : redis.silent)
    table.add(
        {one.identity, std::to_string(one.in_flight), one.oldest_in_flight ? latency_text(*one.oldest_in_flight) : ""});
  return section(style, "Without a heartbeat", table) + "  " +
         style.dim("a running supervisor recovers their jobs within minutes, \"brood recover\" now") + "\n";
}

std::string tenants_text(const TenantCounts& tenants) {
  return fmt::format("{} of {} have jobs", tenants.with_jobs,
                     counted(static_cast<std::uint64_t>(tenants.known), "tenant", "tenants"));
}

std::string queues_text(const RedisStatus& redis, const Style& style) {
  Table table({{"QUEUE"}, {"SIZE", Table::Align::right}, {"LATENCY", Table::Align::right}, {""}});
  for (const QueueStatus& queue : redis.queues) {
    table.add({queue.name, queue.size ? std::to_string(*queue.size) : "no list",
               queue.paused ? "paused" : latency_text(queue.latency),
               queue.served ? queue.tenants ? tenants_text(*queue.tenants) : "" : "no process fetches from it"});
  }
  return section(style, "Queues", table);
}

std::string time_left(const WorkerStatus& worker) {
  if (worker.rests_for) return latency_text(*worker.rests_for);
  if (!worker.deadline_in) return "";
  return *worker.deadline_in > 0 ? latency_text(*worker.deadline_in) : "over";
}

std::string restart_text(const JsonObject& supervisor) {
  const auto restart = JsonObject::parse(std::string(supervisor.raw("restart").value_or("{}")));
  if (restart.truthy("under_way")) return restart.string("step").value_or("");
  if (!restart.truthy("last")) return "";
  const auto last = JsonObject::parse(std::string(*restart.raw("last")));
  const std::string what = last.truthy("scale") ? "scale" : "restart", when = ago(last.number("at").value_or(0));
  const std::string outcome = last.string("outcome").value_or("");
  if (outcome == "done") return fmt::format("{} done {}", what, when);
  const std::string how = outcome == "refused" ? "refused" : outcome == "rolled_back" ? "rolled back" : "given up";
  return fmt::format("{} {} {}: {}", what, how, when, last.string("reason").value_or(""));
}

std::string pressure_text(const JsonObject& supervisor) {
  const auto pressure = JsonObject::parse(std::string(supervisor.raw("pressure").value_or("{}")));
  const std::int64_t held_back = pressure.integer("held_back").value_or(0);
  if (held_back == 0) return "";
  return fmt::format("memory is scarce ({:.1f}% of the time is lost): {} held back",
                     pressure.number("memory").value_or(0),
                     held_back == 1 ? "1 worker is" : fmt::format("{} workers are", held_back));
}

std::string log_text(const JsonObject& supervisor) {
  const auto log = JsonObject::parse(std::string(supervisor.raw("log").value_or("{}")));
  const std::string trouble = log.string("trouble").value_or("");
  if (trouble.empty()) return "";
  return fmt::format("the log is not written: {}; {} lines are lost", log::printable(trouble),
                     log.integer("dropped").value_or(0));
}

// Not a table: a table cuts long cells, and the reason why a restart failed must be readable in full.
std::string supervisors_text(const std::vector<JsonObject>& supervisors, const Style& style) {
  if (supervisors.empty()) return "";
  std::string text = "\n" + style.bold("Supervisors of this machine") + "\n";
  for (const JsonObject& supervisor : supervisors) {
    text += fmt::format("  pid {}  {}  generation {}  {} of {} workers ready", supervisor.integer("pid").value_or(0),
                        log::printable(supervisor.string("phase").value_or("")),
                        supervisor.integer("generation").value_or(0), supervisor.integer("ready").value_or(0),
                        supervisor.integer("concurrency").value_or(0));
    if (const auto finishing = supervisor.integer("finishing").value_or(0); finishing > 0)
      text += fmt::format("  {} finishing", finishing);
    text += "\n";
    if (const std::string restart = restart_text(supervisor); !restart.empty())
      text += "    " + log::printable(restart) + "\n";
    if (const std::string pressure = pressure_text(supervisor); !pressure.empty()) text += "    " + pressure + "\n";
    if (const std::string trouble = log_text(supervisor); !trouble.empty()) text += "    " + style.red(trouble) + "\n";
  }
  return text;
}

std::string workers_text(const std::vector<WorkerStatus>& workers, const Style& style) {
  std::vector<Table::Column> columns{{"SLOT", Table::Align::right},
                                     {"PID", Table::Align::right},
                                     {"STATE"},
                                     {"FOR", Table::Align::right},
                                     {"LEFT", Table::Align::right},
                                     {"CLASS"},
                                     {"JID"},
                                     {"QUEUE"},
                                     {"PROCESSED", Table::Align::right},
                                     {"FAILED", Table::Align::right}};
  const bool some_say_how_far =
      std::any_of(workers.begin(), workers.end(), [](const WorkerStatus& one) { return one.progress.has_value(); });
  if (some_say_how_far) columns.push_back({"PROGRESS"});
  Table table(columns);
  for (const WorkerStatus& worker : workers) {
    std::vector<std::string> cells{std::to_string(worker.slot),
                                   worker.pid > 0 ? std::to_string(worker.pid) : "",
                                   worker.state,
                                   worker.state == "busy" ? latency_text(worker.age) : "",
                                   time_left(worker),
                                   worker.job_class,
                                   worker.jid,
                                   worker.queue,
                                   std::to_string(worker.processed),
                                   std::to_string(worker.failed)};
    if (some_say_how_far) cells.push_back(worker.progress ? progress_text(*worker.progress) : "");
    table.add(std::move(cells));
  }
  return section(style, "Workers of this machine", table);
}

// Empty if nothing was lost.
std::string losses_text(const MachineStatus& machine, const Style& style) {
  const JobCounters sum = sum_of_counters(machine);
  std::string text;
  if (sum.outcomes_dropped > 0)
    text += fmt::format("  {} dropped, since Redis had lost the workers' writes: the jobs run again\n",
                        counted(sum.outcomes_dropped, "outcome was", "outcomes were"));
  if (sum.unconfirmed > 0)
    text += fmt::format("  {} not confirmed by replicas in time\n",
                        counted(sum.unconfirmed, "settle or fetch was", "settles and fetches were"));
  return text.empty() ? "" : "\n" + style.bold("Losses of this machine") + "\n" + text;
}

// The services to which this machine reports failures; empty if there are none.
std::string error_reports_text(const MachineStatus& machine, const Style& style) {
  const ErrorReportStatus reports = sum_of_counters(machine).error_reports;
  if (!reports.in_use()) return "";
  Table table({{"SERVICE"}, {"SENT", Table::Align::right}, {"LOST", Table::Align::right}, {"STATE"}});
  for (std::size_t i = 0; i < reports.sinks.size(); ++i) {
    const ErrorSinkStatus& sink = reports.sinks[i];
    if (!sink.in_use) continue;
    const double away_for =
        sink.away_since == 0 ? 0 : std::max(0.0, epoch_seconds(wall_now()) - static_cast<double>(sink.away_since));
    table.add({std::string(error_sink_names[i]), std::to_string(sink.sent),
               std::to_string(sink.refused + sink.overflown),
               sink.away_since == 0 ? "takes reports" : fmt::format("takes none for {:.0f}s", away_for)});
  }
  std::string text = section(style, "Reports of failures", table);
  if (reports.summed > 0)
    text += fmt::format("  {} in digests of storms\n", counted(reports.summed, "failure is", "failures are"));
  if (const std::uint64_t lost = reports.unwritten + reports.forgotten; lost > 0)
    text += fmt::format("  {} lost before a service got them\n", counted(lost, "report was", "reports were"));
  return text;
}

bool tells_of_threads(const ClassUsage& usage) { return usage.left_threads > 0 || usage.allows_threads; }

std::string left_threads_text(const ClassUsage& usage) {
  if (usage.left_threads > 0) return std::to_string(usage.left_threads);
  return usage.allows_threads ? "allowed" : "0";
}

// One line for each class whose crashes often follow another class: a cell of the table would be too short.
std::string preceding_text(const std::vector<ClassUsage>& classes) {
  std::string text;
  for (const ClassUsage& usage : classes) {
    if (usage.preceding) text += "  " + log::printable(preceding_class_text(usage)) + "\n";
  }
  return text;
}

std::string classes_text(const std::vector<ClassUsage>& classes, const Style& style) {
  if (classes.empty()) return "";
  std::vector<Table::Column> columns{{"CLASS"},
                                     {"RUNS", Table::Align::right},
                                     {"FAILED", Table::Align::right},
                                     {"CRASHED", Table::Align::right},
                                     {"CPU", Table::Align::right},
                                     {"TIME", Table::Align::right},
                                     {"PEAK MEMORY", Table::Align::right}};
  const bool has_threads = std::any_of(classes.begin(), classes.end(), tells_of_threads);
  if (has_threads) columns.push_back({"LEFT THREADS", Table::Align::right});
  const bool has_isolation =
      std::any_of(classes.begin(), classes.end(), [](const ClassUsage& usage) { return usage.isolated; });
  if (has_isolation) columns.push_back({"ISOLATION"});
  const bool has_expired =
      std::any_of(classes.begin(), classes.end(), [](const ClassUsage& usage) { return usage.expired > 0; });
  if (has_expired) columns.push_back({"EXPIRED", Table::Align::right});
  Table table(std::move(columns));
  for (const ClassUsage& usage : classes) {
    std::vector<std::string> row{usage.job_class.empty() ? "(others)" : usage.job_class,
                                 std::to_string(usage.runs),
                                 std::to_string(usage.failed),
                                 std::to_string(usage.crashed),
                                 latency_text(static_cast<double>(usage.cpu_us) / 1e6),
                                 latency_text(static_cast<double>(usage.wall_us) / 1e6),
                                 memory_text(static_cast<std::int64_t>(usage.peak_rss_kb))};
    if (has_threads) row.push_back(left_threads_text(usage));
    if (has_isolation) row.push_back(usage.isolated ? "process" : "worker");
    if (has_expired) row.push_back(std::to_string(usage.expired));
    table.add(std::move(row));
  }
  return section(style, "Job classes of this machine", table) + preceding_text(classes);
}

std::string crashes_text(const std::vector<Crash>& crashes, const Style& style) {
  Table table({{"COUNT", Table::Align::right}, {"CLASS"}, {"ERROR"}, {"TOP FRAME"}, {"LAST"}, {"FINGERPRINT"}});
  for (std::size_t i = 0; i < std::min(crashes.size(), most_crashes); ++i) {
    const Crash& crash = crashes[i];
    table.add({std::to_string(crash.count), crash.job_class, crash.error_class, top_frame(crash), ago(crash.at),
               crash.fingerprint});
  }
  std::string text = section(style, "Crashes", table);
  if (crashes.size() > most_crashes)
    text += "  " + style.dim(fmt::format("and {} more; all are in --json", crashes.size() - most_crashes)) + "\n";
  return text;
}

std::string waiting_aside_text(const RedisStatus& redis) {
  return redis.quarantined == 1 ? "1 job waits" : fmt::format("{} jobs wait", redis.quarantined);
}

std::string sequences_text(const RedisStatus& redis, const Style& style) {
  if (redis.in_sequences == 0) return "";
  return "\n" +
         style.dim(fmt::format(
             "{} for the jobs before {} in {}: \"brood sequences\"",
             redis.in_sequences == 1 ? "1 job waits" : fmt::format("{} jobs wait", redis.in_sequences),
             redis.in_sequences == 1 ? "it" : "them", redis.in_sequences == 1 ? "its sequence" : "their sequences")) +
         "\n";
}

std::string paused_classes_text(const RedisStatus& redis, const Style& style) {
  if (redis.paused_classes.empty()) return "";
  Table table({{"CLASS"}, {"SINCE"}, {"UNTIL"}, {"REASON"}});
  const auto moment = [](const std::optional<std::int64_t>& time) {
    return time ? iso_time(lenient_moment(static_cast<double>(*time))) : "";
  };
  for (const auto& [name, pause] : redis.class_pauses)
    table.add({log::printable(name), moment(pause.since), moment(pause.until), log::printable(pause.reason)});
  const std::string waiting = redis.quarantine.empty() ? waiting_aside_text(redis) + " for " : "";
  return section(style, "Paused classes", table) + "  " + style.dim(waiting + "\"brood classes unpause\"") + "\n";
}

std::string quarantine_text(const RedisStatus& redis, const Style& style) {
  if (redis.quarantine.empty() && (redis.quarantined == 0 || !redis.paused_classes.empty())) return "";
  Table table({{"CLASS"}, {"SINCE"}, {"CRASHES", Table::Align::right}, {"FINGERPRINT"}, {"TRIED"}});
  for (const auto& [name, one] : redis.quarantine)
    table.add({name, ago(one.since), std::to_string(one.crashes), one.fingerprint,
               fmt::format("{} of {}", one.passed, probes_needed)});
  return section(style, "Quarantine", table) + "  " +
         style.dim(fmt::format("{} for other libraries, or \"brood quarantine release\"{}", waiting_aside_text(redis),
                               redis.paused_classes.empty() ? "" : "; or for a pause to end")) +
         "\n";
}

std::string periodic_text(const RedisStatus& redis, const Style& style) {
  if (redis.periodic.empty()) return "";
  Table table({{"NAME"},
               {"LAST TICK"},
               {"CLAIMED", Table::Align::right},
               {"MISSED", Table::Align::right},
               {"SKIPPED", Table::Align::right},
               {"STATE"}});
  for (const auto& [name, one] : redis.periodic)
    table.add({name, one.last ? iso_time(WallTime(*one.last)) : "", std::to_string(one.claimed),
               std::to_string(one.missed), std::to_string(one.skipped), one.has_no_ticks() ? "paused" : ""});
  return section(style, "Periodic jobs", table);
}

constexpr std::size_t most_limits_in_text = 10;

// Limits that are in use come first.
std::string limits_text(std::vector<ListedLimit> limits, const Style& style) {
  if (limits.empty()) return "";
  std::stable_sort(limits.begin(), limits.end(),
                   [](const ListedLimit& a, const ListedLimit& b) { return (a.held > 0) > (b.held > 0); });
  Table table({{"NAME"},
               {"KIND"},
               {"LIMIT", Table::Align::right},
               {"HELD", Table::Align::right},
               {"OVER", Table::Align::right}});
  for (std::size_t i = 0; i < std::min(limits.size(), most_limits_in_text); ++i) {
    const ListedLimit& limit = limits[i];
    table.add({limit.name, limit.kind, limit.limit_text(), std::to_string(limit.held),
               limit.counts ? std::to_string(limit.counts->over) : ""});
  }
  std::string text = section(style, "Limits", table);
  if (limits.size() > most_limits_in_text) text += "  " + style.dim("\"brood limits\" shows all of them") + "\n";
  return text;
}

std::string stack_text(const Crash& crash, std::size_t most_lines) {
  std::string text;
  for (std::size_t i = 0; i < std::min(crash.frames.size(), most_lines); ++i)
    text += "  " + log::printable(crash.frames[i]) + "\n";
  return text;
}

std::string last_crash_text(const Crash& crash, const Style& style) {
  const bool whole = crash.frames.size() <= most_frames_of_last_crash;
  std::string text = "\n" + style.bold("Last crash") + "\n  " + style.red(log::printable(crash.message)) + "\n" +
                     stack_text(crash, whole ? most_frames_of_last_crash : most_frames_of_last_crash - 1);
  if (!whole)
    text += "  " + style.dim("brood status --crash " + log::printable(crash.fingerprint) + " shows it in full") + "\n";
  return text;
}

}  // namespace

std::string status_text(const StatusReport& report, const Style& style) {
  const std::string machine = supervisors_text(report.supervisors, style) +
                              workers_text(report.machine.workers, style) + losses_text(report.machine, style) +
                              error_reports_text(report.machine, style) + classes_text(report.machine.classes, style);
  if (!report.redis)
    return style.red("Redis is not available: ") + log::printable(report.error) + "\n" +
           shards_text(report.shards, style) + machine;
  const RedisStatus& redis = *report.redis;
  const std::string where =
      report.shards.empty() ? log::printable(report.address) : fmt::format("of {} shards", report.shards.size());
  std::string text = style.bold("Redis ") + where + "\n" + totals(redis, style) + shards_text(report.shards, style) +
                     processes_text(redis, style) + silent_text(redis, style) + queues_text(redis, style) + machine +
                     periodic_text(redis, style) + limits_text(redis.limits, style) + quarantine_text(redis, style) +
                     sequences_text(redis, style) + paused_classes_text(redis, style) +
                     crashes_text(redis.crashes, style);
  if (!redis.crashes.empty()) text += last_crash_text(redis.crashes.front(), style);
  return text;
}

std::string crash_text(const Crash& crash, const Style& style) {
  return style.bold(log::printable(crash.job_class)) + " " + style.red(log::printable(crash.message)) + "\n" +
         fmt::format("{} times, last {} ({}), job {} of queue {}, supervisor {}, fingerprint {}\n", crash.count,
                     iso_time(lenient_moment(crash.at)), ago(crash.at), log::printable(crash.jid),
                     log::printable(crash.queue), log::printable(crash.identity), log::printable(crash.fingerprint)) +
         stack_text(crash, crash.frames.size());
}

}  // namespace brood
