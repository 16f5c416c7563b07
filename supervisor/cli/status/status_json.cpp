#include <fmt/format.h>

#include "shared/json/json.hpp"
#include "supervisor/cli/process_use.hpp"
#include "supervisor/cli/status/status_report.hpp"

namespace brood {
namespace {

std::string json_strings(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(json_string(text));
  return fmt::format("[{}]", fmt::join(quoted, ","));
}

std::string json_list(const auto& items, auto&& json_of) {
  std::vector<std::string> all;
  for (const auto& item : items) all.push_back(json_of(item));
  return fmt::format("[{}]", fmt::join(all, ","));
}

std::string json_seconds(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.3f}", *seconds) : "null";
}

std::string json_of_process(const ProcessStatus& process) {
  return fmt::format(
      R"({{"identity":{},"hostname":{},"pid":{},"tag":{},"version":{},"labels":{},"queues":{},"concurrency":{},"busy":{},)"
      R"("quiet":{},"rss_kb":{},"rtt_us":{},"started_at":{:.3f},"beat":{:.3f},"in_flight":{},"oldest_in_flight":{}}})",
      json_string(process.identity), json_string(process.hostname), process.pid, json_string(process.tag),
      json_string(process.version), json_strings(process.labels), json_strings(process.queues), process.concurrency,
      process.busy, process.quiet, process.rss_kb, process.rtt_us, process.started_at, process.beat,
      process.in_flight ? std::to_string(*process.in_flight) : "null", json_seconds(process.oldest_in_flight));
}

std::string json_of_silent(const SilentStatus& silent) {
  return fmt::format(R"({{"identity":{},"in_flight":{},"oldest_in_flight":{}}})", json_string(silent.identity),
                     silent.in_flight, json_seconds(silent.oldest_in_flight));
}

std::string json_of_queue(const QueueStatus& queue) {
  return fmt::format(R"({{"name":{},"size":{},"latency":{:.3f},"paused":{},"served":{}}})", json_string(queue.name),
                     queue.size ? std::to_string(*queue.size) : "null", queue.latency, queue.paused, queue.served);
}

std::string json_of_worker(const WorkerStatus& worker) {
  const bool busy = worker.state == "busy";
  const bool lives = worker.pid > 0 && worker.state != "gone" && worker.state != "resting";
  const auto use = lives ? use_of_process(worker.pid) : std::nullopt;
  const std::string job = busy ? fmt::format(R"({{"class":{},"jid":{},"queue":{},"age":{:.3f},"deadline_in":{}}})",
                                             json_string(worker.job_class), json_string(worker.jid),
                                             json_string(worker.queue), worker.age, json_seconds(worker.deadline_in))
                               : "null";
  return fmt::format(
      R"({{"identity":{},"slot":{},"capsule":{},"generation":{},"pid":{},"state":{},"rests_for":{},"job":{},"processed":{},"failed":{},"rss_kb":{},"cpu_s":{}}})",
      json_string(worker.identity), worker.slot, json_string(worker.capsule), worker.generation, worker.pid,
      json_string(worker.state), json_seconds(worker.rests_for), job, worker.processed, worker.failed,
      use ? std::to_string(use->rss_kb) : "null", use ? fmt::format("{:.2f}", use->cpu_s) : "null");
}

std::string json_of_class(const ClassUsage& usage) {
  return fmt::format(
      R"({{"name":{},"runs":{},"failed":{},"crashed":{},"cpu_s":{:.6f},"wall_s":{:.6f},"peak_rss_kb":{}}})",
      json_string(usage.job_class), usage.runs, usage.failed, usage.crashed, static_cast<double>(usage.cpu_us) / 1e6,
      static_cast<double>(usage.wall_us) / 1e6, usage.peak_rss_kb);
}

std::string json_of_crash(const Crash& crash) {
  return fmt::format(
      R"({{"fingerprint":{},"count":{},"at":{:.3f},"class":{},"error_class":{},"message":{},"jid":{},"queue":{},)"
      R"("identity":{},"top_frame":{},"frames":{}}})",
      json_string(crash.fingerprint), crash.count, crash.at, json_string(crash.job_class),
      json_string(crash.error_class), json_string(crash.message), json_string(crash.jid), json_string(crash.queue),
      json_string(crash.identity), json_string(top_frame(crash)), json_strings(crash.frames));
}

}  // namespace

std::string crash_json(const Crash& crash) { return json_of_crash(crash) + "\n"; }

std::string status_json(const StatusReport& report) {
  const RedisStatus* const redis = report.redis ? &*report.redis : nullptr;
  const auto total = [&](std::int64_t RedisStatus::*member) { return redis ? std::to_string(redis->*member) : "null"; };
  return fmt::format(
      R"({{"redis":{},"error":{},"processed":{},"failed":{},"enqueued":{},"scheduled":{},"retries":{},"dead":{},)"
      R"("in_flight":{},"oldest_in_flight":{},"processes":{},"silent":{},"queues":{},"supervisors":{},"workers":{},)"
      R"("classes":{},"crashes":{}}})"
      "\n",
      report.address.empty() ? "null" : json_string(report.address), redis ? "null" : json_string(report.error),
      total(&RedisStatus::processed), total(&RedisStatus::failed), total(&RedisStatus::enqueued),
      total(&RedisStatus::scheduled), total(&RedisStatus::retries), total(&RedisStatus::dead),
      redis ? std::to_string(redis->in_flight()) : "null", redis ? json_seconds(redis->oldest_in_flight()) : "null",
      redis ? json_list(redis->processes, json_of_process) : "null",
      redis ? json_list(redis->silent, json_of_silent) : "null",
      redis ? json_list(redis->queues, json_of_queue) : "null",
      json_list(report.supervisors, [](const JsonObject& supervisor) { return supervisor.text(); }),
      json_list(report.machine.workers, json_of_worker), json_list(report.machine.classes, json_of_class),
      redis ? json_list(redis->crashes, json_of_crash) : "null");
}

}  // namespace brood
