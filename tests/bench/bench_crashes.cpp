// What crashes cost: how soon a crash is charged and its slot at work again, how many a second a supervisor bears, what
// good jobs lose beside bad ones, and for how long its loop ever stands still.

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"
#include "supervisor/cli/bench/quantile.hpp"
#include "tests/bench/bench_main.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/footprint.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

const std::string examples = BROOD_BINARY_DIR "/worker/examples/libexamples.so";
constexpr int workers = 4, good_for_one_bad = 20, milliseconds_of_good = 10;

double ms(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }
double seconds(Clock::duration d) { return ms(d) / 1000; }

// Nothing may have been asked for.
double quantile_or_zero(const std::vector<double>& values, double share) {
  return values.empty() ? 0 : quantile(values, share);
}

void wait_for(const std::function<bool()>& holds, const char* what, const BroodProcess& brood) {
  if (!eventually(holds, 300s)) throw std::runtime_error(std::string(what) + brood.log_tail());
}

// No retry comes due while it is measured.
BroodOptions server(int count) {
  return {.workers = count,
          .libraries = {BROOD_MENAGERIE_JOBS, examples},
          .config = "poll_interval = \"24h\"\n[worker]\ntimeout_grace = \"200ms\"\n"};
}

// The moments that NoteMoment wrote, in order.
std::vector<Clock::time_point> moments(const std::string& file) {
  std::vector<Clock::time_point> found;
  std::ifstream stream(file, std::ios::binary);
  for (std::int64_t ns; stream.read(reinterpret_cast<char*>(&ns), sizeof ns);)
    found.emplace_back(std::chrono::nanoseconds(ns));
  return found;
}

std::string control_socket_of(const BroodProcess& brood) {
  for (const auto& entry : std::filesystem::directory_iterator(brood.home() / "run"))
    if (entry.path().extension() == ".control") return entry.path();
  throw std::runtime_error("no control socket" + brood.log_tail());
}

// A request that no supervisor knows, and its answer.
void ask_in_vain(const std::string& path) {
  const UniqueFd socket(check("socket", ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  check("connect", connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  const std::string_view question = "1 probe []\n";
  char answer[256];
  if (send(socket.get(), question.data(), question.size(), MSG_NOSIGNAL) < 0 ||
      recv(socket.get(), answer, sizeof answer, 0) <= 0)
    throw std::runtime_error("no answer");
}

// Asks the supervisor something every ten milliseconds, and notes how long its answers took.
class Prober {
 public:
  explicit Prober(const BroodProcess& brood) : thread_([this, path = control_socket_of(brood)] { probe(path); }) {}
  ~Prober() { finish(); }
  std::vector<double> finish() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
    return answers_ms_;
  }

 private:
  void probe(const std::string& path) {
    while (!done_) {
      const Clock::time_point asked = Clock::now();
      ask_in_vain(path);
      answers_ms_.push_back(ms(Clock::now() - asked));
      std::this_thread::sleep_until(asked + 10ms);
    }
  }

  std::atomic<bool> done_ = false;
  std::vector<double> answers_ms_;
  std::thread thread_;
};

// One crash at a time on one worker, with a job behind it that waits for the next worker.
struct Latencies {
  std::vector<double> to_record_ms, to_next_fetch_ms;
};
Latencies crash_one_by_one(int crashes) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, server(1));
  if (!brood.wait_ready()) throw std::runtime_error("brood is not ready" + brood.log_tail());
  Latencies found;
  for (int i = 0; i < crashes; ++i) {
    const std::string file = directory / std::to_string(i);
    enqueue(redis, {payload_text("NoteMoment", "[\"" + file + "\",true]", 2 * i + 1),
                    payload_text("NoteMoment", "[\"" + file + "\",false]", 2 * i + 2)});
    Clock::time_point charged{};
    const auto is_charged = [&] {
      if (redis.size_of("retry") != static_cast<std::size_t>(i) + 1) return false;
      charged = Clock::now();
      return true;
    };
    while (!is_charged()) std::this_thread::sleep_for(200us);
    wait_for([&] { return moments(file).size() == 2; }, "the next job did not run", brood);
    const auto noted = moments(file);
    found.to_record_ms.push_back(ms(charged - noted[0]));
    found.to_next_fetch_ms.push_back(ms(noted[1] - noted[0]));
  }
  return found;
}

struct StormFigures {
  double crashes_per_second = 0, supervisor_cpu_percent = 0, records_missing = 0;
  double rss_growth_kb = 0, descriptors_more = 0, zombies = 0;
};
StormFigures storm(int crashes) {
  RedisServer redis;
  BroodProcess brood(redis, server(2));
  if (!brood.wait_ready()) throw std::runtime_error("brood is not ready" + brood.log_tail());
  std::size_t offered = 0;
  const auto offer = [&](int more) {
    std::vector<std::string> jobs;
    for (int i = 0; i < more; ++i) jobs.push_back(payload_text("SegfaultAtDepth", "[3]", static_cast<long>(++offered)));
    enqueue(redis, jobs);
    wait_for([&] { return redis.size_of("retry") + redis.size_of("dead") >= offered; }, "a record is missing", brood);
    wait_for([&] { return children_of(brood.pid()).size() == 2 && footprint_of(brood.pid()).zombies == 0; },
             "children are left over", brood);
  };
  offer(std::max(crashes / 10, 20));
  const Footprint before = footprint_of(brood.pid());
  const std::size_t charged_before = redis.size_of("retry") + redis.size_of("dead");
  const Clock::time_point began = Clock::now();
  offer(crashes);
  const Clock::duration took = Clock::now() - began;
  const Footprint after = footprint_of(brood.pid());
  const std::size_t charged = redis.size_of("retry") + redis.size_of("dead") - charged_before;
  return {.crashes_per_second = crashes / seconds(took),
          .supervisor_cpu_percent = 100 * ms(after.cpu - before.cpu) / ms(took),
          .records_missing = static_cast<double>(crashes) - static_cast<double>(charged),
          .rss_growth_kb = static_cast<double>(after.rss_kb - before.rss_kb),
          .descriptors_more = static_cast<double>(after.descriptors) - static_cast<double>(before.descriptors),
          .zombies = static_cast<double>(after.zombies)};
}

// Kinds of bad jobs, and for how long each keeps its worker with what it does itself.
struct Bad {
  const char* job_class;
  const char* args;
  const char* more;
  double keeps_seconds;
};
const std::vector<Bad> crashing = {
    {"SegfaultAtDepth", "[1]", "", 0}, {"SegfaultAtDepth", "[20]", "", 0},
    {"AbortAtOnce", "[]", "", 0},      {"ThrowNumber", "[]", "", 0},
    {"ThrowInThread", "[]", "", 0},    {"OverflowStack", "[]", "", 0},
    {"JumpToGarbage", "[]", "", 0},    {"JumpToNull", "[]", "", 0},
    {"FreeTwice", "[]", "", 0},        {"OverflowHeap", "[]", "", 0},
    {"SmashStack", "[]", "", 0},       {"DivideByZero", "[]", "", 0},
    {"ExitWithZero", "[]", "", 0},     {"ExitAtOnce", "[]", "", 0},
    {"KillOwnGroup", "[]", "", 0},     {"CloseDescriptorsAndCrash", "[]", "", 0},
    {"Daemonise", "[]", "", 0},
};
const std::vector<Bad> whole_menagerie = [] {
  std::vector<Bad> all = crashing;
  const char* soon = R"("timeout":0.3)";
  all.insert(all.end(), {{"WindUpAtDeadline", "[]", soon, 0.3},
                         {"HangAsleep", "[]", soon, 0.5},
                         {"Spin", "[]", soon, 0.5},
                         {"HangDeaf", "[]", soon, 0.7},
                         {"StopItself", "[]", soon, 0.7},
                         {"RubbishOnControlPipe", "[]", "", 0},
                         {"MegabytesOnControlPipe", "[]", "", 0},
                         {"ForkBomb", "[200]", "", 0},
                         {"ForgeLog", "[]", "", 0}});
  return all;
}();

struct Run {
  double good_per_second = 0;
  double kept_share = 0;  // of the workers' time, by what bad jobs do themselves
  std::vector<double> answers_ms;
};
// One bad job after every twenty good ones; the good ones are counted until the last of them is done.
Run perform(int good, const std::vector<Bad>& kinds) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, server(workers));
  if (!brood.wait_ready()) throw std::runtime_error("brood is not ready" + brood.log_tail());
  std::vector<std::string> jobs;
  double kept_seconds = 0;
  for (int id = 0; id < good; ++id) {
    jobs.push_back(payload_text(
        "Ledger",
        "[\"" + ledger.path() + "\",\"" + std::to_string(id) + "\"," + std::to_string(milliseconds_of_good) + "]",
        id + 1));
    if (kinds.empty() || id % good_for_one_bad != good_for_one_bad / 2) continue;
    const Bad& bad = kinds[static_cast<std::size_t>(id / good_for_one_bad) % kinds.size()];
    jobs.push_back(payload_text(bad.job_class, bad.args, 1'000'000 + id, bad.more));
    kept_seconds += bad.keeps_seconds;
  }
  Prober prober(brood);
  enqueue(redis, jobs);
  wait_for([&] { return ledger.has_done(static_cast<std::size_t>(good)); }, "good jobs were not done", brood);
  Run run{.answers_ms = prober.finish()};
  const std::vector<Ledger::Run> runs = ledger.runs();
  if (runs.size() != static_cast<std::size_t>(good)) throw std::runtime_error("a good job ran twice");
  std::int64_t first = runs.front().began, last = 0;
  for (const Ledger::Run& one : runs) last = std::max(last, one.ended.value_or(0));
  const double took = static_cast<double>(last - first) / 1e9;
  run.good_per_second = good / took;
  run.kept_share = kept_seconds / (took * workers);
  return run;
}

class Report {
 public:
  explicit Report(bool json) : json_(json) {}
  ~Report() {
    if (json_) std::printf("}\n");
  }
  void add(const char* name, double value, const char* unit) {
    if (json_)
      std::printf("%s\"%s\":%.6g", first_ ? "{" : ",", name, value);
    else
      std::printf("%-40s %12.2f %s\n", name, value, unit);
    first_ = false;
  }

 private:
  bool json_, first_ = true;
};

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, [](const std::vector<std::string>& words) {
    CommandLine line("What crashes cost a supervisor and the good jobs beside them", "bench_crashes");
    int crashes = 100, storm_crashes = 10'000, good = 2'000, rounds = 5;
    bool json = false;
    line.number("--crashes", crashes, "Crashes a round, one at a time", 0, 1'000'000);
    line.number("--storm", storm_crashes, "Crashes at once, on two workers; one run of it", 0, 1'000'000);
    line.number("--good", good, "Good jobs a round, beside one bad job for every twenty", 1, 10'000'000);
    line.number("--rounds", rounds, "Rounds; the figures are medians over them", 1, 1'000);
    line.flag("--json", json, "One JSON object");
    refuse_arguments(line.parse(words));

    std::vector<double> record_p50, record_p99, fetch_p50, fetch_p99;
    std::vector<double> healthy, beside_crashes, beside_all, to_share_crashes, to_share_all, stalls_healthy, stalls;
    std::vector<double> answers;
    for (int round = 0; round < rounds; ++round) {
      const Latencies one_by_one = crash_one_by_one(crashes);
      record_p50.push_back(quantile_or_zero(one_by_one.to_record_ms, 0.5));
      record_p99.push_back(quantile_or_zero(one_by_one.to_record_ms, 0.99));
      fetch_p50.push_back(quantile_or_zero(one_by_one.to_next_fetch_ms, 0.5));
      fetch_p99.push_back(quantile_or_zero(one_by_one.to_next_fetch_ms, 0.99));

      const Run none = perform(good, {}), some = perform(good, crashing), all = perform(good, whole_menagerie);
      healthy.push_back(none.good_per_second);
      beside_crashes.push_back(some.good_per_second);
      beside_all.push_back(all.good_per_second);
      // A crash may cost one worker of them all; whoever hangs keeps his until his time is up.
      to_share_crashes.push_back(some.good_per_second / (none.good_per_second * (workers - 1) / workers));
      to_share_all.push_back(all.good_per_second / (none.good_per_second * (1 - all.kept_share)));
      stalls_healthy.push_back(quantile_or_zero(none.answers_ms, 1));
      stalls.push_back(quantile_or_zero(all.answers_ms, 1));
      answers.insert(answers.end(), all.answers_ms.begin(), all.answers_ms.end());
    }
    const StormFigures figures = storm(storm_crashes);

    Report report(json);
    report.add("crash_to_record_p50_ms", quantile_or_zero(record_p50, 0.5), "ms");
    report.add("crash_to_record_p99_ms", quantile_or_zero(record_p99, 0.5), "ms");
    report.add("crash_to_next_fetch_p50_ms", quantile_or_zero(fetch_p50, 0.5), "ms");
    report.add("crash_to_next_fetch_p99_ms", quantile_or_zero(fetch_p99, 0.5), "ms");
    report.add("storm_crashes_per_second", figures.crashes_per_second, "crashes/s");
    report.add("storm_supervisor_cpu", figures.supervisor_cpu_percent, "% of one core");
    report.add("storm_records_missing", figures.records_missing, "");
    report.add("storm_rss_growth", figures.rss_growth_kb, "kB");
    report.add("storm_descriptors_more", figures.descriptors_more, "");
    report.add("storm_zombies", figures.zombies, "");
    report.add("good_jobs_alone_per_second", quantile_or_zero(healthy, 0.5), "jobs/s");
    report.add("good_jobs_beside_crashes_per_second", quantile_or_zero(beside_crashes, 0.5), "jobs/s");
    report.add("good_beside_crashes_to_healthy_share", quantile_or_zero(to_share_crashes, 0.5), "x");
    report.add("good_jobs_beside_all_per_second", quantile_or_zero(beside_all, 0.5), "jobs/s");
    report.add("good_beside_all_to_healthy_share", quantile_or_zero(to_share_all, 0.5), "x");
    report.add("answer_beside_all_p99_ms", quantile_or_zero(answers, 0.99), "ms");
    report.add("longest_stall_alone_ms", quantile_or_zero(stalls_healthy, 0.5), "ms");
    report.add("longest_stall_beside_all_ms", quantile_or_zero(stalls, 0.5), "ms");
    report.add("longest_stall_of_all_rounds_ms", quantile_or_zero(stalls, 1), "ms");
  });
}
