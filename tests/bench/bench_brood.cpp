// What `brood bench` does not measure: mixed jobs, due jobs, and a Redis with much in it.  One JSON object each.

#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/cli/bench/bench.hpp"
#include "supervisor/cli/bench/bench_usage.hpp"
#include "supervisor/cli/bench/quantile.hpp"
#include "tests/bench/bench_main.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / 1ns; }
double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}
double milliseconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

const std::string built = BROOD_BINARY_DIR "/bin/brood";

// A server whose jobs note what they do.
BenchSettings settings_for(const RedisServer& redis, int workers, std::size_t traces) {
  return {.redis = redis.address(),
          .brood = built,
          .library = BROOD_BENCH_JOBS,
          .workers = workers,
          .traces = traces,
          .poll_interval = "1s"};
}

std::string traced(std::int64_t mark, int sleep_us, long number, const std::string& more = "") {
  return payload_text("BroodBench::Traced", fmt::format("[{},{}]", mark, sleep_us), number, more);
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

// Jobs of 50, 5 and 1 ms and no-ops in random order, all there from the beginning.  How near the workers come to the
// time that the jobs themselves take, and how long at most a worker is idle while a job has not begun.
void measure_mixed(int workers, std::size_t jobs) {
  std::minstd_rand random;
  std::vector<BenchJob> mixed;
  for (std::size_t i = 0; i < jobs; ++i) {
    const std::size_t kind = i % 20;  // of twenty: one of 50 ms, two of 5 ms, four of 1 ms, the others no-ops
    const int sleep_us = kind == 0 ? 50'000 : kind < 3 ? 5'000 : kind < 7 ? 1'000 : 0;
    mixed.push_back({"BroodBench::Traced", fmt::format("[{},{}]", i, sleep_us)});
  }
  std::shuffle(mixed.begin(), mixed.end(), random);
  RedisServer redis;
  Bench bench(settings_for(redis, workers, jobs));
  const BenchThroughput run = bench.measure_throughput(jobs, [&](std::size_t i) { return mixed[i]; });

  std::int64_t last_start = 0, longest_idle = 0;
  std::map<std::int64_t, std::int64_t> idle_since;  // worker -> end of its last job
  for (const BenchRecord::Trace* const trace : bench.record().traces()) {
    const auto [worker, is_first] = idle_since.try_emplace(trace->worker, trace->ended.load());
    if (!is_first) longest_idle = std::max(longest_idle, trace->started - worker->second);
    worker->second = trace->ended;
    last_start = std::max(last_start, trace->started);
  }
  for (const auto& [worker, since] : idle_since) longest_idle = std::max(longest_idle, last_start - since);
  std::printf("{\"seconds\":%.4f,\"share_of_ideal\":%.4f,\"longest_idle_ms\":%.3f}\n", run.seconds,
              run.share_of_ideal.value(), milliseconds(longest_idle));
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

std::vector<double> lateness_ms(const BenchRecord& record) {
  std::vector<double> late;
  for (const BenchRecord::Trace* const trace : record.traces()) {
    if (trace->mark > 0) late.push_back(milliseconds(trace->started - trace->mark));
  }
  return late;
}

void measure_scheduled(long jobs) {
  RedisServer redis;
  BenchSettings settings = settings_for(redis, 2, static_cast<std::size_t>(jobs));
  settings.others = {"due"};
  Bench bench(settings);
  schedule_jobs(redis, jobs, 4s);  // several poll intervals
  bench.wait_until_performed(static_cast<std::uint64_t>(jobs), "scheduled");
  const std::vector<double> late = lateness_ms(bench.record());
  std::printf("{\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f}\n", quantile(late, 0.5), quantile(late, 0.99),
              quantile(late, 1));
}

// Due jobs to a queue that nobody serves, from the first move to the last.
void measure_due(long jobs) {
  RedisServer redis;
  const Bench bench(settings_for(redis, 1, 0));
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

constexpr double seconds_to_first_retry = 15;

BenchThroughput throughput_of(const std::string& job_class, const std::string& program, int workers, std::size_t jobs) {
  RedisServer redis;
  BenchSettings settings = settings_for(redis, workers, 0);
  if (!program.empty()) {
    settings.brood = program;
    settings.workers_of = workers_of;
  }
  Bench bench(settings);
  const auto job = [&](std::size_t i) { return BenchJob{job_class, fmt::format("[{}]", i), true}; };
  const BenchThroughput run = bench.measure_throughput(jobs, job, [&] {
    if (!eventually([&] { return jobs_in_flight(redis) == 0; })) throw std::runtime_error("not all jobs were settled");
  });
  if (run.seconds > seconds_to_first_retry)
    throw std::runtime_error("it took so long that jobs came again: measure fewer");
  return run;
}

// Good jobs and jobs that throw, one after the other.
void measure_failing(const std::string& program, int workers, std::size_t jobs) {
  const auto print = [&](const char* name, const char* job_class) {
    const BenchThroughput run = throughput_of(job_class, program, workers, jobs);
    const double us = 1e6 / static_cast<double>(run.jobs);
    std::printf(
        "\"%s\":{\"jobs_per_second\":%.1f,\"workers_cpu_us_per_job\":%.3f,\"redis_cpu_us_per_job\":%.3f,"
        "\"redis_commands_per_job\":%.3f,\"redis_requests_per_job\":%.4f}",
        name, run.jobs_per_second, run.cpu.workers * us, run.cpu.redis * us, run.redis_commands_per_job,
        run.redis_requests_per_job);
  };
  std::printf("{");
  print("good", "BroodBench::Noop");
  std::printf(",");
  print("failing", "BroodBench::Failing");
  std::printf("}\n");
}

// A worker that forks a process for each job, beside a loop that does nothing but fork, exit and wait.
double isolated_per_second(long jobs) {
  RedisServer redis;
  const BroodProcess brood(
      redis, {.workers = 1,
              .libraries = {BROOD_BENCH_JOBS},
              .config = "[log]\nlevel = \"warn\"\n[classes.\"BroodBench::Nothing\"]\nisolation = \"process\"\n",
              .program = built});
  if (!brood.wait_ready()) throw std::runtime_error("brood does not start");
  add_all(redis, "LPUSH", "aside", jobs,
          [](long number) { return std::vector<std::string>{payload_text("BroodBench::Nothing", "[]", number + 1)}; });
  const std::int64_t begin = now_ns();
  redis.command({"RENAME", "aside", "queue:default"});
  const auto settled = [&] { return redis.size_of("queue:default") == 0 && jobs_in_flight(redis) == 0; };
  if (!eventually(settled, 300s)) throw std::runtime_error("not all jobs were settled");
  return static_cast<double>(jobs) / (static_cast<double>(now_ns() - begin) / 1e9);
}

double forks_per_second(long forks) {
  const std::int64_t begin = now_ns();
  for (long i = 0; i < forks; ++i) {
    const pid_t child = check("fork", fork());
    if (child == 0) _exit(0);
    check("waitpid", waitpid(child, nullptr, 0));
  }
  return static_cast<double>(forks) / (static_cast<double>(now_ns() - begin) / 1e9);
}

void measure_isolated(long jobs, int rounds) {
  std::vector<double> isolated, forks, shares;
  for (int round = 0; round < rounds; ++round) {
    forks.push_back(forks_per_second(jobs));
    isolated.push_back(isolated_per_second(jobs));
    shares.push_back(isolated.back() / forks.back());
  }
  std::printf("{\"isolated_per_second\":%.1f,\"forks_per_second\":%.1f,\"share_of_forks\":%.3f}\n",
              quantile(isolated, 0.5), quantile(forks, 0.5), quantile(shares, 0.5));
}

// One supervisor and its workers on so many Redis servers, each with its part of the jobs.
void measure_shards(long jobs, int shards, int workers) {
  std::vector<std::unique_ptr<RedisServer>> servers;
  std::string config = "[log]\nlevel = \"warn\"\n";
  for (int i = 0; i < shards; ++i) {
    servers.push_back(std::make_unique<RedisServer>());
    config += "[[redis.shard]]\nurl = \"" + servers.back()->url() + "\"\n";
  }
  const BroodProcess brood(
      BroodOptions{.workers = workers, .libraries = {BROOD_BENCH_JOBS}, .config = config, .program = built});
  if (!brood.wait_ready(60s)) throw std::runtime_error("brood does not start");
  for (const auto& redis : servers)
    add_all(*redis, "LPUSH", "aside", jobs / shards,
            [&](long i) { return std::vector<std::string>{payload_text("BroodBench::Nothing", "[]", i + 1)}; });

  const auto usage = [&] {
    RedisUsage sum;
    for (const auto& redis : servers) {
      Connection connection(redis->address());
      const RedisUsage one = redis_usage(connection);
      sum.cpu_seconds += one.cpu_seconds;
      sum.commands += one.commands;
      sum.bytes_read += one.bytes_read;
      sum.bytes_written += one.bytes_written;
    }
    return sum;
  };
  const RedisUsage redis_before = usage();
  const double workers_before = cpu_seconds(brood.workers()), supervisor_before = cpu_seconds({brood.pid()});
  const std::int64_t begin = now_ns();
  for (const auto& redis : servers) redis->command({"RENAME", "aside", "queue:default"});
  for (const auto& redis : servers) {
    while (redis->size_of("queue:default") > 0 || jobs_in_flight(*redis) > 0) std::this_thread::sleep_for(2ms);
  }
  const double seconds = static_cast<double>(now_ns() - begin) / 1e9;
  const RedisUsage redis_after = usage();
  const double count = static_cast<double>(jobs / shards * shards);
  std::printf(
      "{\"shards\":%d,\"jobs_per_second\":%.0f,\"redis_us_a_job\":%.2f,\"workers_us_a_job\":%.2f,"
      "\"supervisor_us_a_job\":%.3f,\"commands_a_job\":%.3f,\"bytes_to_redis_a_job\":%.1f,"
      "\"bytes_from_redis_a_job\":%.1f}\n",
      shards, count / seconds, (redis_after.cpu_seconds - redis_before.cpu_seconds) * 1e6 / count,
      (cpu_seconds(brood.workers()) - workers_before) * 1e6 / count,
      (cpu_seconds({brood.pid()}) - supervisor_before) * 1e6 / count,
      static_cast<double>(redis_after.commands - redis_before.commands) / count,
      static_cast<double>(redis_after.bytes_read - redis_before.bytes_read) / count,
      static_cast<double>(redis_after.bytes_written - redis_before.bytes_written) / count);
}

// What is neither shared with another process nor a file's.
std::uint64_t private_kb(pid_t pid) {
  std::ifstream rollup("/proc/" + std::to_string(pid) + "/smaps_rollup");
  std::uint64_t sum = 0;
  for (std::string line; std::getline(rollup, line);) {
    if (!line.starts_with("Private_Clean:") && !line.starts_with("Private_Dirty:")) continue;
    sum += std::stoull(line.substr(line.find(':') + 1));
  }
  return sum;
}

// The time of the first line that names the event: "2026-01-02T03:04:05.678Z INFO pid=1 event=ready workers=2".
double logged_at(const std::string& log, const std::string& event) {
  const std::size_t found = log.find(" event=" + event + " ");
  if (found == std::string::npos) throw std::runtime_error("the log has no event=" + event);
  const std::size_t line = log.rfind('\n', found) + 1;
  return std::stod(log.substr(line + 11, 2)) * 3'600 + std::stod(log.substr(line + 14, 2)) * 60 +
         std::stod(log.substr(line + 17, 6));
}

// The scoreboard of the only supervisor there.
Scoreboard scoreboard_of(const BroodProcess& brood) {
  for (const auto& file : std::filesystem::directory_iterator(brood.home() / "run")) {
    if (file.path().extension() == ".scoreboard") return Scoreboard::open(file.path(), false);
  }
  throw std::runtime_error("brood has no scoreboard");
}

bool has_ready_worker(const Scoreboard& board, pid_t but) {
  for (int slot = 0; slot < board.slots(); ++slot) {
    const std::int32_t pid = board.slot(slot).pid.load();
    if (pid > 0 && pid != but && board.slot(slot).ready.load() != 0) return true;
  }
  return false;
}

// From SIGKILL of the only worker until its successor is ready, and until that has performed a job.
struct Replaced {
  double ready_ms = 0, done_ms = 0;
};
Replaced replace_worker(RedisServer& redis, const BroodProcess& brood, const Scoreboard& board) {
  const auto one_job = [&] {
    redis.command({"LPUSH", "queue:default", payload_text("BroodBench::Nothing", "[]")});
    while (redis.size_of("queue:default") > 0 || jobs_in_flight(redis) > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  };
  one_job();  // one that dies before its first would not be replaced at once
  const pid_t worker = brood.workers().at(0);
  std::this_thread::sleep_for(20ms);
  const std::int64_t begin = now_ns();
  Replaced replaced;
  kill(worker, SIGKILL);
  while (!has_ready_worker(board, worker)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  replaced.ready_ms = milliseconds(now_ns() - begin);
  one_job();
  replaced.done_ms = milliseconds(now_ns() - begin);
  return replaced;
}

// Workers that share a table, and how soon one of them is replaced.
void measure_preloaded(int workers, int megabytes, int kills) {
  const auto options = [&](int count) {
    return BroodOptions{.workers = count,
                        .libraries = {BROOD_BENCH_JOBS},
                        .environment = {{"BROOD_BENCH_MEGABYTES", std::to_string(megabytes)}},
                        .program = built};
  };
  std::vector<double> private_memory, ready, done;
  double ready_after = 0;
  {
    RedisServer redis;
    const BroodProcess brood(redis, options(workers));
    if (!eventually([&] { return brood.log().find(" event=ready ") != std::string::npos; }, 120s))
      throw std::runtime_error("brood does not start");
    ready_after = logged_at(brood.log(), "ready") - logged_at(brood.log(), "template_ready");
    for (const pid_t worker : brood.workers()) private_memory.push_back(static_cast<double>(private_kb(worker)));
  }
  RedisServer redis;
  const BroodProcess brood(redis, options(1));
  if (!brood.wait_ready(120s)) throw std::runtime_error("brood does not start");
  const Scoreboard board = scoreboard_of(brood);
  for (int i = 0; i < kills; ++i) {
    const Replaced replaced = replace_worker(redis, brood, board);
    ready.push_back(replaced.ready_ms);
    done.push_back(replaced.done_ms);
  }
  std::printf(
      "{\"ready_after_template_s\":%.3f,\"private_kb_p50\":%.0f,\"private_kb_max\":%.0f,"
      "\"killed_to_ready_ms_p50\":%.2f,\"killed_to_ready_ms_p99\":%.2f,"
      "\"killed_to_next_job_ms_p50\":%.2f,\"killed_to_next_job_ms_p99\":%.2f}\n",
      ready_after, quantile(private_memory, 0.5), quantile(private_memory, 1), quantile(ready, 0.5),
      quantile(ready, 0.99), quantile(done, 0.5), quantile(done, 0.99));
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

  BenchSettings settings = settings_for(redis, scale.workers, static_cast<std::size_t>(scale.waiting) + 1'000);
  settings.queues = 0;
  settings.others = queues;
  Bench bench(settings);
  schedule_jobs(redis, 100, 4s);
  const double cpu_before = cpu_seconds({bench.server().supervisor()});
  const std::int64_t begin = now_ns();
  std::int64_t beat = bench.server().last_beat(), longest_between_beats = 0;
  while (now_ns() - begin < scale.seconds * 1'000'000'000L) {
    std::this_thread::sleep_for(5ms);
    const std::int64_t seen = bench.server().last_beat();
    if (beat != 0 && seen != beat) longest_between_beats = std::max(longest_between_beats, seen - beat);
    beat = seen;
  }
  const double elapsed = static_cast<double>(now_ns() - begin) / 1e9;
  const double cpu = (cpu_seconds({bench.server().supervisor()}) - cpu_before) / elapsed;
  std::int64_t slowest_us = 0;
  std::string slowest;
  const Reply slow = redis.command({"SLOWLOG", "GET", "10000"});
  for (std::size_t i = 0; i < slow.view().size(); ++i) {
    const ReplyView entry = slow.view()[i];
    if (entry[2].integer() <= slowest_us) continue;
    slowest_us = entry[2].integer();
    slowest = entry[3][0].text();
  }
  const std::vector<double> late = lateness_ms(bench.record());
  const BenchMemory memory = bench.measure_memory();
  const double performed_per_second = static_cast<double>(bench.record().sum().performed) / elapsed;
  const std::chrono::duration<double> start = bench.server().start_up(), stop = bench.server().stop();
  std::printf(
      "{\"start_s\":%.3f,\"stop_s\":%.3f,\"longest_between_beats_s\":%.3f,\"supervisor_cpu_share\":%.4f,"
      "\"slowest_command_us\":%ld,\"slowest_command\":\"%s\",\"late_p50_ms\":%.3f,\"late_p99_ms\":%.3f,"
      "\"jobs_per_second\":%.1f,\"supervisor_kb\":%ld,\"worker_median_kb\":%ld}\n",
      start.count(), stop.count(), milliseconds(longest_between_beats) / 1'000, cpu, static_cast<long>(slowest_us),
      slowest.c_str(), quantile(late, 0.5), quantile(late, 0.99), performed_per_second,
      static_cast<long>(memory.supervisor), static_cast<long>(memory.worker_median));
}

}  // namespace

// Figures of brood that `brood bench` does not give, one JSON object each.
int main(int argc, char** argv) {
  return bench_main(argc, argv, [](std::vector<std::string> words) {
    const std::string measure =
        take_measure(words, "mixed, failing, isolated, preloaded, scheduled, due, shards or scale");
    if (measure == "mixed") {
      CommandLine line("Jobs of 50, 5 and 1 ms among no-ops, against ideal packing", "bench_brood mixed");
      int workers = 4, jobs = 2'000;
      line.number("--workers", workers, "Workers", 1, 10'000);
      line.number("--jobs", jobs, "Jobs", 1, 100'000'000);
      refuse_arguments(line.parse(words));
      measure_mixed(workers, static_cast<std::size_t>(jobs));
    } else if (measure == "failing") {
      CommandLine line("Jobs that do nothing, and jobs that throw", "bench_brood failing");
      int workers = 2, jobs = 50'000;
      std::string program;
      line.number("--workers", workers, "Workers", 1, 10'000);
      line.number("--jobs", jobs, "Jobs of each kind", 1, 100'000'000);
      line.option("--program", program, "FILE", "A brood other than the one that was built");
      refuse_arguments(line.parse(words));
      measure_failing(program, workers, static_cast<std::size_t>(jobs));
    } else if (measure == "preloaded") {
      CommandLine line("Workers that are copies of a template with a large table", "bench_brood preloaded");
      int workers = 64, megabytes = 1'024, kills = 200;
      line.number("--workers", workers, "Workers", 1, 10'000);
      line.number("--megabytes", megabytes, "Of the table", 1, 1'000'000);
      line.number("--kills", kills, "Workers that are killed", 1, 1'000'000);
      refuse_arguments(line.parse(words));
      measure_preloaded(workers, megabytes, kills);
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
    } else if (measure == "isolated") {
      CommandLine line("Jobs that do nothing in processes of their own, and bare forks", "bench_brood isolated");
      int jobs = 5'000, rounds = 3;
      line.number("--jobs", jobs, "Jobs, and forks, of each round", 1, 1'000'000);
      line.number("--rounds", rounds, "Rounds", 1, 1'000);
      refuse_arguments(line.parse(words));
      measure_isolated(jobs, rounds);
    } else if (measure == "shards") {
      CommandLine line("Jobs that do nothing on several Redis servers", "bench_brood shards");
      int jobs = 400'000, shards = 2, workers = 4;
      line.number("--jobs", jobs, "Jobs, of all servers together", 1, 100'000'000);
      line.number("--shards", shards, "Redis servers", 1, 64);
      line.number("--workers", workers, "Workers", 1, 10'000);
      refuse_arguments(line.parse(words));
      measure_shards(jobs, shards, workers);
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
