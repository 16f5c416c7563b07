#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/bench/bench.hpp"
#include "supervisor/cli/bench/bench_interrupt.hpp"
#include "supervisor/cli/bench/bench_redis.hpp"
#include "supervisor/cli/bench/bench_usage.hpp"
#include "supervisor/cli/companion.hpp"
#include "supervisor/cli/program.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr const char* footer =
    R"(Starts a supervisor and a private redis-server, and removes both.  With --redis or
-C the jobs go to that Redis, to queues of their own; its statistics count them and its other users notice the load.

Throughput is from the start of the first job to the end of the last; latency is from just before the push to the first
line of the job, one job at a time on an idle server.  Memory is the private memory of a process.

Examples:
  brood bench                                    no-op jobs, then latencies
  brood bench --workers 8 --max-batch 1          every job fetched alone
  brood bench --job-ms 5 --jobs 2000             jobs that wait for 5 ms each
  brood bench --jobs 0 --latency-jobs 0 --idle 20    the cost of an idle server)";

struct BenchOptions {
  RedisAccess redis;
  std::size_t jobs = 100'000, latency_jobs = 500;
  int workers = 2, queues = 1, max_batch = 32;
  double job_ms = 0, idle_seconds = 0;
  std::string appendfsync;  // empty: no append-only file
  bool log_jobs = false, json = false;

  bool names_redis() const { return !redis.url.empty() || !redis.config.empty(); }
};

BenchOptions parse(const std::vector<std::string>& args) {
  BenchOptions options;
  bool append_only = false;
  CommandLine line("Measures how fast this machine runs jobs, how soon they begin, and the cost.", "brood bench");
  line.number("-j,--jobs", options.jobs, "Jobs for the throughput; 0: leave it out", 0, 100'000'000);
  line.number("-w,--workers", options.workers, "Workers", 1, 10'000);
  line.number("--queues", options.queues, "Queues, in strict order", 1, 1'000);
  line.number("--job-ms", options.job_ms, "Milliseconds that a job sleeps", 0.0, 60'000.0);
  line.number("--latency-jobs", options.latency_jobs, "Jobs for the latency; 0: leave it out", 0, 1'000'000);
  line.number("--idle", options.idle_seconds, "Seconds to watch the idle server; 0: leave it out", 0.0, 3'600.0);
  line.number("--max-batch", options.max_batch, "How many short jobs a worker may fetch at once", 1, 32);
  line.flag("--append-only", append_only, "Let the private Redis write an append-only file");
  line.option("--appendfsync", options.appendfsync, "WHEN",
              "Likewise, and when it is synced: always, everysec (default) or no");
  line.flag("--log-jobs", options.log_jobs, "Log the start and the end of each job");
  line.flag("--json", options.json, "Answer in JSON, for programs");
  options.redis.add_options(line);
  line.footer(footer);
  refuse_arguments(line.parse(args));
  if (append_only && options.appendfsync.empty()) options.appendfsync = "everysec";
  if (!options.appendfsync.empty() && options.names_redis())
    throw UsageError("--append-only and --appendfsync are for the private Redis");
  const std::set<std::string> known = {"", "always", "everysec", "no"};
  if (!known.contains(options.appendfsync)) throw UsageError("--appendfsync is always, everysec or no");
  return options;
}

double seconds(std::chrono::nanoseconds length) { return std::chrono::duration<double>(length).count(); }

std::string job_library(const std::filesystem::path& brood) {
  const std::filesystem::path library = (brood.parent_path() / BROOD_BENCH_LIBRARY).lexically_normal();
  if (!std::filesystem::exists(library))
    throw std::runtime_error("the jobs of the benchmark are missing: " + library.string());
  return library;
}

BenchReport run(const BenchOptions& options, const RedisAddress& address) {
  const std::string brood = brood_of_companion();
  const std::size_t traced_jobs = options.job_ms > 0 ? options.jobs : 0;
  Bench bench({.redis = address,
               .brood = brood,
               .library = job_library(brood),
               .workers = options.workers,
               .queues = options.queues,
               .traces = std::max(traced_jobs, options.latency_jobs) + 1,
               .longest_job = std::chrono::duration_cast<std::chrono::nanoseconds>(options.job_ms * 1ms),
               .max_batch = options.max_batch,
               .log_jobs = options.log_jobs});
  const auto sleep_us = static_cast<std::int64_t>(options.job_ms * 1'000);
  const auto job = [&](std::size_t i) {
    return sleep_us > 0 ? BenchJob{"BroodBench::Traced", fmt::format("[{},{}]", i, sleep_us)}
                        : BenchJob{"BroodBench::Noop", fmt::format("[{}]", i)};
  };
  BenchReport report;
  report.workers = options.workers;
  report.queues = options.queues;
  report.job_ms = options.job_ms;
  report.redis_version = redis_usage(bench.redis()).version;
  report.start_seconds = seconds(bench.server().start_up());
  try {
    bench.warm_up();
    if (options.jobs > 0) report.throughput = bench.measure_throughput(options.jobs, job);
    if (options.latency_jobs > 0) report.latency = bench.measure_latency(options.latency_jobs);
    if (options.idle_seconds > 0) report.idle = bench.measure_idle(options.idle_seconds);
    report.memory = bench.measure_memory();
    report.stop_seconds = seconds(bench.server().stop());
  } catch (...) {
    bench.queues().remove();
    throw;
  }
  bench.queues().remove();
  return report;
}

BenchReport measure(const BenchOptions& options) {
  note_interrupts();
  if (options.names_redis()) {
    const RedisAddress address = options.redis.locate();
    fmt::print(stderr, "brood bench: this loads {}, and its users may notice\n",
               log::printable(address.without_password()));
    BenchReport report = run(options, address);
    report.redis = address.without_password();
    return report;
  }
  const BenchDirectory directory("/tmp");  // not TMPDIR: a Unix socket's path has at most 107 bytes
  const BenchRedis redis(directory.path(), options.appendfsync);
  BenchReport report = run(options, redis.address());
  report.redis = options.appendfsync.empty() ? "private" : "private, append-only, " + options.appendfsync;
  return report;
}

int bench_command(const std::vector<std::string>& args) {
  const BenchOptions options = parse(args);
  try {
    const BenchReport report = measure(options);
    if (options.json)
      print_json(bench_json(report));
    else
      print(bench_text(report, Style::of_standard_output()));
    return exit_status::ok;
  } catch (const Interrupt& interrupt) {
    end_by(interrupt);
    return exit_status::internal;
  }
}

}  // namespace
}  // namespace brood

int main(int argc, char** argv) { return brood::companion_main(argc, argv, "bench", brood::bench_command); }
