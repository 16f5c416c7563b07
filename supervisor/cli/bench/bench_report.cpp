#include "supervisor/cli/bench/bench_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "shared/base/log_line.hpp"
#include "shared/json/json.hpp"
#include "supervisor/cli/count_text.hpp"
#include "supervisor/version.hpp"

namespace brood {
namespace {

// 1234567.4 -> "1,234,567"
std::string grouped(double number) { return brood::grouped(static_cast<std::uint64_t>(std::llround(number))); }

std::string counted(double number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string mebibytes(std::uint64_t kb) { return fmt::format("{:.1f} MiB", static_cast<double>(kb) / 1024); }

std::string line(const Style& style, std::string_view title, const std::string& figure, const std::string& detail) {
  return fmt::format("  {}{}{}{}\n", style.dim(fmt::format("{:<15}", title)), style.bold(figure),
                     detail.empty() ? "" : "   ", style.dim(detail));
}

std::string throughput_text(const BenchThroughput& run, const Style& style) {
  const double us = 1e6 / static_cast<double>(run.jobs);
  std::string text = line(style, "throughput", grouped(run.jobs_per_second) + " jobs/s",
                          fmt::format("{} in {:.2f} s", counted(static_cast<double>(run.jobs), "job"), run.seconds));
  if (run.share_of_ideal) text += line(style, "", fmt::format("{:.1f} % of ideal", *run.share_of_ideal * 100), "");
  text += line(style, "CPU a job",
               fmt::format("supervisor {:.2f} us, workers {:.2f} us, Redis {:.2f} us", run.cpu.supervisor * us,
                           run.cpu.workers * us, run.cpu.redis * us),
               fmt::format("{:.2f} s, {:.2f} s, {:.2f} s", run.cpu.supervisor, run.cpu.workers, run.cpu.redis));
  text += line(style, "Redis a job",
               fmt::format("{:.2f} commands, {:.2f} requests", run.redis_commands_per_job, run.redis_requests_per_job),
               "commands of scripts count too");
  return text;
}

std::string idle_text(const BenchIdle& idle, const Style& style) {
  const double percent = 100 / idle.seconds;
  return line(style, "idle",
              fmt::format("{:.2f} commands/s, {:.3f} % of a core", idle.redis_commands_per_second,
                          (idle.cpu.supervisor + idle.cpu.workers + idle.cpu.redis) * percent),
              fmt::format("supervisor {:.3f} %, workers {:.3f} %, Redis {:.3f} %; {:.2f} requests/s",
                          idle.cpu.supervisor * percent, idle.cpu.workers * percent, idle.cpu.redis * percent,
                          idle.redis_requests_per_second));
}

std::string cpu_json(const BenchCpu& cpu) {
  return fmt::format(R"({{"supervisor":{:.6f},"workers":{:.6f},"redis":{:.6f}}})", cpu.supervisor, cpu.workers,
                     cpu.redis);
}

std::string throughput_json(const BenchThroughput& run) {
  return fmt::format(R"({{"jobs":{},"seconds":{:.6f},"jobs_per_second":{:.1f},"share_of_ideal":{},"cpu_s":{},)"
                     R"("redis_commands_per_job":{:.4f},"redis_requests_per_job":{:.4f}}})",
                     run.jobs, run.seconds, run.jobs_per_second,
                     run.share_of_ideal ? fmt::format("{:.4f}", *run.share_of_ideal) : "null", cpu_json(run.cpu),
                     run.redis_commands_per_job, run.redis_requests_per_job);
}

std::string latency_json(const BenchLatency& latency) {
  return fmt::format(R"({{"jobs":{},"p50_us":{:.1f},"p99_us":{:.1f},"p999_us":{:.1f},"max_us":{:.1f}}})", latency.jobs,
                     latency.p50, latency.p99, latency.p999, latency.max);
}

std::string idle_json(const BenchIdle& idle) {
  return fmt::format(
      R"({{"seconds":{:.3f},"cpu_s":{},"redis_commands_per_second":{:.4f},"redis_requests_per_second":{:.4f}}})",
      idle.seconds, cpu_json(idle.cpu), idle.redis_commands_per_second, idle.redis_requests_per_second);
}

std::string memory_json(const BenchMemory& memory) {
  return fmt::format(R"({{"supervisor_kb":{},"worker_median_kb":{},"worker_largest_kb":{},"redis_kb":{}}})",
                     memory.supervisor, memory.worker_median, memory.worker_largest, memory.redis);
}

}  // namespace

double quantile(const std::vector<double>& sorted, double share) {
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  const auto place = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return sorted.at(std::min(place, sorted.size() - 1));
}

std::string bench_text(const BenchReport& report, const Style& style) {
  std::string text =
      fmt::format("brood {}: {}, {}, Redis {} at {}\n\n", version, counted(report.workers, "worker"),
                  counted(report.queues, "queue"), log::printable(report.redis_version), log::printable(report.redis));
  text += line(style, "start", fmt::format("{:.0f} ms", report.start_seconds * 1e3), "until all workers were ready");
  if (report.throughput) text += throughput_text(*report.throughput, style);
  if (const auto& latency = report.latency) {
    text +=
        line(style, "push to start",
             fmt::format("p50 {:.0f} us, p99 {:.0f} us, p99.9 {:.0f} us", latency->p50, latency->p99, latency->p999),
             fmt::format("max {:.0f} us, {}", latency->max, counted(static_cast<double>(latency->jobs), "job")));
  }
  if (report.idle) text += idle_text(*report.idle, style);
  text += line(style, "memory",
               fmt::format("supervisor {}, a worker {}, Redis {}", mebibytes(report.memory.supervisor),
                           mebibytes(report.memory.worker_median), mebibytes(report.memory.redis)),
               fmt::format("the largest worker {}", mebibytes(report.memory.worker_largest)));
  text += line(style, "stop", fmt::format("{:.0f} ms", report.stop_seconds * 1e3), "");
  return text;
}

std::string bench_json(const BenchReport& report) {
  return fmt::format(R"({{"version":{},"workers":{},"queues":{},"job_ms":{:.3f},"redis":{},"redis_version":{},)"
                     R"("start_s":{:.6f},"throughput":{},"latency":{},"idle":{},"memory":{},"stop_s":{:.6f}}})"
                     "\n",
                     json_string(version), report.workers, report.queues, report.job_ms, json_string(report.redis),
                     json_string(report.redis_version), report.start_seconds,
                     report.throughput ? throughput_json(*report.throughput) : "null",
                     report.latency ? latency_json(*report.latency) : "null",
                     report.idle ? idle_json(*report.idle) : "null", memory_json(report.memory), report.stop_seconds);
}

}  // namespace brood
