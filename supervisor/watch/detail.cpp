#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "shared/store/report/work_entries.hpp"
#include "supervisor/watch/figures.hpp"
#include "supervisor/watch/panes.hpp"

namespace brood::watch {
namespace {

// Adds a line such as "Queue default"; none if `value` is empty.
void add(std::vector<std::string>& lines, std::string_view name, const std::string& value) {
  if (!value.empty()) lines.push_back(fmt::format("{:<14}{}", name, value));
}

std::string at_text(double epoch) {
  if (epoch <= 0) return "";
  return date_time_text(WallTime(std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(epoch))));
}

template <typename Items, typename Key>
const typename Items::value_type* find(const Items& items, const std::string& row, Key key) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const auto& item) { return key(item) == row; });
  return found == items.end() ? nullptr : &*found;
}

std::string deadline_text(const WorkerStatus& worker) {
  if (!worker.deadline_in) return worker.state == "busy" ? "none" : "";
  return *worker.deadline_in > 0 ? "in " + duration_text_of(*worker.deadline_in)
                                 : "over since " + duration_text_of(-*worker.deadline_in);
}

Detail detail_of(const WorkerStatus& worker, const Model& model) {
  Detail detail{.title = fmt::format("Worker {}", worker.slot)};
  auto& lines = detail.lines;
  add(lines, "State", worker.state);
  if (worker.rests_for)
    add(lines, "Rests", duration_text_of(*worker.rests_for) + " more, because its workers end at once");
  add(lines, "Class", worker.job_class);
  add(lines, "Job", worker.jid);
  add(lines, "Queue", worker.queue);
  if (worker.state == "busy") add(lines, "Runs for", duration_text_of(worker.age));
  if (worker.progress) add(lines, "Progress", progress_text(*worker.progress));
  add(lines, "Deadline", deadline_text(worker));
  lines.emplace_back();
  add(lines, "Pid", worker.pid > 0 ? std::to_string(worker.pid) : "");
  if (const ProcessUse* const use = model.use_of(worker.pid)) {
    add(lines, "Processor",
        fmt::format("{} % now, {} in all", percent_text(model.cpu_percent(worker.pid)), duration_text_of(use->cpu_s)));
    add(lines, "Memory", memory_text(use->rss_kb));
  }
  add(lines, "Jobs", fmt::format("{} begun, {} failed", worker.processed, worker.failed));
  lines.emplace_back();
  add(lines, "Capsule", worker.capsule);
  add(lines, "Generation", std::to_string(worker.generation));
  add(lines, "Supervisor", worker.identity);
  lines.emplace_back();
  lines.emplace_back(worker.state == "busy" ? "d shows its stack, K ends its job." : "d shows its stack.");
  return detail;
}

Detail detail_of(const QueueStatus& queue, const Model& model) {
  Detail detail{.title = "Queue " + queue.name};
  add(detail.lines, "Size", queue.size ? std::to_string(*queue.size) : "unknown: the key is not a list");
  add(detail.lines, "Latency", duration_text_of(queue.latency) + ", how long the next job has waited");
  add(detail.lines, "Change", change_text(model.queue_change(queue.name)) + ", over the last seconds");
  add(detail.lines, "Paused", queue.paused ? "yes: no process fetches from it" : "no");
  std::vector<std::string> served;
  for (const ProcessStatus& process : model.redis()->processes) {
    if (fetches_from(process.queues, queue.name))
      served.push_back(fmt::format("{}:{}{}", process.hostname, process.pid, process.quiet ? " (quiet)" : ""));
  }
  add(detail.lines, "Served by", served.empty() ? "nobody" : fmt::format("{}", fmt::join(served, ", ")));
  return detail;
}

Detail detail_of(const ClassUsage& usage, const Model& model) {
  Detail detail{.title = "Class " + (usage.job_class.empty() ? "(others)" : usage.job_class)};
  const double runs = std::max(1.0, static_cast<double>(usage.runs));
  const double cpu = static_cast<double>(usage.cpu_us) / 1e6, wall = static_cast<double>(usage.wall_us) / 1e6;
  add(detail.lines, "Runs",
      fmt::format("{}, of which {} failed and {} crashed", usage.runs, usage.failed, usage.crashed));
  add(detail.lines, "Time", fmt::format("{} in all, {} each", duration_text_of(wall), duration_text_of(wall / runs)));
  add(detail.lines, "Processor",
      fmt::format("{} in all, {} each", duration_text_of(cpu), duration_text_of(cpu / runs)));
  add(detail.lines, "Peak memory", memory_text(usage.peak_rss_kb));
  if (usage.left_threads > 0)
    add(detail.lines, "Left threads", fmt::format("in {} runs, each of which cost its worker", usage.left_threads));
  if (usage.expired > 0) add(detail.lines, "Expired", fmt::format("{} before they began", usage.expired));
  if (usage.isolated) add(detail.lines, "Isolation", "each run has a process of its own");
  if (usage.allows_threads) add(detail.lines, "Threads", "may go on after a run");
  if (usage.preceding) add(detail.lines, "Crashes", preceding_class_text(usage));
  for (const WorkerStatus& worker : model.machine().workers) {
    if (worker.state == "busy" && worker.job_class == usage.job_class)
      add(detail.lines, "Runs now",
          fmt::format("{} in worker {}, for {}", worker.jid, worker.slot, duration_text_of(worker.age)));
  }
  return detail;
}

Detail detail_of(const Crash& crash) {
  Detail detail{.title = crash.job_class + "  " + crash.error_class};
  auto& lines = detail.lines;
  lines.push_back(crash.message);
  lines.push_back(fmt::format("{}, last at {}", crash.count == 1 ? "once" : fmt::format("{} times", crash.count),
                              at_text(crash.at)));
  lines.push_back(fmt::format("job {}  queue {}", crash.jid, crash.queue));
  lines.push_back("supervisor " + crash.identity);
  lines.push_back("fingerprint " + crash.fingerprint);
  lines.emplace_back();
  if (crash.frames.empty()) lines.emplace_back("no stack is known");
  lines.insert(lines.end(), crash.frames.begin(), crash.frames.end());
  return detail;
}

Detail detail_of(const ProcessStatus& process, WallTime now) {
  Detail detail{.title = fmt::format("Process {}:{}", process.hostname, process.pid)};
  auto& lines = detail.lines;
  add(lines, "State", process.quiet ? "quiet: it fetches no more jobs" : "running");
  add(lines, "Busy", fmt::format("{} of {}", process.busy, process.concurrency));
  add(lines, "Queues", fmt::format("{}", fmt::join(process.queues, " ")));
  add(lines, "Memory", memory_text(static_cast<std::uint64_t>(std::max<std::int64_t>(0, process.rss_kb))));
  add(lines, "Started", at_text(epoch_seconds(process.started_at)));
  add(lines, "Heartbeat",
      duration_text_of(std::floor(std::max(0.0, epoch_seconds(now) - epoch_seconds(process.beat)))) + " ago");
  add(lines, "Redis answers", fmt::format("in {:.1f} ms", static_cast<double>(process.rtt_us) / 1000));
  add(lines, "Tag", process.tag);
  add(lines, "Labels", fmt::format("{}", fmt::join(process.labels, " ")));
  add(lines, "Version", process.version);
  add(lines, "Identity", process.identity);
  return detail;
}

std::optional<Detail> find_detail(const Model& model, Pane pane, const std::string& row, WallTime now) {
  if (pane == Pane::workers) {
    if (const WorkerStatus* const worker = worker_of(model, row)) return detail_of(*worker, model);
    return std::nullopt;
  }
  if (pane == Pane::classes) {
    const auto* const usage = find(model.machine().classes, row, [](const ClassUsage& u) { return u.job_class; });
    return usage ? std::optional(detail_of(*usage, model)) : std::nullopt;
  }
  if (!model.redis()) return std::nullopt;
  if (pane == Pane::queues) {
    const auto* const queue = find(model.redis()->queues, row, [](const QueueStatus& q) { return q.name; });
    return queue ? std::optional(detail_of(*queue, model)) : std::nullopt;
  }
  if (pane == Pane::crashes) {
    const auto* const crash = find(model.redis()->crashes, row, [](const Crash& c) { return c.fingerprint; });
    return crash ? std::optional(detail_of(*crash)) : std::nullopt;
  }
  const auto* const process = find(model.redis()->processes, row, [](const ProcessStatus& p) { return p.identity; });
  return process ? std::optional(detail_of(*process, now)) : std::nullopt;
}

}  // namespace

const WorkerStatus* worker_of(const Model& model, const std::string& row) {
  return find(model.machine().workers, row,
              [](const WorkerStatus& worker) { return fmt::format("{}:{}", worker.identity, worker.slot); });
}

std::optional<Detail> detail_of(const Model& model, Pane pane, const std::string& row, WallTime now) {
  std::optional<Detail> detail = find_detail(model, pane, row, now);
  if (detail) detail->row = row;
  return detail;
}

}  // namespace brood::watch
