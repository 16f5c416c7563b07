#include "supervisor/cli/status/machine_metrics.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/cli/status/metric_units.hpp"

namespace brood {
namespace {

void add_workers(Exposition& out, const MachineStatus& machine) {
  static const std::vector<std::string> states = {"starting", "idle", "busy", "quiet", "stopping", "gone", "resting"};
  std::map<std::string, std::map<std::string, int>> counts;
  for (const auto& [identity, usage] : machine.usage) counts[identity];
  for (const WorkerStatus& worker : machine.workers) ++counts[worker.identity][worker.state];
  out.gauge("brood_workers", "Workers of this machine, by state.");
  for (auto& [identity, of_state] : counts) {
    for (const std::string& state : states) out.sample({{"identity", identity}, {"state", state}}, of_state[state]);
  }
}

// Only of machines that report failures.
void add_error_reports(Exposition& out, const MachineStatus& machine) {
  if (!sum_of_counters(machine).error_reports.in_use()) return;
  const auto each = [&](auto&& add) {
    for (const auto& [identity, counters] : machine.counters) {
      if (counters.error_reports.in_use()) add(identity, counters.error_reports);
    }
  };
  const auto each_service = [&](auto&& add) {
    each([&](const std::string& identity, const ErrorReportStatus& reports) {
      for (std::size_t i = 0; i < reports.sinks.size(); ++i) {
        if (reports.sinks[i].in_use) add(identity, std::string(error_sink_names[i]), reports.sinks[i]);
      }
    });
  };
  out.counter("brood_error_reports_total", "Reports of failures that a service, or the program of [on_error], took.");
  each_service([&](const std::string& identity, const std::string& service, const ErrorSinkStatus& sink) {
    out.sample({{"identity", identity}, {"service", service}}, sink.sent);
  });
  out.counter("brood_error_reports_lost_total",
              "Reports of failures that are lost, by reason: the service refused them or the program failed, its queue "
              "was full, the spool was full, or the reporter was killed.");
  each_service([&](const std::string& identity, const std::string& service, const ErrorSinkStatus& sink) {
    out.sample({{"identity", identity}, {"service", service}, {"reason", "refused"}}, sink.refused);
    out.sample({{"identity", identity}, {"service", service}, {"reason", "queue"}}, sink.overflown);
  });
  each([&](const std::string& identity, const ErrorReportStatus& reports) {
    out.sample({{"identity", identity}, {"reason", "spool"}}, reports.unwritten);
    out.sample({{"identity", identity}, {"reason", "killed"}}, reports.forgotten);
  });
  out.counter("brood_failures_in_digests_total", "Failures that a digest of a storm stands for.");
  each([&](const std::string& identity, const ErrorReportStatus& reports) {
    out.sample({{"identity", identity}}, reports.summed);
  });
  out.gauge("brood_error_service_up", "Whether the service took the last report that it was sent.");
  each_service([&](const std::string& identity, const std::string& service, const ErrorSinkStatus& sink) {
    out.sample({{"identity", identity}, {"service", service}}, sink.away_since == 0 ? 1 : 0);
  });
}

void add_losses(Exposition& out, const MachineStatus& machine) {
  const auto each = [&](auto&& value_of) {
    for (const auto& [identity, counters] : machine.counters) out.sample({{"identity", identity}}, value_of(counters));
  };
  out.counter("brood_outcomes_dropped_total",
              "Outcomes of jobs that were not stored, since Redis no longer knew the worker, for instance after a "
              "failover. The jobs run again.");
  each([](const JobCounters& counters) { return counters.outcomes_dropped; });
  out.counter("brood_settles_unconfirmed_total",
              "Settles and fetches that replicas did not confirm in time (redis.wait).");
  each([](const JobCounters& counters) { return counters.unconfirmed; });
  out.counter("brood_statsd_dropped_total", "Datagrams for StatsD that the kernel did not accept.");
  each([](const JobCounters& counters) { return counters.datagrams_dropped; });
  out.counter("brood_spans_exported_total", "Spans of runs that the collector has accepted.");
  each([](const JobCounters& counters) { return counters.spans_exported; });
  out.counter("brood_spans_dropped_total",
              "Spans of runs that are lost, by reason: the pipe to the exporter was full, its queue was, or the "
              "collector refused them.");
  for (const auto& [identity, counters] : machine.counters) {
    out.sample({{"identity", identity}, {"reason", "pipe"}}, counters.spans_unwritten);
    out.sample({{"identity", identity}, {"reason", "queue"}}, counters.spans_overflown);
    out.sample({{"identity", identity}, {"reason", "refused"}}, counters.spans_refused);
  }
  add_error_reports(out, machine);
  out.counter("brood_jobs_died_total",
              "Jobs that were moved to the dead set: out of retries, poison, unreadable, orphaned or expired.");
  each([](const JobCounters& counters) { return counters.died; });
  out.counter("brood_jobs_expired_total", "Jobs that expired before they began.");
  each([](const JobCounters& counters) { return counters.expired; });
}

JsonObject object_in(const JsonObject& of, std::string_view member) {
  const auto raw = of.raw(member);
  return JsonObject::parse(raw && raw->starts_with('{') ? std::string(*raw) : "{}");
}

std::string identity_of(const JsonObject& supervisor) { return supervisor.string("identity").value_or(""); }

// The supervisors of a host may share one name: their numbers are added up.
void add_restarts(Exposition& out, const std::vector<JsonObject>& supervisors) {
  std::map<std::string, std::map<std::string, std::int64_t>> ended;
  std::map<std::string, bool> all_well;
  std::map<std::string, double> last_at;
  for (const JsonObject& supervisor : supervisors) {
    const std::string identity = identity_of(supervisor);
    const JsonObject restart = object_in(supervisor, "restart"), counts = object_in(restart, "ended"),
                     last = object_in(restart, "last_restart");
    for (const char* outcome : {"done", "refused", "rolled_back", "not_now"})
      ended[identity][outcome] += counts.integer(outcome).value_or(0);
    const bool is_well = last.string("outcome").value_or("done") == "done";
    const auto [known, is_first] = all_well.try_emplace(identity, is_well);
    if (!is_first) known->second = known->second && is_well;
    if (const auto at = last.number("at")) last_at[identity] = std::max(last_at[identity], *at);
  }
  out.counter("brood_restarts_total", "Rolling restarts, also by a reload or an upgrade, by outcome.");
  for (const auto& [identity, outcomes] : ended) {
    for (const auto& [outcome, count] : outcomes) out.sample({{"identity", identity}, {"outcome", outcome}}, count);
  }
  out.gauge("brood_last_restart_successful",
            "0 if the last rolling restart was refused, rolled back or given up, so that the new configuration does "
            "not run; else 1.");
  for (const auto& [identity, is_well] : all_well) out.sample({{"identity", identity}}, is_well ? 1 : 0);
  out.gauge("brood_last_restart_seconds",
            "When the last rolling restart ended, since the epoch; absent if there was none.");
  for (const auto& [identity, at] : last_at) out.sample({{"identity", identity}}, at);
}

void add_pressure(Exposition& out, const std::vector<JsonObject>& supervisors) {
  const auto each = [&](const char* member) {
    std::map<std::string, double> values;
    for (const JsonObject& supervisor : supervisors) {
      const auto value = object_in(supervisor, "pressure").number(member);
      if (!value) continue;
      const auto [known, is_first] = values.try_emplace(identity_of(supervisor), *value);
      // All report the same memory: it is that of the machine.
      if (!is_first)
        known->second = member == std::string_view("memory") ? std::max(known->second, *value) : known->second + *value;
    }
    for (const auto& [identity, value] : values) out.sample({{"identity", identity}}, value);
  };
  out.gauge("brood_workers_held_back", "Workers that do not fetch because memory is scarce.");
  each("held_back");
  out.gauge("brood_memory_pressure_percent",
            "Percentage of the last ten seconds in which all processes stalled for lack of memory (PSI).");
  each("memory");
}

template <std::size_t size>
std::vector<double> seconds_of(const std::array<std::uint32_t, size>& bounds_ms) {
  std::vector<double> bounds;
  for (const std::uint32_t bound : bounds_ms) bounds.push_back(bound / 1e3);
  return bounds;
}

void add_times(Exposition& out, const Exposition::Labels& labels, const TimeCounts& times) {
  out.buckets(labels, seconds_of(wide_bounds), times.buckets, static_cast<double>(times.ms) / 1e3);
}

// One sample for each supervisor: each begins at 0, so a sum would fall when one ends.
void add_classes(Exposition& out, const MachineStatus& machine) {
  const auto each = [&](auto&& value_of) {
    for (const auto& [identity, usage] : machine.usage) {
      for (const ClassUsage& used : usage)
        out.sample({{"identity", identity}, {"class", label_of(used.job_class)}}, value_of(used));
    }
  };
  out.counter("brood_class_runs_total", "Runs of jobs of the class on this machine.");
  each([](const ClassUsage& used) { return used.runs; });
  out.counter("brood_class_failed_total", "Runs that failed, crashed or were cut short.");
  each([](const ClassUsage& used) { return used.failed + used.crashed; });
  out.counter("brood_class_crashed_total",
              "Runs that killed their worker, or that were ended by their timeout or by hand.");
  each([](const ClassUsage& used) { return used.crashed; });
  out.counter("brood_class_left_threads_total", "Runs whose worker was replaced because they left threads.");
  each([](const ClassUsage& used) { return used.left_threads; });
  out.counter("brood_class_expired_total", "Jobs of the class that expired before they began.");
  each([](const ClassUsage& used) { return used.expired; });
  out.counter("brood_class_cpu_seconds_total", "Processor time of the runs.");
  each([](const ClassUsage& used) { return static_cast<double>(used.cpu_us) / 1e6; });
  out.counter("brood_class_run_seconds_total", "Time of the runs.");
  each([](const ClassUsage& used) { return static_cast<double>(used.wall_us) / 1e6; });
  out.counter("brood_class_crashes_total",
              "Likewise by error: a signal, a timeout, memory; only errors that have occurred.");
  for (const auto& [identity, usage] : machine.usage) {
    for (const ClassUsage& used : usage) {
      for (std::size_t way = 0; way < crash_ways.size(); ++way) {
        if (used.crashed_by[way] > 0)
          out.sample(
              {{"identity", identity}, {"class", label_of(used.job_class)}, {"error", std::string(crash_ways[way])}},
              used.crashed_by[way]);
      }
    }
  }
  out.histogram("brood_class_duration_seconds", "Time of the successful runs.");
  for (const auto& [identity, usage] : machine.usage) {
    for (const ClassUsage& used : usage)
      out.buckets({{"identity", identity}, {"class", label_of(used.job_class)}}, seconds_of(histogram_bounds),
                  used.histogram, static_cast<double>(used.ms) / 1e3);
  }
  out.histogram("brood_class_wait_seconds", "Time from when jobs were enqueued last until they began.");
  for (const auto& [identity, usage] : machine.usage) {
    for (const ClassUsage& used : usage)
      add_times(out, {{"identity", identity}, {"class", label_of(used.job_class)}}, used.waited);
  }
  out.gauge("brood_class_peak_memory_bytes", "The largest memory of a worker during a run.");
  each([](const ClassUsage& used) { return static_cast<double>(used.peak_rss_kb) * kilobyte; });
  out.gauge("brood_class_crashes_follow_certainty",
            "Certainty that crashes of the class follow runs of another one (label after) in the same worker more "
            "often than by chance; only if it is 0.99 or more.");
  for (const auto& [identity, usage] : machine.usage) {
    for (const ClassUsage& used : usage) {
      if (used.preceding)
        out.sample({{"identity", identity}, {"class", used.job_class}, {"after", used.preceding_name}},
                   used.preceding->certainty);
    }
  }
}

void add_queue_runs(Exposition& out, const MachineStatus& machine) {
  const auto each = [&](auto&& add) {
    for (const auto& [identity, usage] : machine.queues) {
      for (const QueueUsage& used : usage) add({{"identity", identity}, {"queue", label_of(used.queue)}}, used);
    }
  };
  using Labels = Exposition::Labels;
  out.counter("brood_queue_failed_total",
              "Runs of jobs of the queue on this machine that failed, crashed or were cut short.");
  each([&](const Labels& labels, const QueueUsage& used) { out.sample(labels, used.failed); });
  out.histogram("brood_queue_run_seconds", "Time of all runs of jobs of the queue.");
  each([&](const Labels& labels, const QueueUsage& used) { add_times(out, labels, used.took); });
  out.histogram("brood_queue_wait_seconds", "Time from when jobs were enqueued last until they began.");
  each([&](const Labels& labels, const QueueUsage& used) { add_times(out, labels, used.waited); });
}

}  // namespace

void add_machine_metrics(Exposition& out, const StatusReport& report) {
  add_workers(out, report.machine);
  add_classes(out, report.machine);
  add_queue_runs(out, report.machine);
  add_losses(out, report.machine);
  add_restarts(out, report.supervisors);
  add_pressure(out, report.supervisors);
}

}  // namespace brood
