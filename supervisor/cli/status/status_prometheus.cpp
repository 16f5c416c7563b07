#include <map>

#include "supervisor/cli/status/exposition.hpp"
#include "supervisor/cli/status/status_report.hpp"
#include "supervisor/version.hpp"

namespace brood {
namespace {

constexpr double kilobyte = 1024;

void add_totals(Exposition& out, const RedisStatus& redis) {
  out.counter("brood_jobs_processed_total", "Jobs performed, failed ones included, by all processes of this Redis.");
  out.sample({}, redis.processed);
  out.counter("brood_jobs_failed_total", "Jobs that failed, by all processes of this Redis.");
  out.sample({}, redis.failed);
  out.gauge("brood_jobs_enqueued", "Jobs in all queues.");
  out.sample({}, redis.enqueued);
  out.gauge("brood_jobs_scheduled", "Jobs that are not yet due.");
  out.sample({}, redis.scheduled);
  out.gauge("brood_jobs_retries", "Failed jobs that are tried again.");
  out.sample({}, redis.retries);
  out.gauge("brood_jobs_dead", "Jobs in the dead set.");
  out.sample({}, redis.dead);
  out.gauge("brood_jobs_in_flight", "Jobs fetched and not yet settled.");
  out.sample({}, redis.in_flight());
  out.gauge("brood_oldest_in_flight_seconds",
            "Age of the job that has been in flight for longest; 0 when there is none.");
  out.sample({}, redis.oldest_in_flight().value_or(0));
}

void add_queues(Exposition& out, const std::vector<QueueStatus>& queues) {
  out.gauge("brood_queue_size", "Jobs in the queue.");
  for (const QueueStatus& queue : queues) out.sample({{"queue", queue.name}}, queue.size.value_or(0));
  out.gauge("brood_queue_latency_seconds", "How long the next job of the queue has waited; 0 when none waits.");
  for (const QueueStatus& queue : queues) out.sample({{"queue", queue.name}}, queue.latency);
  out.gauge("brood_queue_paused", "1 while nobody is to fetch from the queue.");
  for (const QueueStatus& queue : queues) out.sample({{"queue", queue.name}}, queue.paused ? 1 : 0);
  out.gauge("brood_queue_served", "1 while some process says that it fetches from the queue.");
  for (const QueueStatus& queue : queues) out.sample({{"queue", queue.name}}, queue.served ? 1 : 0);
}

void add_processes(Exposition& out, const RedisStatus& redis) {
  const auto each = [&](auto&& value_of) {
    for (const ProcessStatus& process : redis.processes)
      out.sample({{"identity", process.identity}}, value_of(process));
  };
  out.gauge("brood_processes", "Processes that beat.");
  out.sample({}, redis.processes.size());
  out.gauge("brood_process_up", "1 for each process that beats, and who it is.");
  for (const ProcessStatus& process : redis.processes)
    out.sample({{"identity", process.identity},
                {"hostname", process.hostname},
                {"tag", process.tag},
                {"state", process.quiet ? "quiet" : "running"}},
               1);
  for (const SilentStatus& one : redis.silent)
    out.sample({{"identity", one.identity}, {"hostname", ""}, {"tag", ""}, {"state", "silent"}}, 0);
  out.gauge("brood_process_workers", "Jobs that the process runs at most.");
  each([](const ProcessStatus& process) { return process.concurrency; });
  out.gauge("brood_process_busy", "Jobs that the process runs.");
  each([](const ProcessStatus& process) { return process.busy; });
  out.gauge("brood_process_resident_memory_bytes", "Memory of the process and its workers.");
  each([](const ProcessStatus& process) { return static_cast<double>(process.rss_kb) * kilobyte; });
  out.gauge(
      "brood_process_oldest_in_flight_seconds",
      "Age of the job that has been in flight for longest, 0 when there is none; of a process that does not beat, "
      "since it was enqueued.");
  each([](const ProcessStatus& process) { return process.oldest_in_flight.value_or(0); });
  for (const SilentStatus& one : redis.silent)
    out.sample({{"identity", one.identity}}, one.oldest_in_flight.value_or(0));
  out.gauge("brood_process_in_flight", "Jobs fetched and not yet settled.");
  each([](const ProcessStatus& process) { return process.in_flight.value_or(process.busy); });
  for (const SilentStatus& one : redis.silent) out.sample({{"identity", one.identity}}, one.in_flight);
}

// By fingerprint: the book forgets the oldest, and a sum would then go down, which a counter must not.
void add_crashes(Exposition& out, const std::vector<Crash>& crashes) {
  out.counter("brood_crashes_total", "Crashes of workers, by what crashed and how.");
  for (const Crash& crash : crashes)
    out.sample({{"class", crash.job_class}, {"error", crash.error_class}, {"fingerprint", crash.fingerprint}},
               crash.count);
}

void add_quarantine(Exposition& out, const RedisStatus& redis) {
  out.gauge("brood_jobs_quarantined", "Jobs that wait since their class crashed again and again.");
  out.sample({}, redis.quarantined);
  out.gauge("brood_class_quarantined", "1 for each class whose jobs wait, and for what crash.");
  for (const auto& [name, one] : redis.quarantine) out.sample({{"class", name}, {"fingerprint", one.fingerprint}}, 1);
}

void add_workers(Exposition& out, const MachineStatus& machine) {
  static const std::vector<std::string> states = {"starting", "idle", "busy", "quiet", "stopping", "gone", "resting"};
  std::map<std::string, std::map<std::string, int>> counts;
  for (const auto& [identity, usage] : machine.usage) counts[identity];
  for (const WorkerStatus& worker : machine.workers) ++counts[worker.identity][worker.state];
  out.gauge("brood_workers", "Workers of this machine, by what they do.");
  for (auto& [identity, of_state] : counts) {
    for (const std::string& state : states) out.sample({{"identity", identity}, {"state", state}}, of_state[state]);
  }
}

void add_losses(Exposition& out, const MachineStatus& machine) {
  const auto each = [&](auto&& value_of) {
    for (const auto& [identity, counters] : machine.counters) out.sample({{"identity", identity}}, value_of(counters));
  };
  out.counter("brood_outcomes_dropped_total",
              "Outcomes of jobs that were not stored, since Redis no longer knew the worker: after a failover, say. "
              "The jobs run again.");
  each([](const JobCounters& counters) { return counters.outcomes_dropped; });
  out.counter("brood_settles_unconfirmed_total",
              "Settles and fetches that replicas did not confirm in time (redis.wait).");
  each([](const JobCounters& counters) { return counters.unconfirmed; });
}

void add_pressure(Exposition& out, const std::vector<JsonObject>& supervisors) {
  const auto each = [&](const char* member) {
    for (const JsonObject& supervisor : supervisors) {
      const auto pressure = JsonObject::parse(std::string(supervisor.raw("pressure").value_or("{}")));
      if (const auto value = pressure.number(member))
        out.sample({{"identity", supervisor.string("identity").value_or("")}}, *value);
    }
  };
  out.gauge("brood_workers_held_back", "Workers that fetch nothing while memory is scarce.");
  each("held_back");
  out.gauge("brood_memory_pressure_percent",
            "Share of the last ten seconds in which nobody got on for want of memory, as the kernel says.");
  each("memory");
}

// By supervisor: each begins at 0, and a sum would then go down.
void add_classes(Exposition& out, const MachineStatus& machine) {
  const auto each = [&](auto&& value_of) {
    for (const auto& [identity, usage] : machine.usage) {
      for (const ClassUsage& used : usage)
        out.sample({{"identity", identity}, {"class", used.job_class.empty() ? "(others)" : used.job_class}},
                   value_of(used));
    }
  };
  out.counter("brood_class_runs_total", "Runs of jobs of the class on this machine.");
  each([](const ClassUsage& used) { return used.runs; });
  out.counter("brood_class_failed_total", "Runs that failed, crashes included.");
  each([](const ClassUsage& used) { return used.failed + used.crashed; });
  out.counter("brood_class_crashed_total", "Runs that their worker did not survive.");
  each([](const ClassUsage& used) { return used.crashed; });
  out.counter("brood_class_left_threads_total", "Runs whose worker was replaced, since threads of theirs went on.");
  each([](const ClassUsage& used) { return used.left_threads; });
  out.counter("brood_class_cpu_seconds_total", "Processor time of the runs.");
  each([](const ClassUsage& used) { return static_cast<double>(used.cpu_us) / 1e6; });
  out.counter("brood_class_run_seconds_total", "Time that the runs took.");
  each([](const ClassUsage& used) { return static_cast<double>(used.wall_us) / 1e6; });
  out.gauge("brood_class_peak_memory_bytes", "The largest memory of a worker during a run.");
  each([](const ClassUsage& used) { return static_cast<double>(used.peak_rss_kb) * kilobyte; });
  out.gauge("brood_class_crashes_follow_certainty",
            "How certain it is that crashes of the class come after runs of another one (label after) in the same "
            "worker more often than by chance; only where it is 0.99 or more.");
  for (const auto& [identity, usage] : machine.usage) {
    for (const ClassUsage& used : usage) {
      if (used.preceding)
        out.sample({{"identity", identity}, {"class", used.job_class}, {"after", used.preceding_name}},
                   used.preceding->certainty);
    }
  }
}

}  // namespace

std::string status_prometheus(const StatusReport& report) {
  Exposition out;
  out.gauge("brood_build_info", "1, and the version of the program that says all this.");
  out.sample({{"version", std::string(version)}}, 1);
  out.gauge("brood_redis_up", "1 when Redis answers; without it all that Redis knows is missing here.");
  out.sample({}, report.redis ? 1 : 0);
  if (report.redis) {
    add_totals(out, *report.redis);
    add_queues(out, report.redis->queues);
    add_processes(out, *report.redis);
    add_crashes(out, report.redis->crashes);
    add_quarantine(out, *report.redis);
  }
  add_workers(out, report.machine);
  add_classes(out, report.machine);
  add_losses(out, report.machine);
  add_pressure(out, report.supervisors);
  return out.text();
}

}  // namespace brood
