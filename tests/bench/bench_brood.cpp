// What `brood bench` does not measure: mixed jobs, due jobs, and a Redis with much in it.  One JSON object each.

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/scoreboard/bench_record.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/cli/bench/bench_usage.hpp"
#include "supervisor/cli/scoreboards.hpp"
#include "tests/bench/bench_main.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / 1ns; }
double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}
double milliseconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

double at_share(std::vector<double> values, double share) {
  if (values.empty()) throw std::runtime_error("nothing was measured");
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size()))) - 1];
}

std::string traced(std::int64_t mark, std::int64_t sleep_us, long number, const std::string& more = "") {
  return payload_text("BroodBench::Traced", "[" + std::to_string(mark) + "," + std::to_string(sleep_us) + "]", number,
                      more);
}

// Sends `count` elements in commands of 500, each element made of one or two words.
template <typename Element>
void add_all(RedisServer& redis, const std::string& verb, const std::string& key, long count, Element element) {
  for (long i = 0; i < count;) {
    Command command{verb, key};
    for (long sent = 0; sent < 500 && i < count; ++sent, ++i) {
      for (const std::string& word : element(i)) command.add(word);
    }
    redis.integer(command);
  }
}

// A `brood run` whose jobs note what they do.
class Server {
 public:
  Server(RedisServer& redis, std::size_t traces, int workers, std::vector<std::string> queues,
         const std::string& program = "")
      : record_(BenchRecord::create(directory_ / "record", traces)),
        begin_(now_ns()),
        brood_(redis, {.workers = workers,
                       .queues = std::move(queues),
                       .libraries = {BROOD_BENCH_JOBS},
                       .config = "poll_interval = \"1s\"\n[log]\nlog_jobs = false\n",
                       .environment = {{"BROOD_BENCH_RECORD", directory_ / "record"}},
                       .program = program}) {
    // The scoreboard of another brood may be of another version.
    const auto all_ready = [&] {
      return (program.empty() ? ready() : brood_.workers()).size() == static_cast<std::size_t>(workers);
    };
    if (!eventually(all_ready, 120s)) throw std::runtime_error("brood is not ready:" + brood_.log_tail());
    start_s_ = static_cast<double>(now_ns() - begin_) / 1e9;
  }

  BenchRecord& record() { return record_; }
  pid_t supervisor() const { return brood_.pid(); }
  std::vector<pid_t> workers() const { return brood_.workers(); }
  double start_s() const { return start_s_; }

  std::vector<pid_t> ready() const {
    std::vector<pid_t> pids;
    look([&](const Scoreboard& board) {
      for (int i = 0; i < board.slots(); ++i) {
        if (board.slot(i).ready == 1 && board.slot(i).pid > 0) pids.push_back(board.slot(i).pid);
      }
    });
    return pids;
  }

  std::int64_t last_beat() const {
    std::int64_t beat = 0;
    look([&](Scoreboard& board) { beat = board.last_beat(); });
    return beat;
  }

  void wait_performed(std::uint64_t jobs, std::chrono::milliseconds patience) const {
    if (!eventually([&] { return record_.sum().performed >= jobs; }, patience))
      throw std::runtime_error("the jobs were not all performed:" + brood_.log_tail());
  }

  // Seconds until it is gone.
  double stop() {
    const std::int64_t begin = now_ns();
    brood_.term();
    if (brood_.wait_exit(60s).value_or(-1) != 0) throw std::runtime_error("brood did not stop:" + brood_.log_tail());
    return static_cast<double>(now_ns() - begin) / 1e9;
  }

 private:
  template <typename Look>
  void look(Look look) const {
    for (const std::string& path : scoreboard_paths(brood_.home() / "run")) {
      try {
        Scoreboard board = Scoreboard::open(path, false);
        look(board);
      } catch (const std::exception&) {  // it is being made
      }
    }
  }

  TemporaryDirectory directory_;
  BenchRecord record_;
  std::int64_t begin_;
  BroodProcess brood_;
  double start_s_ = 0;
};

// Jobs of 50, 5 and 1 ms and no-ops in random order, all there from the beginning.  How near the workers come to the
// time that the jobs themselves take, and how long at most a worker is idle while a job has not begun.
void measure_mixed(int workers, long jobs) {
  std::minstd_rand random;
  std::vector<std::string> payloads;
  for (long i = 0; i < jobs; ++i) {
    const std::int64_t kind = i % 20;  // of twenty: one of 50 ms, two of 5 ms, four of 1 ms, the others no-ops
    payloads.push_back(traced(i, kind == 0 ? 50'000 : kind < 3 ? 5'000 : kind < 7 ? 1'000 : 0, i + 1));
  }
  std::shuffle(payloads.begin(), payloads.end(), random);
  RedisServer redis;
  Server server(redis, static_cast<std::size_t>(jobs), workers, {"default"});
  enqueue(redis, payloads, "aside");
  redis.command({"RENAME", "queue:aside", "queue:default"});
  server.wait_performed(static_cast<std::uint64_t>(jobs), 300s);

  std::int64_t work = 0, last_start = 0;
  std::map<std::int64_t, std::int64_t> idle_since;  // worker -> end of its last job
  std::int64_t longest_idle = 0;
  std::vector<const BenchRecord::Trace*> traces = server.record().traces();
  std::sort(traces.begin(), traces.end(), [](const auto* a, const auto* b) { return a->started < b->started; });
  for (const BenchRecord::Trace* const trace : traces) {
    const auto [worker, is_first] = idle_since.try_emplace(trace->worker, trace->ended.load());
    if (!is_first) longest_idle = std::max(longest_idle, trace->started - worker->second);
    worker->second = trace->ended;
    work += trace->ended - trace->started;
    last_start = std::max(last_start, trace->started);
  }
  for (const auto& [worker, since] : idle_since) longest_idle = std::max(longest_idle, last_start - since);
  const BenchRecord::Sum sum = server.record().sum();
  const double ideal = static_cast<double>(work) / workers;
  std::printf("{\"seconds\":%.4f,\"share_of_ideal\":%.4f,\"longest_idle_ms\":%.3f}\n",
              milliseconds(sum.last_end - sum.first_start) / 1'000,
              ideal / static_cast<double>(sum.last_end - sum.first_start), milliseconds(longest_idle));
}

// Puts `jobs` into the schedule, due one after the other from `ahead` on.
void schedule_jobs(RedisServer& redis, long jobs, std::chrono::milliseconds ahead) {
  std::minstd_rand random;
  const double wall = wall_seconds();
  const std::int64_t steady = now_ns();
  add_all(redis, "ZADD", "schedule", jobs, [&](long i) {
    const std::int64_t delay = ahead / 1ns + i * 20'000'000 + static_cast<std::int64_t>(random() % 10'000'000);
    return std::vector<std::string>{std::to_string(wall + static_cast<double>(delay) / 1e9),
                                    traced(steady + delay, 0, i + 1, R"("queue":"due")")};
  });
}

std::vector<double> lateness_ms(BenchRecord& record) {
  std::vector<double> late;
  for (const BenchRecord::Trace* const trace : record.traces()) {
    if (trace->mark > 0) late.push_back(milliseconds(trace->started - trace->mark));
  }
  return late;
}

void measure_scheduled(long jobs) {
  RedisServer redis;
  Server server(redis, static_cast<std::size_t>(jobs), 2, {"due"});
  schedule_jobs(redis, jobs, 4s);  // several poll intervals
  server.wait_performed(static_cast<std::uint64_t>(jobs), 20s + jobs * 30ms);
  const std::vector<double> late = lateness_ms(server.record());
  std::printf("{\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f}\n", at_share(late, 0.5), at_share(late, 0.99),
              at_share(late, 1));
}

// Due jobs to a queue that nobody serves, from the first move to the last.
void measure_due(long jobs) {
  RedisServer redis;
  Server server(redis, 1, 1, {"default"});
  const double due = wall_seconds() - 60;
  add_all(redis, "ZADD", "aside", jobs, [&](long i) {
    return std::vector<std::string>{std::to_string(due), payload_text("BroodBench::Noop", "[" + std::to_string(i) + "]",
                                                                      i + 1, R"("queue":"unserved")")};
  });
  redis.command({"RENAME", "aside", "schedule"});
  const auto left = [&] { return static_cast<long>(redis.size_of("schedule")); };
  if (!eventually([&] { return left() < jobs; }, 30s)) throw std::runtime_error("nothing was moved");
  const std::int64_t begin = now_ns();
  const long at_begin = left();
  if (!eventually([&] { return left() == 0; }, 120s)) throw std::runtime_error("not all was moved");
  const double seconds = static_cast<double>(now_ns() - begin) / 1e9;
  std::printf("{\"moved_per_second\":%.1f}\n", static_cast<double>(at_begin) / seconds);
}

constexpr auto first_retry = 15s;

struct Throughput {
  double jobs_per_second = 0;
  double workers_cpu_us = 0, redis_cpu_us = 0, redis_commands = 0, redis_requests = 0;  // a job
};

// All jobs are there before the first is taken.
Throughput measure_throughput(const std::string& program, const std::string& job_class, int workers, long jobs) {
  RedisServer redis;
  Server server(redis, 1, workers, {"default"}, program);
  std::vector<std::string> payloads;
  for (long i = 0; i < jobs; ++i) payloads.push_back(payload_text(job_class, "[" + std::to_string(i) + "]", i + 1));
  enqueue(redis, payloads, "aside");
  const std::vector<pid_t> pids = server.workers();
  Connection connection(redis.address());
  const double cpu_before = cpu_seconds(pids);
  const RedisUsage before = redis_usage(connection);
  redis.command({"RENAME", "queue:aside", "queue:default"});
  server.wait_performed(static_cast<std::uint64_t>(jobs), 300s);
  const auto settled = [&] { return jobs_in_flight(redis) == 0; };
  if (!eventually(settled, 10s)) throw std::runtime_error("the jobs were not all settled");
  const RedisUsage after = redis_usage(connection);
  const BenchRecord::Sum sum = server.record().sum();
  if (sum.last_end - sum.first_start > first_retry / 1ns)
    throw std::runtime_error("it took so long that jobs came again: measure fewer");
  const auto count = static_cast<double>(jobs);
  return {.jobs_per_second = count / (static_cast<double>(sum.last_end - sum.first_start) / 1e9),
          .workers_cpu_us = (cpu_seconds(pids) - cpu_before) * 1e6 / count,
          .redis_cpu_us = (after.cpu_seconds - before.cpu_seconds) * 1e6 / count,
          .redis_commands = static_cast<double>(after.commands - before.commands) / count,
          .redis_requests = static_cast<double>(after.requests - before.requests) / count};
}

// Good jobs and jobs that throw, one after the other.
void measure_failing(const std::string& program, int workers, long jobs) {
  const auto print = [](const char* name, const Throughput& seen) {
    std::printf(
        "\"%s\":{\"jobs_per_second\":%.1f,\"workers_cpu_us_per_job\":%.3f,\"redis_cpu_us_per_job\":%.3f,"
        "\"redis_commands_per_job\":%.3f,\"redis_requests_per_job\":%.4f}",
        name, seen.jobs_per_second, seen.workers_cpu_us, seen.redis_cpu_us, seen.redis_commands, seen.redis_requests);
  };
  std::printf("{");
  print("good", measure_throughput(program, "BroodBench::Noop", workers, jobs));
  std::printf(",");
  print("failing", measure_throughput(program, "BroodBench::Failing", workers, jobs));
  std::printf("}\n");
}

struct Scale {
  int workers = 256, queues = 200, seconds = 25;
  int waiting = 1'000'000, scheduled = 1'000'000, retries = 100'000;
  bool undisturbed = false;
};

// SLOWLOG counts by the wall clock: of hundreds of workers on few cores it shows how long Redis waited for one of them.
// Ahead of all others it shows what a command takes.
void put_ahead(const RedisServer& redis) {
  const sched_param lowest_of_real_time{.sched_priority = 1};
  check("sched_setscheduler", sched_setscheduler(redis.pid(), SCHED_FIFO, &lowest_of_real_time));
}

// Everything at once, under jobs that sleep.
void measure_scale(const Scale& scale) {
  RedisServer redis;
  if (scale.undisturbed) put_ahead(redis);
  const double tomorrow = wall_seconds() + 86'400;
  std::vector<std::string> queues = {"due"};
  for (int i = 0; i < scale.queues; ++i) {
    queues.push_back("scale" + std::to_string(i));
    add_all(redis, "LPUSH", "queue:" + queues.back(), scale.waiting / scale.queues,
            [&](long number) { return std::vector<std::string>{traced(0, 100'000, number + 1)}; });
  }
  const auto later = [&](long number) {
    return std::vector<std::string>{std::to_string(tomorrow), traced(0, 0, number + 1)};
  };
  add_all(redis, "ZADD", "schedule", scale.scheduled, later);
  add_all(redis, "ZADD", "retry", scale.retries, later);
  redis.command({"CONFIG", "SET", "slowlog-log-slower-than", "500"});
  redis.command({"CONFIG", "SET", "slowlog-max-len", "10000"});
  redis.command({"SLOWLOG", "RESET"});

  Server server(redis, static_cast<std::size_t>(scale.waiting) + 1'000, scale.workers, queues);
  schedule_jobs(redis, 100, 4s);
  const double cpu_before = cpu_seconds({server.supervisor()});
  const std::int64_t begin = now_ns();
  std::int64_t beat = server.last_beat(), longest_between_beats = 0;
  while (now_ns() - begin < scale.seconds * 1'000'000'000L) {
    std::this_thread::sleep_for(5ms);
    const std::int64_t seen = server.last_beat();
    if (beat != 0 && seen != beat) longest_between_beats = std::max(longest_between_beats, seen - beat);
    beat = seen;
  }
  const double elapsed = static_cast<double>(now_ns() - begin) / 1e9;
  const double cpu = (cpu_seconds({server.supervisor()}) - cpu_before) / elapsed;
  std::int64_t slowest_us = 0;
  std::string slowest;
  const Reply slow = redis.command({"SLOWLOG", "GET", "10000"});
  for (std::size_t i = 0; i < slow.view().size(); ++i) {
    const ReplyView entry = slow.view()[i];
    if (entry[2].integer() <= slowest_us) continue;
    slowest_us = entry[2].integer();
    slowest = entry[3][0].text();
  }
  const std::vector<double> late = lateness_ms(server.record());
  const double memory_kb = static_cast<double>(private_memory_kb(server.supervisor()));
  std::vector<double> workers_kb;
  for (const pid_t pid : server.ready()) workers_kb.push_back(static_cast<double>(private_memory_kb(pid)));
  const double performed_per_second = static_cast<double>(server.record().sum().performed) / elapsed;
  const double stop_s = server.stop();
  std::printf(
      "{\"start_s\":%.3f,\"stop_s\":%.3f,\"longest_between_beats_s\":%.3f,\"supervisor_cpu_share\":%.4f,"
      "\"slowest_command_us\":%ld,\"slowest_command\":\"%s\",\"late_p50_ms\":%.3f,\"late_p99_ms\":%.3f,"
      "\"jobs_per_second\":%.1f,\"supervisor_kb\":%.0f,\"worker_median_kb\":%.0f}\n",
      server.start_s(), stop_s, milliseconds(longest_between_beats) / 1'000, cpu, static_cast<long>(slowest_us),
      slowest.c_str(), at_share(late, 0.5), at_share(late, 0.99), performed_per_second, memory_kb,
      at_share(workers_kb, 0.5));
}

}  // namespace

// Figures of brood that `brood bench` does not give, one JSON object each.
int main(int argc, char** argv) {
  return bench_main(argc, argv, [](std::vector<std::string> words) {
    const std::string measure = take_measure(words, "mixed, failing, scheduled, due or scale");
    if (measure == "mixed") {
      CommandLine line("Jobs of 50, 5 and 1 ms among no-ops, against ideal packing", "bench_brood mixed");
      int workers = 4, jobs = 2'000;
      line.number("--workers", workers, "Workers", 1, 10'000);
      line.number("--jobs", jobs, "Jobs", 1, 100'000'000);
      refuse_arguments(line.parse(words));
      measure_mixed(workers, jobs);
    } else if (measure == "failing") {
      CommandLine line("Jobs that do nothing, and jobs that throw", "bench_brood failing");
      int workers = 2, jobs = 50'000;
      std::string program;
      line.number("--workers", workers, "Workers", 1, 10'000);
      line.number("--jobs", jobs, "Jobs of each kind", 1, 100'000'000);
      line.option("--program", program, "FILE", "A brood other than the one that was built");
      refuse_arguments(line.parse(words));
      measure_failing(program, workers, jobs);
    } else if (measure == "scheduled") {
      CommandLine line("From due to begun on an idle server", "bench_brood scheduled");
      int jobs = 200;
      line.number("--jobs", jobs, "Jobs", 1, 1'000'000);
      refuse_arguments(line.parse(words));
      measure_scheduled(jobs);
    } else if (measure == "due") {
      CommandLine line("Due jobs moved to a queue", "bench_brood due");
      int jobs = 100'000;
      line.number("--jobs", jobs, "Jobs", 1, 100'000'000);
      refuse_arguments(line.parse(words));
      measure_due(jobs);
    } else if (measure == "scale") {
      CommandLine line("Many workers, queues and jobs", "bench_brood scale");
      Scale scale;
      line.number("--workers", scale.workers, "Workers", 1, 10'000);
      line.number("--queues", scale.queues, "Queues", 1, 100'000);
      line.number("--waiting", scale.waiting, "Jobs in the queues", 0, 100'000'000);
      line.number("--scheduled", scale.scheduled, "Jobs in the schedule", 0, 100'000'000);
      line.number("--retries", scale.retries, "Jobs to retry", 0, 100'000'000);
      line.flag("--undisturbed", scale.undisturbed, "Redis goes before all others: what its commands take (for root)");
      line.number("--seconds", scale.seconds, "How long to watch", 1, 86'400);
      refuse_arguments(line.parse(words));
      measure_scale(scale);
    } else {
      throw UsageError("nothing is measured by the name " + measure);
    }
  });
}
