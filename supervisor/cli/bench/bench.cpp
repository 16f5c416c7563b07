#include "supervisor/cli/bench/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <thread>

#include "shared/base/clock.hpp"
#include "supervisor/cli/bench/bench_interrupt.hpp"
#include "supervisor/cli/bench/bench_usage.hpp"
#include "supervisor/cli/bench/quantile.hpp"
#include "supervisor/cli/terminal/progress_bar.hpp"

namespace brood {

using namespace std::chrono_literals;

namespace {

double in_seconds(std::chrono::nanoseconds length) { return std::chrono::duration<double>(length).count(); }

void sleep_interruptibly(std::chrono::nanoseconds length) {
  const SteadyTime end = steady_now() + length;
  for (SteadyTime now = steady_now(); now < end; now = steady_now()) {
    throw_if_interrupted();
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(end - now, 100ms));
  }
}

std::vector<std::string> queues_to_serve(const BenchSettings& settings, const BenchQueues& own) {
  std::vector<std::string> queues = settings.others;
  queues.insert(queues.end(), own.names().begin(), own.names().end());
  return queues;
}

}  // namespace

Bench::Bench(const BenchSettings& settings)
    : settings_(settings),
      directory_(memory_directory()),
      redis_(settings.redis, {.connect = 5s, .command = 60s}, "brood-bench"),
      queues_(redis_, settings.queues),
      record_(BenchRecord::create(directory_ / "record", settings.traces)),
      server_({.redis = settings.redis,
               .directory = directory_.path(),
               .brood = settings.brood,
               .library = settings.library,
               .record = directory_ / "record",
               .queues = queues_to_serve(settings, queues_),
               .workers = settings.workers,
               .max_batch = settings.max_batch,
               .log_jobs = settings.log_jobs,
               .poll_interval = settings.poll_interval,
               .workers_of = settings.workers_of}) {}

// Our own INFO requests must not count.  The difference of two readings includes one of them, so it is added
// beforehand.
Bench::Usage Bench::usage_before() { return usage(1); }

Bench::Usage Bench::usage_since(const Usage& before) {
  Usage now = usage(0);
  now.cpu.supervisor -= before.cpu.supervisor;
  now.cpu.workers -= before.cpu.workers;
  now.cpu.redis -= before.cpu.redis;
  now.commands -= before.commands;
  now.requests -= before.requests;
  return now;
}

Bench::Usage Bench::usage(std::int64_t questions) {
  const RedisUsage redis = redis_usage(redis_);
  return {{cpu_seconds({server_.supervisor()}), cpu_seconds(server_.workers()), redis.cpu_seconds},
          redis.commands + questions,
          redis.requests + questions};
}

void Bench::wait_until_performed(std::uint64_t jobs, const char* label) {
  ProgressBar bar(label, jobs);
  const auto patience = 30s + settings_.longest_job;
  std::uint64_t last = 0;
  SteadyTime last_step = steady_now();
  for (std::uint64_t done = 0; (done = record_.sum().performed) < jobs;) {
    throw_if_interrupted();
    server_.expect_alive();
    if (done != last) last_step = steady_now();
    last = done;
    if (steady_now() - last_step > patience)
      throw std::runtime_error(fmt::format("{} of {} jobs are done, and no more", done, jobs));
    bar.show(done);
    std::this_thread::sleep_for(2ms);
  }
}

void Bench::warm_up() {
  const std::size_t jobs = static_cast<std::size_t>(settings_.workers) * 100;
  queues_.lay_aside(
      jobs,
      [](std::size_t i) {
        return BenchJob{"BroodBench::Noop", fmt::format("[{}]", i)};
      },
      [](std::size_t) {});
  queues_.offer();
  wait_until_performed(jobs, "warming up");
  record_.reset();
}

BenchThroughput Bench::measure_throughput(std::size_t jobs, const BenchQueues::JobNumber& job,
                                          const std::function<void()>& settled) {
  {
    ProgressBar bar("loading", jobs);
    queues_.lay_aside(jobs, job, [&](std::size_t done) { bar.show(done); });
  }
  const Usage before = usage_before();
  queues_.offer();
  wait_until_performed(jobs, "running");
  settled();
  const Usage used = usage_since(before);

  const BenchRecord::Sum sum = record_.sum();
  const auto performed = static_cast<double>(sum.performed);
  BenchThroughput run;
  run.jobs = sum.performed;
  run.seconds = in_seconds(std::chrono::nanoseconds(sum.last_end - sum.first_start));
  run.jobs_per_second = performed / std::max(run.seconds, 1e-9);
  if (record_.traces_begun() > 0) run.share_of_ideal = in_seconds(time_in_jobs()) / settings_.workers / run.seconds;
  run.cpu = used.cpu;
  run.redis_commands_per_job = static_cast<double>(used.commands) / performed;
  run.redis_requests_per_job = static_cast<double>(used.requests) / performed;
  return run;
}

std::chrono::nanoseconds Bench::time_in_jobs() const {
  std::chrono::nanoseconds sum{};
  for (const BenchRecord::Trace* const trace : record_.traces())
    sum += std::chrono::nanoseconds(trace->ended - trace->started);
  return sum;
}

BenchLatency Bench::measure_latency(std::size_t jobs) {
  ProgressBar bar("latency", jobs);
  std::minstd_rand random;  // the same in every run
  record_.reset();
  sleep_interruptibly(500ms);  // until all processes are idle
  for (std::size_t i = 0; i < jobs; ++i) {
    throw_if_interrupted();
    queues_.push_traced(random() % queues_.names().size());
    // Random, so that it does not fall into step with a timer.
    std::this_thread::sleep_for(10ms + std::chrono::microseconds(random() % 1'000));
    wait_until_performed(i + 1, "latency");
    bar.show(i + 1);
  }
  std::vector<double> latencies;
  for (const BenchRecord::Trace* const trace : record_.traces())
    latencies.push_back(static_cast<double>(trace->started - trace->mark) / 1'000);
  return {latencies.size(), quantile(latencies, 0.5), quantile(latencies, 0.99), quantile(latencies, 0.999),
          quantile(latencies, 1)};
}

BenchIdle Bench::measure_idle(double seconds) {
  sleep_interruptibly(1s);
  const Usage before = usage_before();
  const SteadyTime begin = steady_now();
  sleep_interruptibly(std::chrono::duration_cast<std::chrono::nanoseconds>(seconds * 1s));
  const Usage used = usage_since(before);
  const double length = in_seconds(steady_now() - begin);
  return {length, used.cpu, static_cast<double>(used.commands) / length, static_cast<double>(used.requests) / length};
}

BenchMemory Bench::measure_memory() {
  std::vector<double> workers;
  for (const pid_t pid : server_.workers()) workers.push_back(static_cast<double>(private_memory_kb(pid)));
  if (workers.empty()) throw std::runtime_error("no worker is left");
  return {private_memory_kb(server_.supervisor()), static_cast<std::uint64_t>(quantile(workers, 0.5)),
          static_cast<std::uint64_t>(quantile(workers, 1)), redis_usage(redis_).memory_kb};
}

}  // namespace brood
