// What a batch costs beside its jobs alone: the same no-ops are pushed and performed without one and within one, in
// turn. One JSON object: seconds, the memory of Redis while all jobs wait, and the batch's share of each.

#include <algorithm>
#include <brood/batch.hpp>
#include <brood/client.hpp>
#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "supervisor/cli/bench/quantile.hpp"
#include "tests/bench/bench_main.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/redis_stats.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Nothing {
  static constexpr std::string_view job_class = "BroodBench::Nothing";
  void perform() {}
};

struct Turn {
  double push = 0, perform = 0, redis_cpu = 0, bytes = 0;  // seconds, and bytes
};

using Push = std::function<void(Client&, long jobs)>;

void push_alone(Client& client, long jobs) {
  const std::vector<Nothing> slice(1000);
  for (long first = 0; first < jobs; first += 1000) client.enqueue_bulk(slice);
}

void push_in_batch(Client& client, long jobs) {
  Batch batch(client);
  batch.push([&](BatchJobs& into) {
    for (long i = 0; i < jobs; ++i) into.enqueue(Nothing{});
  });
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Turn turn_of(const Push& push, long jobs, int workers) {
  RedisServer redis;
  Client client{redis.url()};
  const auto cpu = [&] {
    const auto figure = [&](const char* name) {
      const std::string info(redis.command({"INFO", "cpu"}).view().text());
      return std::stod(info.substr(info.find(name) + std::string(name).size() + 1));
    };
    return figure("used_cpu_user") + figure("used_cpu_sys");
  };
  const double memory = static_cast<double>(redis.figure("memory", "used_memory")), cpu_before = cpu();
  Turn turn;
  auto begin = std::chrono::steady_clock::now();
  push(client, jobs);
  turn.push = seconds_since(begin);
  turn.bytes = static_cast<double>(redis.figure("memory", "used_memory")) - memory;
  const BroodProcess brood(
      redis, {.workers = workers, .libraries = {BROOD_BENCH_JOBS}, .config = "[log]\nlevel = \"warn\"\n"});
  begin = std::chrono::steady_clock::now();
  if (!eventually([&] { return redis.size_of("queue:default") == 0; }, 600s)) throw std::runtime_error("jobs are left");
  if (redis.size_of("retry") > 0) throw std::runtime_error("jobs have failed");
  turn.perform = seconds_since(begin);
  turn.redis_cpu = cpu() - cpu_before;
  return turn;
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, [](const std::vector<std::string>& words) {
    CommandLine line("Pushes and performs no-ops alone and in a batch, in turn", "bench_batches");
    int jobs = 200'000, turns = 5, workers = 2;
    line.number("--jobs", jobs, "Of each turn", 1'000, 10'000'000);
    line.number("--turns", turns, "Of each of the two", 1, 1'000);
    line.number("--workers", workers, "That perform them", 1, 100);
    refuse_arguments(line.parse(words));
    std::vector<double> push, perform, cpu, bytes, whole;
    for (int i = 0; i < turns; ++i) {
      const Turn alone = turn_of(push_alone, jobs, workers), batch = turn_of(push_in_batch, jobs, workers);
      push.push_back(batch.push / alone.push);
      perform.push_back(batch.perform / alone.perform);
      cpu.push_back(batch.redis_cpu / alone.redis_cpu);
      bytes.push_back(batch.bytes / alone.bytes);
      whole.push_back((batch.push + batch.perform) / (alone.push + alone.perform));
      std::fprintf(stderr, "alone: push %.3f s, perform %.3f s, Redis %.3f s; batch: %.3f s, %.3f s, %.3f s\n",
                   alone.push, alone.perform, alone.redis_cpu, batch.push, batch.perform, batch.redis_cpu);
    }
    const auto median = [](const std::vector<double>& values) { return quantile(values, 0.5); };
    std::printf(
        "{\"jobs\":%d,\"push\":%.3f,\"perform\":%.3f,\"together\":%.3f,\"redis_cpu\":%.3f,\"redis_bytes\":%.3f}\n",
        jobs, median(push), median(perform), median(whole), median(cpu), median(bytes));
  });
}
