#include "supervisor/cli/bench/bench_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "shared/base/log_line.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
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
  return JsonWriter()
      .decimal("supervisor", cpu.supervisor, 6)
      .decimal("workers", cpu.workers, 6)
      .decimal("redis", cpu.redis, 6)
      .object();
}

std::string throughput_json(const BenchThroughput& run) {
  return JsonWriter()
      .number("jobs", run.jobs)
      .decimal("seconds", run.seconds, 6)
      .decimal("jobs_per_second", run.jobs_per_second, 1)
      .decimal("share_of_ideal", run.share_of_ideal, 4)
      .json("cpu_s", cpu_json(run.cpu))
      .decimal("redis_commands_per_job", run.redis_commands_per_job, 4)
      .decimal("redis_requests_per_job", run.redis_requests_per_job, 4)
      .object();
}

std::string latency_json(const BenchLatency& latency) {
  return JsonWriter()
      .number("jobs", latency.jobs)
      .decimal("p50_us", latency.p50, 1)
      .decimal("p99_us", latency.p99, 1)
      .decimal("p999_us", latency.p999, 1)
      .decimal("max_us", latency.max, 1)
      .object();
}

std::string idle_json(const BenchIdle& idle) {
  return JsonWriter()
      .decimal("seconds", idle.seconds)
      .json("cpu_s", cpu_json(idle.cpu))
      .decimal("redis_commands_per_second", idle.redis_commands_per_second, 4)
      .decimal("redis_requests_per_second", idle.redis_requests_per_second, 4)
      .object();
}

std::string memory_json(const BenchMemory& memory) {
  return JsonWriter()
      .number("supervisor_kb", memory.supervisor)
      .number("worker_median_kb", memory.worker_median)
      .number("worker_largest_kb", memory.worker_largest)
      .number("redis_kb", memory.redis)
      .object();
}

}  // namespace

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
  return JsonWriter()
             .text("version", version)
             .number("workers", report.workers)
             .number("queues", report.queues)
             .decimal("job_ms", report.job_ms)
             .text("redis", report.redis)
             .text("redis_version", report.redis_version)
             .decimal("start_s", report.start_seconds, 6)
             .json("throughput", report.throughput ? throughput_json(*report.throughput) : "null")
             .json("latency", report.latency ? latency_json(*report.latency) : "null")
             .json("idle", report.idle ? idle_json(*report.idle) : "null")
             .json("memory", memory_json(report.memory))
             .decimal("stop_s", report.stop_seconds, 6)
             .object() +
         "\n";
}

}  // namespace brood
