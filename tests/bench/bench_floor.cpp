// The least that any job server on Redis lists must spend: loops without retries, signals, crashes or logs.  What brood
// reaches is given as a share of these, measured beside it in one run.

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <simdjson.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "shared/base/check.hpp"
#include "supervisor/cli/bench/bench_usage.hpp"
#include "supervisor/cli/bench/quantile.hpp"
#include "tests/bench/bench_main.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_processes = 64, most_latencies = 100'000;

std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / 1ns; }

// What the children note, in memory that they share with their parent.
struct Shared {
  std::atomic<int> ready;
  std::atomic<bool> go;
  struct alignas(64) Place {
    std::atomic<std::uint64_t> jobs;
    std::int64_t first, last;
  };
  std::array<Place, most_processes> places;
  std::atomic<std::size_t> latencies_noted;
  std::array<std::atomic<std::int64_t>, most_latencies> latencies;
};

Shared& make_shared_memory() {
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) check("mmap", -1);
  return *static_cast<Shared*>(memory);
}

// Children that run `body` with their number.  They end with this object, and with their parent.
class Children {
 public:
  Children(int count, const std::function<void(int)>& body) {
    for (int i = 0; i < count; ++i) {
      const pid_t pid = check("fork", fork());
      if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        body(i);
        _exit(0);
      }
      pids_.push_back(pid);
    }
  }
  ~Children() {
    for (const pid_t pid : pids_) kill(pid, SIGKILL);
    for (const pid_t pid : pids_) waitpid(pid, nullptr, 0);
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

 private:
  std::vector<pid_t> pids_;
};

using OwnedReply = std::unique_ptr<redisReply, decltype([](redisReply* reply) { freeReplyObject(reply); })>;

// A child ends when anything goes wrong, and its parent notices that jobs are missing.
redisContext* connect_to(const std::string& socket) {
  redisContext* const redis = redisConnectUnix(socket.c_str());
  if (redis == nullptr || redis->err != 0) _exit(1);
  return redis;
}

OwnedReply ask(redisContext* redis, const std::vector<std::string_view>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> lengths;
  for (const std::string_view word : words) {
    texts.push_back(word.data());
    lengths.push_back(word.size());
  }
  OwnedReply reply(
      static_cast<redisReply*>(redisCommandArgv(redis, static_cast<int>(words.size()), texts.data(), lengths.data())));
  if (!reply || reply->type == REDIS_REPLY_ERROR) _exit(1);
  return reply;
}

// What a worker must know of a job before it can run it.  Aborts on anything else.
std::int64_t first_argument(simdjson::ondemand::parser& parser, simdjson::padded_string& padded,
                            std::string_view text) {
  padded = simdjson::padded_string(text);
  auto document = parser.iterate(padded);
  const std::string_view job_class = document["class"].get_string();
  std::int64_t argument = 0;
  for (auto value : document["args"].get_array()) {
    argument = value.get_int64();
    break;
  }
  document.rewind();
  const std::string_view jid = document["jid"].get_string();
  if (job_class.empty() || jid.size() != 24) _exit(1);
  return argument;
}

// Acknowledges the last batch and takes the next into a private list.
constexpr std::string_view settle_and_take = R"(
local acknowledged = tonumber(ARGV[1])
if acknowledged > 0 then redis.call("LTRIM", KEYS[2], 0, -1 - acknowledged) end
local jobs = redis.call("RPOP", KEYS[1], ARGV[2])
if not jobs then return {} end
redis.call("LPUSH", KEYS[2], unpack(jobs))
return jobs)";

void drain(Shared& shared, const std::string& socket, int batch, int number) {
  redisContext* const redis = connect_to(socket);
  const OwnedReply loaded = ask(redis, {"SCRIPT", "LOAD", settle_and_take});
  const std::string script(loaded->str, loaded->len), want = std::to_string(batch);
  const std::string mine = "mine:" + std::to_string(number);
  Shared::Place& place = shared.places[static_cast<std::size_t>(number)];
  simdjson::ondemand::parser parser;
  simdjson::padded_string padded;
  ++shared.ready;
  while (!shared.go) std::this_thread::sleep_for(100us);

  for (std::string acknowledged = "0";;) {
    const OwnedReply jobs = ask(redis, {"EVALSHA", script, "2", "queue:default", mine, acknowledged, want});
    acknowledged = std::to_string(jobs->elements);
    for (std::size_t i = 0; i < jobs->elements; ++i) {
      first_argument(parser, padded, {jobs->element[i]->str, jobs->element[i]->len});
      place.last = now_ns();
      if (place.first == 0) place.first = place.last;
      place.jobs.fetch_add(1, std::memory_order_relaxed);
    }
    if (jobs->elements == 0) _exit(0);
  }
}

struct Drained {
  double jobs_per_second = 0, redis_cpu_us_per_job = 0;
};

Drained measure_drain(long jobs, int batch, int processes, bool append_only) {
  RedisServer redis({.append_only = append_only});
  std::vector<std::string> payloads;
  for (long i = 0; i < jobs; ++i) {
    payloads.push_back(payload_text("BroodBench::Noop", "[" + std::to_string(i) + "]", i + 1));
    if (payloads.size() == 1'000 || i + 1 == jobs) enqueue(redis, std::exchange(payloads, {}));
  }
  Shared& shared = make_shared_memory();
  const Children children(processes, [&](int number) { drain(shared, redis.socket_path(), batch, number); });
  while (shared.ready < processes) std::this_thread::sleep_for(1ms);
  Connection connection(redis.address());
  const double cpu_before = redis_usage(connection).cpu_seconds;
  shared.go = true;
  const std::int64_t deadline = now_ns() + 300'000'000'000;
  std::uint64_t done = 0;
  while (done < static_cast<std::uint64_t>(jobs)) {
    if (now_ns() > deadline) throw std::runtime_error("the jobs were not all taken");
    std::this_thread::sleep_for(2ms);
    done = 0;
    for (const Shared::Place& place : shared.places) done += place.jobs;
  }
  std::int64_t first = 0, last = 0;
  for (const Shared::Place& place : shared.places) {
    if (place.jobs == 0) continue;
    first = first == 0 ? place.first : std::min(first, place.first);
    last = std::max(last, place.last);
  }
  munmap(&shared, sizeof shared);
  const double redis_cpu = redis_usage(connection).cpu_seconds - cpu_before;
  const auto count = static_cast<double>(jobs);
  return {count / (static_cast<double>(last - first) / 1e9), redis_cpu * 1e6 / count};
}

void wait_for_jobs(Shared& shared, const std::string& socket, int number) {
  redisContext* const redis = connect_to(socket);
  simdjson::ondemand::parser parser;
  simdjson::padded_string padded;
  const std::string mine = "mine:" + std::to_string(number);
  ++shared.ready;
  for (;;) {
    const OwnedReply job = ask(redis, {"BLMOVE", "queue:default", mine, "RIGHT", "LEFT", "0"});
    const std::int64_t pushed = first_argument(parser, padded, {job->str, job->len});
    const std::size_t place = shared.latencies_noted;
    shared.latencies[place] = now_ns() - pushed;
    shared.latencies_noted = place + 1;
    ask(redis, {"LTRIM", mine, "0", "-2"});
  }
}

// Microseconds from the push to the first line.
std::vector<double> measure_latency(std::size_t jobs, int processes) {
  RedisServer redis;
  Shared& shared = make_shared_memory();
  const Children children(processes, [&](int number) { wait_for_jobs(shared, redis.socket_path(), number); });
  while (shared.ready < processes) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(500ms);
  std::minstd_rand random;
  for (std::size_t i = 0; i < jobs; ++i) {
    std::string text = payload_text("BroodBench::Traced", "[1000000000000000000]", static_cast<long>(i) + 1);
    const std::size_t at = text.find("1000000000000000000");
    text.replace(at, 19, std::to_string(now_ns()));
    redis.integer({"LPUSH", "queue:default", text});
    std::this_thread::sleep_for(10ms + std::chrono::microseconds(random() % 1'000));
    const std::int64_t deadline = now_ns() + 10'000'000'000;
    while (shared.latencies_noted <= i) {
      if (now_ns() > deadline) throw std::runtime_error("a job did not begin");
      std::this_thread::sleep_for(2ms);
    }
  }
  std::vector<double> latencies;
  for (std::size_t i = 0; i < jobs; ++i) latencies.push_back(static_cast<double>(shared.latencies[i]) / 1'000);
  munmap(&shared, sizeof shared);
  return latencies;
}

// Milliseconds for a fork, the child's exit and its wait.
double measure_fork(int times) {
  const std::int64_t begin = now_ns();
  for (int i = 0; i < times; ++i) {
    const pid_t pid = check("fork", fork());
    if (pid == 0) _exit(0);
    check("waitpid", waitpid(pid, nullptr, 0));
  }
  return static_cast<double>(now_ns() - begin) / 1e6 / times;
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, [](std::vector<std::string> words) {
    const std::string measure = take_measure(words, "drain, latency or fork");
    int processes = 2;
    if (measure == "drain") {
      CommandLine line("A bare loop over a script that takes a batch, jobs parsed", "bench_floor drain");
      int jobs = 100'000, batch = 32;
      bool append_only = false;
      line.number("--jobs", jobs, "Jobs", 1, 100'000'000);
      line.number("--batch", batch, "Jobs a round trip", 1, 1'000);
      line.number("--processes", processes, "Loops", 1, 64);
      line.flag("--append-only", append_only, "Redis writes an append-only file");
      refuse_arguments(line.parse(words));
      const Drained drained = measure_drain(jobs, batch, processes, append_only);
      std::printf("{\"jobs_per_second\":%.1f,\"redis_cpu_us_per_job\":%.3f}\n", drained.jobs_per_second,
                  drained.redis_cpu_us_per_job);
    } else if (measure == "latency") {
      CommandLine line("From the push to a plain BLMOVE client, jobs parsed", "bench_floor latency");
      std::size_t jobs = 500;
      line.number("--jobs", jobs, "Jobs", 1, 100'000);
      line.number("--processes", processes, "Clients that wait", 1, 64);
      refuse_arguments(line.parse(words));
      const std::vector<double> latencies = measure_latency(jobs, processes);
      std::printf("{\"p50_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f}\n", quantile(latencies, 0.5),
                  quantile(latencies, 0.99), quantile(latencies, 0.999));
    } else if (measure == "fork") {
      CommandLine line("Fork, exit and wait", "bench_floor fork");
      int times = 500;
      line.number("--times", times, "How often", 1, 1'000'000);
      refuse_arguments(line.parse(words));
      std::printf("{\"fork_ms\":%.4f}\n", measure_fork(times));
    } else {
      throw UsageError("nothing is measured by the name " + measure);
    }
  });
}
