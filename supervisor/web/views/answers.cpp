#include <string>
#include <utility>
#include <vector>

#include "shared/json/json.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/redis/connection.hpp"
#include "supervisor/cli/access/served_queues.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/lists/job_json.hpp"
#include "supervisor/cli/lists/limit_list.hpp"
#include "supervisor/cli/lists/lock_list.hpp"
#include "supervisor/cli/lists/periodic_list.hpp"
#include "supervisor/cli/lists/process_json.hpp"
#include "supervisor/cli/lists/sequence_list.hpp"
#include "supervisor/cli/lists/shown_job.hpp"
#include "supervisor/cli/status/look.hpp"
#include "supervisor/web/page/call.hpp"
#include "supervisor/web/page/json_answer.hpp"
#include "supervisor/web/page/site.hpp"

namespace brood {
namespace {

constexpr std::size_t most_told = 1'000;  // of each kind and shard

// "host" of "host:pid:nonce".
std::string host_in(const std::string& identity) {
  const std::size_t nonce = identity.rfind(':');
  const std::size_t pid = nonce == identity.npos || nonce == 0 ? identity.npos : identity.rfind(':', nonce - 1);
  return identity.substr(0, pid);
}

// Replaces identities by the host's name.  Supervisors come and go, with numbers in their names; their sum stays.
StatusReport named_by_host(StatusReport report) {
  MachineStatus& machine = report.machine;
  if (machine.counters.empty()) return report;
  const std::string host = host_in(machine.counters.begin()->first);
  machine.usage = {{host, machine.classes}};
  machine.counters = {{host, sum_of_counters(machine)}};
  for (WorkerStatus& worker : machine.workers) worker.identity = host;
  for (JsonObject& supervisor : report.supervisors) supervisor = supervisor.with({{"identity", json_string(host)}});
  return report;
}

MetricsScope scope_of(Site& site) {
  switch (site.settings().metrics) {
    case WebSettings::Metrics::all:
      return MetricsScope::all;
    case WebSettings::Metrics::host:
      return MetricsScope::host;
    case WebSettings::Metrics::redis:
      return MetricsScope::redis;
    case WebSettings::Metrics::elected:
      break;
  }
  try {
    return site.tells_of_redis() ? MetricsScope::host_and_redis : MetricsScope::host;
  } catch (const ConnectionLost&) {
  } catch (const Refused&) {  // it was away a moment ago
  }
  return MetricsScope::host;
}

struct LookForMetrics {
  MetricsScope scope;
  StatusReport report;
};
LookForMetrics look_for_metrics(Site& site) {
  const MetricsScope scope = scope_of(site);
  return {scope, scope == MetricsScope::host ? site.own_processes() : site.everything()};
}

}  // namespace

// Whether a supervisor of this machine and user answers, whatever its state.  Does not ask Redis.
HttpResponse answer_health(Call& call) {
  const StatusReport report = call.site.machine();
  const bool stands = !report.supervisors.empty();
  return json_answer(
      stands ? 200 : 503,
      JsonWriter()
              .truth("healthy", stands)
              .text("reason", stands ? "a supervisor answers" : "no supervisor of this user answers on this machine")
              .object() +
          "\n");
}

// The result of `brood status --check`.
HttpResponse answer_readiness(Call& call) {
  const ReadyVerdict readiness = judge_readiness(call.site.readiness());
  const bool is_ready = readiness.exit_status == exit_status::ok;
  return json_answer(is_ready ? 200 : 503,
                     JsonWriter().truth("ready", is_ready).text("reason", readiness.sentence).object() + "\n");
}

HttpResponse answer_metrics(Call& call) {
  const bool is_open =
      call.request.header("accept").value_or("").find("application/openmetrics-text") != std::string_view::npos;
  const auto [scope, report] = look_for_metrics(call.site);
  return {.type = is_open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                          : "text/plain; version=0.0.4; charset=utf-8",
          .body = status_prometheus(named_by_host(report), scope,
                                    is_open ? Exposition::Format::openmetrics : Exposition::Format::prometheus)};
}

HttpResponse answer_status(Call& call) {
  const StatusReport report = call.site.everything();
  return json_answer(report.redis ? 200 : 503, status_json(report));
}

HttpResponse answer_crashes(Call& call) {
  const StatusReport report = call.site.everything();
  if (!report.redis) throw Refused(503, "Redis is away: " + report.error);
  return json_answer(200, json_array(report.redis->crashes, crash_json));
}

HttpResponse answer_queues(Call& call) {
  const std::string tenants = call.query.value("tenants");
  Api& api = call.site.api();
  const std::vector<QueueSummary> queues = tenants.empty() ? api.queue_summaries_by_base() : api.tenants(tenants);
  const ServedQueues served = ask_served_queues(call.site.shards());
  return json_answer(200, json_array(queues, [&](const QueueSummary& queue) { return queue_json(queue, served); }));
}

// Does not use Api::processes(), which removes the dead: reading must change nothing.
HttpResponse answer_processes(Call& call) {
  const StatusReport report = call.site.everything();
  if (!report.redis) throw Refused(503, "Redis is away: " + report.error);
  return json_answer(200, json_array(report.redis->processes, [](const ProcessStatus& process) {
                       JsonWriter json;
                       return write_process(json, process, TellEmbedded::yes).object();
                     }));
}

HttpResponse answer_periodic(Call& call) {
  const std::vector<ListedPeriodic> all = list_periodic(call.site.configuration(), call.site.shards());
  const ShowArgsSettings& show_args = call.site.settings().show_args;
  return json_answer(
      200, json_array(all, [&](const ListedPeriodic& one) { return one.json(show_args.of({one.job_class})); }));
}

HttpResponse answer_limits(Call& call) {
  std::vector<ListedLimit> limits;
  call.site.shards().each([&](ShardConnections::Shard& shard) {
    for (ListedLimit& limit : list_limits_of(shard, most_told)) limits.push_back(std::move(limit));
  });
  return json_answer(200, json_array(limits, [](const ListedLimit& limit) { return limit.json(true); }));
}

HttpResponse answer_sequences(Call& call) {
  return json_answer(200, json_array(list_sequences(call.site.shards(), most_told),
                                     [](const ListedSequence& sequence) { return sequence.json(); }));
}

HttpResponse answer_job(Call& call) {
  constexpr std::size_t longest_jid = 255;
  const std::string jid = call.request.path.substr(call.request.path.rfind('/') + 1);
  if (jid.size() > longest_jid) throw Refused(404, "No job has so long an id.");
  ShownJob job = look_for_job(call.site.shards(), jid);
  job.report.result.text = told_args_json(job.report.result.text, call.site.settings().show_args.of_any());
  return json_answer(job.report.state == JobState::unknown ? 404 : 200, shown_job_json(job) + "\n");
}

HttpResponse answer_locks(Call& call) {
  return json_answer(200, json_array(list_locks_with_jobs(call.site.shards(), most_told), lock_json));
}

}  // namespace brood
