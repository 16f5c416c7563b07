// How long after its push a job begins on an idle server: brood beside a plain BRPOP client, taken in turn.

#include <CLI/CLI.hpp>

#include <fstream>
#include <thread>

#include "tests/bench/measure.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// Pushes one job after the other, each once the last has begun and a little rest is over.
std::vector<double> push_one_by_one(RedisServer& redis, const std::string& file, int jobs,
                                    std::chrono::microseconds rest) {
  const std::size_t before = read_latencies(file).size();
  for (int i = 0; i < jobs; ++i) {
    // Not in step with anybody's timer.
    std::this_thread::sleep_for(rest + std::chrono::microseconds(i * 7919 % 1000));
    const std::size_t begun = read_latencies(file).size();
    redis.command(
        {"LPUSH", "queue:default", payload_text("BenchStamp", "[" + std::to_string(monotonic_ns()) + "]", i + 1)});
    if (!eventually([&] { return read_latencies(file).size() > begun; }, 20s))
      throw std::runtime_error("a job did not begin");
  }
  std::vector<double> latencies = read_latencies(file);
  latencies.erase(latencies.begin(), latencies.begin() + static_cast<std::ptrdiff_t>(before));
  return latencies;
}

struct Quantiles {
  std::vector<double> p50, p99;
  void note(const std::vector<double>& latencies) {
    p50.push_back(quantile(latencies, 0.5));
    p99.push_back(quantile(latencies, 0.99));
  }
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Push-to-start latency of brood and of a plain BRPOP client on an idle server, in turn");
  int jobs = 300, workers = 2, rounds = 5, rest_ms = 10;
  bool json = false;
  app.add_option("--jobs", jobs, "jobs a round")->capture_default_str();
  app.add_option("--workers", workers, "workers, and clients of the other")->capture_default_str();
  app.add_option("--rounds", rounds, "rounds; the figures are medians over them")->capture_default_str();
  app.add_option("--rest-ms", rest_ms, "between two pushes")->capture_default_str();
  app.add_flag("--json", json, "one JSON object");
  CLI11_PARSE(app, argc, argv);

  try {
    Quantiles brood, brpop;
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round) {
      RedisServer redis;
      const TemporaryDirectory directory;
      const std::string file = directory.write("latencies", "");
      const std::chrono::milliseconds rest(rest_ms);
      {
        BroodProcess server(
            redis, {.workers = workers, .libraries = {BROOD_BENCH_JOBS}, .environment = {{"BROOD_BENCH_FILE", file}}});
        if (!server.wait_ready()) throw std::runtime_error("brood is not ready:\n" + server.log());
        push_one_by_one(redis, file, 2 * workers, 100ms);
        brood.note(push_one_by_one(redis, file, jobs, rest));
        server.term();
        server.wait_exit();
      }
      {
        const BrpopWorkers clients(redis.socket_path(), "default", workers, file);
        push_one_by_one(redis, file, 2 * workers, 100ms);
        brpop.note(push_one_by_one(redis, file, jobs, rest));
      }
      ratios.push_back(brood.p50.back() / brpop.p50.back());
    }
    Report report(json);
    report.add("brood_p50_us", quantile(brood.p50, 0.5), "us");
    report.add("brood_p99_us", quantile(brood.p99, 0.5), "us");
    report.add("brpop_p50_us", quantile(brpop.p50, 0.5), "us");
    report.add("brpop_p99_us", quantile(brpop.p99, 0.5), "us");
    report.add("brood_to_brpop_p50", quantile(ratios, 0.5), "x");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_latency: %s\n", e.what());
    return 1;
  }
}
