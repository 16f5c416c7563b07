#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "shared/job/json.hpp"
#include "shared/paths.hpp"
#include "shared/units.hpp"
#include "supervisor/cli/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/redis_access.hpp"
#include "supervisor/cli/status_report.hpp"
#include "supervisor/cli/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr const char* footer =
    R"(Processes, queues and totals come from Redis; workers are those of this machine and of this user.
With Redis away the workers are still shown, and the exit status is 69.)";

// What one look at everything found.
struct Found {
  std::string address;               // of Redis, without its password
  std::optional<RedisStatus> redis;  // nullopt: it did not answer, and `error` says why
  std::string error;
  std::vector<WorkerStatus> workers;
};

Found look(const RedisAccess& access) {
  Found found;
  found.workers = read_scoreboards(runtime_directory());
  try {
    const RedisAddress address = access.locate();
    found.address = address.without_password();
    Connection redis(address, {.connect = 3s, .command = 5s}, "brood-status");
    found.redis = ask_redis(redis);
  } catch (const ConnectionLost& error) {
    found.error = error.what();
  }
  return found;
}

std::string age_text(double seconds) {
  return duration_text(std::chrono::milliseconds(static_cast<std::int64_t>(seconds) * 1000));
}

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
  return fmt::format("processed {}   failed {}   enqueued {}   scheduled {}   retries {}   dead {}\n", redis.processed,
                     redis.failed, redis.enqueued, redis.scheduled, retries, dead);
}

std::string processes_text(const RedisStatus& redis, const Style& style) {
  const double now = epoch_seconds(wall_now());
  Table table({{"PROCESS"},
               {"TAG"},
               {"STATE"},
               {"BUSY", Table::Align::right},
               {"QUEUES"},
               {"MEMORY", Table::Align::right},
               {"UP", Table::Align::right},
               {"BEAT", Table::Align::right}});
  for (const ProcessStatus& process : redis.processes) {
    table.add({fmt::format("{}:{}", process.hostname, process.pid), process.tag, process.quiet ? "quiet" : "running",
               fmt::format("{}/{}", process.busy, process.concurrency),
               fmt::format("{}", fmt::join(process.queues, " ")), memory_text(process.rss_kb),
               age_text(std::max(0.0, now - process.started_at)),
               age_text(std::max(0.0, now - process.beat)) + " ago"});
  }
  return section(style, "Processes", table);
}

std::string queues_text(const RedisStatus& redis, const Style& style) {
  Table table({{"QUEUE"}, {"SIZE", Table::Align::right}, {"LATENCY", Table::Align::right}});
  for (const QueueStatus& queue : redis.queues) {
    table.add({queue.name, queue.size ? std::to_string(*queue.size) : "no list", latency_text(queue.latency)});
  }
  return section(style, "Queues", table);
}

std::string workers_text(const std::vector<WorkerStatus>& workers, const Style& style) {
  Table table({{"SLOT", Table::Align::right},
               {"PID", Table::Align::right},
               {"STATE"},
               {"FOR", Table::Align::right},
               {"CLASS"},
               {"JID"},
               {"QUEUE"},
               {"PROCESSED", Table::Align::right},
               {"FAILED", Table::Align::right}});
  for (const WorkerStatus& worker : workers) {
    table.add({std::to_string(worker.slot), std::to_string(worker.pid), worker.state,
               worker.state == "busy" ? latency_text(worker.age) : "", worker.job_class, worker.jid, worker.queue,
               std::to_string(worker.processed), std::to_string(worker.failed)});
  }
  return section(style, "Workers of this machine", table);
}

std::string as_text(const Found& found, const Style& style) {
  if (!found.redis)
    return style.red("Redis is not available: ") + found.error + "\n" + workers_text(found.workers, style);
  return style.bold("Redis ") + found.address + "\n" + totals(*found.redis, style) +
         processes_text(*found.redis, style) + queues_text(*found.redis, style) + workers_text(found.workers, style);
}

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

std::string json_of_process(const ProcessStatus& process) {
  return fmt::format(
      R"({{"identity":{},"hostname":{},"pid":{},"tag":{},"version":{},"labels":{},"queues":{},"concurrency":{},"busy":{},)"
      R"("quiet":{},"rss_kb":{},"rtt_us":{},"started_at":{:.3f},"beat":{:.3f}}})",
      json_string(process.identity), json_string(process.hostname), process.pid, json_string(process.tag),
      json_string(process.version), json_strings(process.labels), json_strings(process.queues), process.concurrency,
      process.busy, process.quiet, process.rss_kb, process.rtt_us, process.started_at, process.beat);
}

std::string json_of_queue(const QueueStatus& queue) {
  return fmt::format(R"({{"name":{},"size":{},"latency":{:.3f}}})", json_string(queue.name),
                     queue.size ? std::to_string(*queue.size) : "null", queue.latency);
}

std::string json_of_worker(const WorkerStatus& worker) {
  const bool busy = worker.state == "busy";
  const std::string job =
      busy ? fmt::format(R"({{"class":{},"jid":{},"queue":{},"age":{:.3f}}})", json_string(worker.job_class),
                         json_string(worker.jid), json_string(worker.queue), worker.age)
           : "null";
  return fmt::format(R"({{"identity":{},"slot":{},"pid":{},"state":{},"job":{},"processed":{},"failed":{}}})",
                     json_string(worker.identity), worker.slot, worker.pid, json_string(worker.state), job,
                     worker.processed, worker.failed);
}

// Stable for programs: members are added, never renamed or removed.  Without an answer from Redis its members are null.
std::string as_json(const Found& found) {
  const RedisStatus* const redis = found.redis ? &*found.redis : nullptr;
  const auto total = [&](std::int64_t RedisStatus::*member) { return redis ? std::to_string(redis->*member) : "null"; };
  return fmt::format(
      R"({{"redis":{},"error":{},"processed":{},"failed":{},"enqueued":{},"scheduled":{},"retries":{},"dead":{},)"
      R"("processes":{},"queues":{},"workers":{}}})"
      "\n",
      found.address.empty() ? "null" : json_string(found.address), redis ? "null" : json_string(found.error),
      total(&RedisStatus::processed), total(&RedisStatus::failed), total(&RedisStatus::enqueued),
      total(&RedisStatus::scheduled), total(&RedisStatus::retries), total(&RedisStatus::dead),
      redis ? json_list(redis->processes, json_of_process) : "null",
      redis ? json_list(redis->queues, json_of_queue) : "null", json_list(found.workers, json_of_worker));
}

}  // namespace

int status_command(const std::vector<std::string>& args) {
  RedisAccess access;
  bool json = false;
  CLI::App app("Shows processes, queues and totals of a Redis, and the workers of this machine.", "brood status");
  app.add_flag("--json", json, "Answer in JSON, for programs");
  access.add_options(app);
  app.footer(footer);
  refuse_arguments(parse_arguments(app, args));

  const Found found = look(access);
  print(json ? as_json(found) : as_text(found, Style::of_standard_output()));
  return found.redis ? exit_status::ok : exit_status::unavailable;
}

}  // namespace brood
