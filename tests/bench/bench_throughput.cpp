// How many no-op jobs a second brood performs, beside a plain BRPOP client and redis-benchmark's RPOP, taken in turn so
// that what else the machine does falls on all three alike.

#include <CLI/CLI.hpp>

#include <thread>

#include "tests/bench/measure.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// Lays `jobs` no-ops aside, offers them all at one moment, and measures until the queue is empty.
double drain_rate(RedisServer& redis, long jobs) {
  std::vector<std::string> payloads;
  for (long i = 0; i < jobs; ++i) payloads.push_back(payload_text("BenchNoop", "[" + std::to_string(i) + "]", i + 1));
  enqueue(redis, payloads, "aside");
  const std::int64_t begin = monotonic_ns();
  redis.command({"RENAME", "queue:aside", "queue:default"});
  if (!eventually([&] { return redis.size_of("queue:default") == 0; }, 120s))
    throw std::runtime_error("the queue was not emptied");
  return static_cast<double>(jobs) / (static_cast<double>(monotonic_ns() - begin) / 1e9);
}

double brood_rate(RedisServer& redis, long jobs, int workers) {
  BroodProcess brood(redis, {.workers = workers, .libraries = {BROOD_BENCH_JOBS}});
  if (!brood.wait_ready()) throw std::runtime_error("brood is not ready:\n" + brood.log());
  drain_rate(redis, workers * 100L);  // the workers have loaded their library and found their batch size
  const double rate = drain_rate(redis, jobs);
  brood.term();
  if (brood.wait_exit().value_or(-1) != 0) throw std::runtime_error("brood did not stop in order:\n" + brood.log());
  return rate;
}

double brpop_rate(RedisServer& redis, long jobs, int workers) {
  const BrpopWorkers clients(redis.socket_path(), "default", workers);
  drain_rate(redis, workers * 100L);
  return drain_rate(redis, jobs);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("No-op throughput of brood, of a plain BRPOP client and of redis-benchmark, in turn");
  long jobs = 100'000;
  int workers = 2, rounds = 5;
  bool json = false;
  app.add_option("--jobs", jobs, "jobs a round")->capture_default_str();
  app.add_option("--workers", workers, "workers, and clients of the others")->capture_default_str();
  app.add_option("--rounds", rounds, "rounds; the figures are their medians")->capture_default_str();
  app.add_flag("--json", json, "one JSON object");
  CLI11_PARSE(app, argc, argv);

  try {
    std::vector<double> brood, brpop, benchmark, to_brpop, to_benchmark;
    for (int round = 0; round < rounds; ++round) {
      RedisServer redis;
      brood.push_back(brood_rate(redis, jobs, workers));
      brpop.push_back(brpop_rate(redis, jobs, workers));
      benchmark.push_back(redis_benchmark(redis.socket_path(), "rpop", jobs, workers));
      to_brpop.push_back(brood.back() / brpop.back());
      to_benchmark.push_back(brood.back() / benchmark.back());
    }
    Report report(json);
    report.add("brood_jobs_per_second", quantile(brood, 0.5), "jobs/s");
    report.add("brpop_jobs_per_second", quantile(brpop, 0.5), "jobs/s");
    report.add("redis_benchmark_rpop_per_second", quantile(benchmark, 0.5), "requests/s");
    report.add("brood_to_brpop", quantile(to_brpop, 0.5), "x");
    report.add("brood_to_redis_benchmark", quantile(to_benchmark, 0.5), "x");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_throughput: %s\n", e.what());
    return 1;
  }
}
