#define BOOST_TEST_MODULE shield
#include <boost/test/unit_test.hpp>

#include <seccomp.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string jobs = BROOD_BINARY_DIR "/tests/job_libraries/liblimited_jobs.so";

BroodOptions one_worker(const std::string& config = "") {
  return {.workers = 1, .libraries = {jobs}, .shutdown_timeout = "5", .config = config};
}

std::string content(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// What the job of this class writes.
std::string said_by(const std::string& job_class, const BroodOptions& options, std::string* log = nullptr) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, options);
  const pid_t supervisor = brood.pid();
  enqueue(redis, {payload_text(job_class, "[\"" + (directory / "said") + "\"]")});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return !content(directory / "said").empty(); }, 20s), brood.log_tail());
  BOOST_TEST(!brood.wait_exit(50ms).has_value());
  BOOST_TEST(brood.pid() == supervisor);
  BOOST_TEST(content("/proc/" + std::to_string(supervisor) + "/stat").find(") T ") == std::string::npos);
  brood.term();
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 0, brood.log_tail());
  if (log != nullptr) *log = brood.log();
  return content(directory / "said");
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_cannot_signal_trace_or_write_to_its_supervisor) {
  std::istringstream said(said_by("AttackSupervisor", one_worker()));
  int attacks = 0;
  for (std::string attack, outcome; said >> attack >> outcome; ++attacks)
    BOOST_TEST(outcome == "EPERM", attack << " ended with " << outcome);
  BOOST_TEST(attacks == 19);
}

BOOST_AUTO_TEST_CASE(a_job_ends_its_own_children) { BOOST_TEST(said_by("EndOwnChildren", one_worker()) == "9\n9\n"); }

BOOST_AUTO_TEST_CASE(a_job_of_an_ordinary_user_cannot_look_into_its_supervisor) {
  if (geteuid() == 0) {
    BOOST_TEST_MESSAGE("skipped: root may look into everything; lifecycle_shield_as_nobody asks");
    return;
  }
  BOOST_TEST(said_by("LookIntoSupervisor", one_worker()) == "mem EACCES\nenviron EACCES\n");
}

// Nothing of ours needs what a process that cannot be dumped is refused: the log's own descriptor of standard error,
// and a child's choice to go before its supervisor.
BOOST_AUTO_TEST_CASE(workers_are_the_first_to_go_when_memory_runs_out) {
  RedisServer redis;
  BroodProcess brood(redis, one_worker());
  BOOST_REQUIRE(brood.wait_ready());
  const auto adjustment = [](pid_t pid) {
    return std::stoi(content("/proc/" + std::to_string(pid) + "/oom_score_adj"));
  };
  const pid_t worker = brood.workers().front();
  BOOST_TEST(eventually([&] { return adjustment(worker) >= std::min(adjustment(brood.pid()) + 300, 1000); }));
  BOOST_TEST(eventually([&] { return brood.log().find("event=ready") != std::string::npos; }), brood.log_tail());
  // A worker can be dumped: its files in /proc are its user's.
  BOOST_TEST(std::filesystem::exists("/proc/" + std::to_string(worker) + "/exe"));
}

BOOST_AUTO_TEST_CASE(the_heartbeat_knows_the_memory_of_supervisor_and_workers) {
  RedisServer redis;
  BroodProcess brood(redis, one_worker());
  const auto rss = [&] {
    const std::vector<std::string> processes = redis.smembers("processes");
    return processes.empty() ? "0" : redis.hget(processes.front(), "rss").value_or("0");
  };
  BOOST_TEST(eventually([&] { return std::stol(rss()) > 1000; }, 20s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(seccomp_can_be_switched_off) {
  std::string log;
  const std::string said = said_by("EndOwnChildren", one_worker("[worker]\nseccomp = false\n"), &log);
  BOOST_TEST(said == "9\n9\n");
  BOOST_TEST(log.find("supervisor_not_shielded") == std::string::npos);
}

// The last: what this process refuses itself, it refuses to all that it starts.
BOOST_AUTO_TEST_CASE(where_the_kernel_refuses_filters_brood_warns_once_and_goes_on) {
  const std::unique_ptr<void, decltype(&seccomp_release)> filter(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  BOOST_TEST_REQUIRE(seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), SCMP_SYS(seccomp), 0) == 0);
  BOOST_TEST_REQUIRE(seccomp_load(filter.get()) == 0);
  BroodOptions options = one_worker();
  options.workers = 3;
  std::string log;

  const std::string said = said_by("EndOwnChildren", options, &log);

  BOOST_TEST(said == "9\n9\n");
  const std::size_t warning = log.find("event=supervisor_not_shielded");
  BOOST_TEST(warning != std::string::npos, log);
  BOOST_TEST(log.find("event=supervisor_not_shielded", warning + 1) == std::string::npos, log);
}
