#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "shared/redis/connection.hpp"
#include "shared/scoreboard/bench_record.hpp"
#include "supervisor/cli/bench/bench_directory.hpp"
#include "supervisor/cli/bench/bench_interrupt.hpp"
#include "supervisor/cli/bench/bench_queues.hpp"
#include "supervisor/cli/bench/bench_redis.hpp"
#include "supervisor/cli/bench/bench_report.hpp"
#include "supervisor/cli/bench/bench_server.hpp"
#include "supervisor/cli/bench/bench_usage.hpp"
#include "supervisor/cli/command_line.hpp"
#include "supervisor/cli/companion.hpp"
#include "supervisor/cli/program.hpp"
#include "supervisor/cli/progress_bar.hpp"
#include "supervisor/cli/redis_access.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr const char* footer =
    R"(Starts a server of its own and, unless it is told of one, a private redis-server, and removes both.  With --redis or
-C the jobs go to that Redis, to queues that nobody else uses; its statistics and its other users notice the load.

Throughput is from the start of the first job to the end of the last; latency is from just before the push to the first
line of the job, one job at a time on an idle server.  Memory is what a process shares with no other.

Examples:
  brood bench                                    no-op jobs, then latencies
  brood bench --workers 8 --max-batch 1          every job fetched alone
  brood bench --job-ms 5 --jobs 2000             jobs that wait for 5 ms each
  brood bench --jobs 0 --latency-jobs 0 --idle 20    what it costs to wait)";

struct BenchOptions {
  RedisAccess redis;
  std::size_t jobs = 100'000, latency_jobs = 500;
  int workers = 2, queues = 1, max_batch = 32;
  double job_ms = 0, idle_seconds = 0;
  bool append_only = false, log_jobs = false, json = false;

  bool names_redis() const { return !redis.url.empty() || !redis.config.empty(); }
};

BenchOptions parse(const std::vector<std::string>& args) {
  BenchOptions options;
  CommandLine line("Measures how fast this machine runs jobs, how soon they begin, and what that costs.",
                   "brood bench");
  line.number("-j,--jobs", options.jobs, "Jobs for the throughput; 0: leave it out", 0, 100'000'000);
  line.number("-w,--workers", options.workers, "Workers", 1, 10'000);
  line.number("--queues", options.queues, "Queues, in strict order", 1, 1'000);
  line.number("--job-ms", options.job_ms, "Milliseconds that a job sleeps", 0.0, 60'000.0);
  line.number("--latency-jobs", options.latency_jobs, "Jobs for the latency; 0: leave it out", 0, 1'000'000);
  line.number("--idle", options.idle_seconds, "Seconds to watch the idle server; 0: not", 0.0, 3'600.0);
  line.number("--max-batch", options.max_batch, "How many short jobs a worker may fetch at once", 1, 32);
  line.flag("--append-only", options.append_only, "Let the private Redis write an append-only file");
  line.flag("--log-jobs", options.log_jobs, "Log the start and the end of each job");
  line.flag("--json", options.json, "Answer in JSON, for programs");
  options.redis.add_options(line);
  line.footer(footer);
  refuse_arguments(line.parse(args));
  if (options.append_only && options.names_redis()) throw UsageError("--append-only is for the private Redis");
  return options;
}

std::string job_library(const std::filesystem::path& brood) {
  const std::filesystem::path library = (brood.parent_path() / BROOD_BENCH_LIBRARY).lexically_normal();
  if (!std::filesystem::exists(library))
    throw std::runtime_error("the jobs of the benchmark are missing: " + library.string());
  return library;
}

double seconds(std::chrono::nanoseconds length) { return std::chrono::duration<double>(length).count(); }

void sleep_interruptibly(std::chrono::nanoseconds length) {
  const SteadyTime end = steady_now() + length;
  for (SteadyTime now = steady_now(); now < end; now = steady_now()) {
    throw_if_interrupted();
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(end - now, 100ms));
  }
}

// One benchmark: a server, its queues, and what its jobs note.
class Bench {
 public:
  Bench(const BenchOptions& options, const RedisAddress& address)
      : options_(options),
        brood_(brood_of_companion()),
        directory_(memory_directory()),
        redis_(address, {.connect = 5s, .command = 60s}, "brood-bench"),
        queues_(redis_, options.queues),
        record_(BenchRecord::create(directory_ / "record", traces_needed(options))),
        server_({.redis = address,
                 .directory = directory_.path(),
                 .brood = brood_,
                 .library = job_library(brood_),
                 .record = directory_ / "record",
                 .queues = queues_.names(),
                 .workers = options.workers,
                 .max_batch = options.max_batch,
                 .log_jobs = options.log_jobs}) {}

  BenchReport run() {
    BenchReport report;
    report.workers = options_.workers;
    report.queues = options_.queues;
    report.job_ms = options_.job_ms;
    report.redis_version = redis_usage(redis_).version;
    report.start_seconds = seconds(server_.start_up());
    try {
      warm_up();
      if (options_.jobs > 0) report.throughput = measure_throughput();
      if (options_.latency_jobs > 0) report.latency = measure_latency();
      if (options_.idle_seconds > 0) report.idle = measure_idle();
      report.memory = measure_memory();
      report.stop_seconds = seconds(server_.stop());
    } catch (...) {
      queues_.remove();
      throw;
    }
    queues_.remove();
    return report;
  }

 private:
  struct Usage {
    BenchCpu cpu;
    std::int64_t commands = 0, requests = 0;
  };

  // Our own questions are not counted: the difference would hold one of the two, so one is added beforehand.
  Usage usage_before() { return usage(1); }
  Usage usage_since(const Usage& before) {
    Usage now = usage(0);
    now.cpu.supervisor -= before.cpu.supervisor;
    now.cpu.workers -= before.cpu.workers;
    now.cpu.redis -= before.cpu.redis;
    now.commands -= before.commands;
    now.requests -= before.requests;
    return now;
  }
  Usage usage(std::int64_t questions) {
    const RedisUsage redis = redis_usage(redis_);
    return {{cpu_seconds({server_.supervisor()}), cpu_seconds(server_.workers()), redis.cpu_seconds},
            redis.commands + questions,
            redis.requests + questions};
  }

  static std::size_t traces_needed(const BenchOptions& options) {
    return std::max<std::size_t>(options.job_ms > 0 ? options.jobs : 0, options.latency_jobs) + 1;
  }

  void wait_until_performed(std::uint64_t jobs, const char* label) {
    ProgressBar bar(label, jobs);
    std::uint64_t last = 0;
    SteadyTime last_step = steady_now();
    for (std::uint64_t done = 0; (done = record_.sum().performed) < jobs;) {
      throw_if_interrupted();
      server_.expect_alive();
      if (done != last) last_step = steady_now();
      last = done;
      const auto patience = 30s + std::chrono::duration_cast<std::chrono::seconds>(options_.job_ms * 1ms);
      if (steady_now() - last_step > patience)
        throw std::runtime_error(fmt::format("{} of {} jobs are done, and no more", done, jobs));
      bar.show(done);
      std::this_thread::sleep_for(2ms);
    }
  }

  // Afterwards every worker has run jobs, and has learnt how many it can fetch at once.
  void warm_up() {
    const std::size_t jobs = static_cast<std::size_t>(options_.workers) * 100;
    queues_.lay_aside(
        jobs, "BroodBench::Noop", [](std::size_t i) { return fmt::format("[{}]", i); }, [](std::size_t) {});
    queues_.offer();
    wait_until_performed(jobs, "warming up");
    record_.reset();
  }

  BenchThroughput measure_throughput() {
    const auto sleep_us = static_cast<std::int64_t>(options_.job_ms * 1'000);
    {
      ProgressBar bar("loading", options_.jobs);
      queues_.lay_aside(
          options_.jobs, sleep_us > 0 ? "BroodBench::Traced" : "BroodBench::Noop",
          [&](std::size_t i) { return sleep_us > 0 ? fmt::format("[{},{}]", i, sleep_us) : fmt::format("[{}]", i); },
          [&](std::size_t done) { bar.show(done); });
    }
    const Usage before = usage_before();
    queues_.offer();
    wait_until_performed(options_.jobs, "running");
    const Usage used = usage_since(before);

    const BenchRecord::Sum sum = record_.sum();
    const auto jobs = static_cast<double>(sum.performed);
    BenchThroughput run;
    run.jobs = sum.performed;
    run.seconds = seconds(std::chrono::nanoseconds(sum.last_end - sum.first_start));
    run.jobs_per_second = jobs / std::max(run.seconds, 1e-9);
    if (sleep_us > 0) run.share_of_ideal = seconds(time_in_jobs()) / options_.workers / run.seconds;
    run.cpu = used.cpu;
    run.redis_commands_per_job = static_cast<double>(used.commands) / jobs;
    run.redis_requests_per_job = static_cast<double>(used.requests) / jobs;
    return run;
  }

  std::chrono::nanoseconds time_in_jobs() const {
    std::chrono::nanoseconds sum{};
    for (const BenchRecord::Trace* const trace : record_.traces())
      sum += std::chrono::nanoseconds(trace->ended - trace->started);
    return sum;
  }

  BenchLatency measure_latency() {
    ProgressBar bar("latency", options_.latency_jobs);
    std::minstd_rand random;  // the same for every run
    record_.reset();
    sleep_interruptibly(500ms);  // everybody has noticed that there is nothing to do
    for (std::size_t i = 0; i < options_.latency_jobs; ++i) {
      throw_if_interrupted();
      queues_.push_traced(random() % queues_.names().size());
      // Random, so as not to fall into step with a timer.
      std::this_thread::sleep_for(10ms + std::chrono::microseconds(random() % 1'000));
      wait_until_performed(i + 1, "latency");
      bar.show(i + 1);
    }
    std::vector<double> latencies;
    for (const BenchRecord::Trace* const trace : record_.traces()) {
      latencies.push_back(static_cast<double>(trace->started - trace->mark) / 1'000);
    }
    std::sort(latencies.begin(), latencies.end());
    return {latencies.size(), quantile(latencies, 0.5), quantile(latencies, 0.99), quantile(latencies, 0.999),
            latencies.back()};
  }

  BenchIdle measure_idle() {
    sleep_interruptibly(1s);
    const Usage before = usage_before();
    const SteadyTime begin = steady_now();
    sleep_interruptibly(std::chrono::duration_cast<std::chrono::nanoseconds>(options_.idle_seconds * 1s));
    const Usage used = usage_since(before);
    const double length = seconds(steady_now() - begin);
    return {length, used.cpu, static_cast<double>(used.commands) / length, static_cast<double>(used.requests) / length};
  }

  BenchMemory measure_memory() {
    std::vector<double> workers;
    for (const pid_t pid : server_.workers()) workers.push_back(static_cast<double>(private_memory_kb(pid)));
    if (workers.empty()) throw std::runtime_error("no worker is left");
    std::sort(workers.begin(), workers.end());
    return {private_memory_kb(server_.supervisor()), static_cast<std::uint64_t>(quantile(workers, 0.5)),
            static_cast<std::uint64_t>(workers.back()), redis_usage(redis_).memory_kb};
  }

  const BenchOptions& options_;
  const std::string brood_;
  const BenchDirectory directory_;
  Connection redis_;
  BenchQueues queues_;
  BenchRecord record_;
  BenchServer server_;
};

BenchReport measure(const BenchOptions& options) {
  note_interrupts();
  if (options.names_redis()) {
    const RedisAddress address = options.redis.locate();
    fmt::print(stderr, "brood bench: this loads {}, and its users may notice\n",
               log::printable(address.without_password()));
    BenchReport report = Bench(options, address).run();
    report.redis = address.without_password();
    return report;
  }
  const BenchDirectory directory("/tmp");  // not TMPDIR: the path of a Unix socket has at most 107 bytes
  const BenchRedis redis(directory.path(), options.append_only);
  BenchReport report = Bench(options, redis.address()).run();
  report.redis = options.append_only ? "private, append-only" : "private";
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
