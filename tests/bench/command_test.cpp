#include <signal.h>
#include <simdjson.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "shared/base/check.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;

namespace {

// Directories of benchmarks: those of others that run beside this test, too.
std::set<std::string> bench_directories() {
  std::set<std::string> found;
  for (const char* parent : {"/tmp", "/dev/shm"}) {
    std::error_code absent;
    for (const auto& entry : std::filesystem::directory_iterator(parent, absent)) {
      if (entry.path().filename().string().starts_with("brood-bench-")) found.insert(entry.path());
    }
  }
  return found;
}

std::vector<std::string> member_names(const simdjson::dom::element& object) {
  std::vector<std::string> names;
  for (const auto& member : object.get_object()) names.emplace_back(member.key);
  return names;
}

}  // namespace

BOOST_AUTO_TEST_CASE(json_says_all_that_was_measured) {
  const CommandResult result =
      run_brood({"bench", "--json", "--jobs", "500", "--latency-jobs", "5", "--idle", "0.2", "--workers", "3"});
  BOOST_REQUIRE_MESSAGE(result.status == 0, result.errors);
  BOOST_TEST(result.errors == "");
  simdjson::dom::parser parser;
  const simdjson::dom::element report = parser.parse(result.output);
  const std::vector<std::string> expected = {"version", "workers",    "queues",  "job_ms", "redis",  "redis_version",
                                             "start_s", "throughput", "latency", "idle",   "memory", "stop_s"};
  BOOST_TEST(member_names(report) == expected, boost::test_tools::per_element());
  BOOST_TEST(int64_t(report["workers"]) == 3);
  BOOST_TEST(int64_t(report["throughput"]["jobs"]) == 500);
  BOOST_TEST(double(report["throughput"]["jobs_per_second"]) > 100);
  BOOST_TEST(report["throughput"]["share_of_ideal"].is_null());
  BOOST_TEST(double(report["throughput"]["cpu_s"]["workers"]) > 0);
  BOOST_TEST(double(report["throughput"]["redis_commands_per_job"]) > 0.1);
  BOOST_TEST(int64_t(report["latency"]["jobs"]) == 5);
  BOOST_TEST(double(report["latency"]["p50_us"]) > 1);
  BOOST_TEST(double(report["latency"]["p50_us"]) <= double(report["latency"]["max_us"]));
  BOOST_TEST(double(report["idle"]["seconds"]) >= 0.2);
  BOOST_TEST(int64_t(report["memory"]["worker_median_kb"]) > 50);
  BOOST_TEST(int64_t(report["memory"]["supervisor_kb"]) > 100);
}

BOOST_AUTO_TEST_CASE(jobs_that_sleep_are_held_against_the_ideal) {
  const CommandResult result = run_brood(
      {"bench", "--json", "--jobs", "40", "--job-ms", "10", "--latency-jobs", "0", "--workers", "4", "--queues", "2"});
  BOOST_REQUIRE_MESSAGE(result.status == 0, result.errors);
  simdjson::dom::parser parser;
  const simdjson::dom::element report = parser.parse(result.output);
  const double share = report["throughput"]["share_of_ideal"];
  BOOST_TEST(share > 0.05);
  BOOST_TEST(share <= 1.0);
  BOOST_TEST(double(report["throughput"]["seconds"]) >= 0.1);
  BOOST_TEST(report["latency"].is_null());
  BOOST_TEST(report["idle"].is_null());
}

BOOST_AUTO_TEST_CASE(people_read_figures_with_units) {
  const CommandResult result = run_brood({"bench", "--jobs", "300", "--latency-jobs", "3"});
  BOOST_REQUIRE_MESSAGE(result.status == 0, result.errors);
  for (const char* const part : {"2 workers", "jobs/s", "CPU a job", "p99.9", "MiB"}) {
    BOOST_TEST(result.output.find(part) != std::string::npos, "no " << part << " in:\n" << result.output);
  }
}

BOOST_AUTO_TEST_CASE(a_redis_of_somebody_else_is_left_as_it_was_but_for_its_statistics) {
  RedisServer redis;
  redis.command({"LPUSH", "queue:default", "not a job of the benchmark"});

  const CommandResult result =
      run_brood({"bench", "--jobs", "300", "--latency-jobs", "3", "--queues", "3", "--redis", redis.url()});

  BOOST_REQUIRE_MESSAGE(result.status == 0, result.errors);
  BOOST_TEST(result.errors.find("this loads unix:") != std::string::npos);
  BOOST_TEST(redis.size_of("queue:default") == 1U);
  for (const std::string& key : redis.keys("*")) {
    if (redis.integer({"TTL", key}) > 0) continue;  // of a worker that waited in Redis, in case it still did
    BOOST_TEST(key.find("brood-bench-") == std::string::npos, key);
    BOOST_TEST(!key.starts_with("brood:inflight:"), key);
  }
  BOOST_TEST(redis.size_of("processes") == 0U);
}

BOOST_AUTO_TEST_CASE(an_interrupt_ends_it_and_leaves_nothing_behind) {
  const std::set<std::string> before = bench_directories();
  const pid_t bench = check("fork", fork());
  if (bench == 0) {
    close(STDOUT_FILENO);
    execl(BROOD_BINARY_DIR "/bin/brood", "brood", "bench", "--jobs", "0", "--latency-jobs", "0", "--idle", "60",
          nullptr);
    _exit(127);
  }
  std::vector<pid_t> children;
  BOOST_REQUIRE(eventually([&] { return (children = children_of(bench)).size() == 2; }));  // a server and a Redis
  BOOST_REQUIRE(eventually([&] {
    std::size_t grandchildren = 0;
    for (const pid_t child : children) grandchildren += children_of(child).size();
    return grandchildren == 2;
  }));

  kill(bench, SIGINT);

  int status = 0;
  check("waitpid", waitpid(bench, &status, 0));
  BOOST_TEST(WIFSIGNALED(status));
  BOOST_TEST(WTERMSIG(status) == SIGINT);
  for (const pid_t child : children) BOOST_TEST(!process_exists(child));
  BOOST_TEST(eventually([&] {
    const std::set<std::string> after = bench_directories();
    return std::includes(before.begin(), before.end(), after.begin(), after.end());
  }));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_measured_is_refused) {
  BOOST_TEST(run_brood({"bench", "--workers", "0"}).status == 64);
  BOOST_TEST(run_brood({"bench", "--jobs", "many"}).status == 64);
  BOOST_TEST(run_brood({"bench", "--append-only", "--redis", "redis://localhost"}).status == 64);
  BOOST_TEST(run_brood({"bench", "--appendfsync", "always", "--redis", "redis://localhost"}).status == 64);
  BOOST_TEST(run_brood({"bench", "--appendfsync", "daily"}).status == 64);
  BOOST_TEST(run_brood({"bench", "--redis", "unix:///nowhere/redis.sock"}).status == 69);
}
