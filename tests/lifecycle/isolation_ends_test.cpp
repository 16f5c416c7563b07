// How isolated jobs end: by a crash, a kill, a timeout, a stop.
#include "tests/lifecycle/isolated_server.hpp"

#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"

using namespace brood;
using namespace brood::isolation_tests;
using namespace std::chrono_literals;

namespace {

std::string title_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
  std::string title;
  std::getline(file, title, '\0');
  return title;
}

int sockets_of(pid_t pid) {
  int sockets = 0;
  for (const auto& file : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    std::error_code closed;
    sockets += std::filesystem::read_symlink(file, closed).string().starts_with("socket:") ? 1 : 0;
  }
  return sockets;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_crash_in_an_isolated_job_is_charged_once_with_its_stack) {
  Server server;
  server.push("Crash");
  const std::string retried = server.entry_of("retry");
  BOOST_TEST(holds(retried, R"("error_class":"SIGSEGV")"), retried);
  BOOST_TEST(holds(retried, R"("crash_count":1)"), retried);
  BOOST_TEST(eventually([&] { return holds(server.brood.log(), "Crash::perform() at "); }), server.brood.log_tail());
  BOOST_TEST(holds(retried, "\"pid\":" + word_of(server.lines()[0], 1)), retried);
  BOOST_TEST(server.lines().size() == 1u);
  server.push("Count", 2);
  BOOST_REQUIRE_MESSAGE(server.has_lines(2), server.brood.log_tail());
  BOOST_TEST(server.is_settled());
  BOOST_TEST(times_logged(server.brood, "worker_crashed") == 1u, server.brood.log_tail());
  const std::string status = server.run({"status", "--json"}).output;
  const std::size_t at = status.find(R"("name":"Crash")");
  BOOST_TEST_REQUIRE(at != std::string::npos, status);
  BOOST_TEST(holds(status.substr(at, 60), R"("runs":1,"failed":0,"crashed":1)"), status);
}

BOOST_AUTO_TEST_CASE(a_crash_in_a_hook_is_charged_as_one_of_the_job) {
  Server server;
  server.push("CrashInHook", 1, "[]");
  const std::string retried = server.entry_of("retry");
  BOOST_TEST(holds(retried, R"("error_class":"SIGSEGV")"), retried);
  BOOST_TEST(holds(retried, R"("crash_count":1)"), retried);
  BOOST_TEST(server.is_settled());
}

BOOST_AUTO_TEST_CASE(exit_in_an_isolated_job_is_an_unexpected_exit) {
  for (const int status : {3, 0}) {
    Server server;
    server.push("Leave", 1, "[" + std::to_string(status) + "]");
    const std::string retried = server.entry_of("retry");
    BOOST_TEST(holds(retried, R"("error_class":"UnexpectedExit")"), retried);
    BOOST_TEST(holds(retried, "exit status " + std::to_string(status)), retried);
    BOOST_TEST(holds(retried, R"("crash_count":1)"), retried);
    BOOST_TEST(server.is_settled());
  }
}

BOOST_AUTO_TEST_CASE(a_job_whose_process_is_killed_is_charged_and_runs_again) {
  Server server;
  server.push("Linger", 1, server.with_path("\"" + server.path + ".go\""));
  kill(server.begun(), SIGKILL);
  const std::string retried = server.entry_of("retry");
  BOOST_TEST(holds(retried, R"("error_class":"SIGKILL")"), retried);
  BOOST_TEST(holds(retried, R"("crash_count":1)"), retried);
  BOOST_TEST(server.lines().size() == 1u);
}

// Whichever process is killed, the job has ended before it is retried.
BOOST_AUTO_TEST_CASE(a_job_has_ended_when_its_worker_or_its_forker_is_killed_and_it_is_charged) {
  for (const bool forker : {true, false}) {
    Server server;
    server.push("Burn");
    const pid_t job = server.begun();
    BOOST_TEST(title_of(job).starts_with("brood: job 0 default Burn since "), title_of(job));
    BOOST_TEST(title_of(server.forker()) == "brood: forker 0 default");
    BOOST_TEST(eventually([&] { return sockets_of(server.forker()) == 1; }));  // to its worker
    BOOST_TEST(sockets_of(job) == 1);
    kill(forker ? server.forker() : server.worker(), SIGKILL);
    bool was_recovered = false, ran_on = false;
    BOOST_TEST(eventually(
        [&] {
          was_recovered = server.redis.size_of("retry") == 1;
          ran_on |= was_recovered && process_exists(job);
          return was_recovered;
        },
        20s));
    BOOST_TEST(!ran_on);
    const std::string retried = server.entry_of("retry");
    BOOST_TEST(holds(retried, R"("error_class":"SIGKILL")"), retried);
    BOOST_TEST(eventually([&] { return server.brood.workers().size() == 1; }));
    server.push("Count", 2);
    BOOST_TEST(server.has_lines(2), server.brood.log_tail());
  }
}

BOOST_AUTO_TEST_CASE(a_worker_that_has_lost_its_forker_between_jobs_is_replaced_and_charges_no_job) {
  Server server;
  server.push("Count", 1);
  BOOST_REQUIRE(server.has_lines(1) && server.is_settled());
  const pid_t forker = server.forker();
  kill(forker, SIGKILL);
  BOOST_TEST(eventually([&] { return !process_exists(forker); }));
  server.push("Count", 2);
  BOOST_REQUIRE_MESSAGE(server.has_lines(2), server.brood.log_tail());
  BOOST_TEST(server.is_settled());
  BOOST_TEST(holds(server.brood.log(), "reason=forker"), server.brood.log_tail());
  BOOST_TEST(server.redis.size_of("retry") == 0u);
  BOOST_TEST(!holds(server.brood.log(), "worker_crashed"), server.brood.log_tail());
}

// The worker finishes the job, like any worker whose supervisor is killed.
BOOST_AUTO_TEST_CASE(an_isolated_job_outlives_its_supervisor_and_runs_once) {
  Server server;
  server.push("Linger", 1, server.with_path("\"" + server.path + ".go\""));
  const pid_t job = server.begun();
  server.brood.kill9();
  // TERM comes when the supervisor dies, and goes to the job.
  BOOST_TEST(server.has_lines(2));
  BOOST_TEST(server.lines()[1] == "stopping");
  BOOST_TEST(eventually([&] { return !process_exists(job); }));
  server.brood.start();
  BOOST_REQUIRE(server.brood.wait_ready());
  BOOST_TEST(server.is_settled());
  BOOST_TEST(server.lines().size() == 2u);
  BOOST_TEST(server.redis.size_of("retry") == 0u);
}

BOOST_AUTO_TEST_CASE(an_isolated_job_that_runs_on_after_its_timeout_is_ended_with_its_stack) {
  Server server("[worker]\ntimeout_grace = \"5s\"\n");
  server.push("Burn", 1, "", R"("timeout":0.5)");
  const pid_t job = server.begun();
  const std::string retried = server.entry_of("retry");
  BOOST_TEST(!process_exists(job));
  BOOST_TEST(holds(retried, R"("error_class":"JobTimeout")"), retried);
  BOOST_TEST(eventually([&] { return holds(server.brood.log(), "Burn::perform() at "); }), server.brood.log_tail());
  BOOST_TEST(!holds(retried, "crash_count"), retried);
  BOOST_TEST(server.is_settled());
}

BOOST_AUTO_TEST_CASE(brood_kill_ends_an_isolated_job) {
  Server server;
  server.push("Burn");
  const pid_t job = server.begun();
  const CommandResult killed = server.run({"kill", jid_of(1)});
  BOOST_TEST(killed.status == 0, killed.errors << server.brood.log_tail());
  const std::string retried = server.entry_of("retry");
  BOOST_TEST(!process_exists(job));
  BOOST_TEST(holds(retried, "error_backtrace"), retried);
  BOOST_TEST(!holds(retried, "crash_count"), retried);
}

BOOST_AUTO_TEST_CASE(a_dump_shows_the_stack_of_the_isolated_job) {
  Server server;
  server.push("Burn");
  const pid_t job = server.begun();
  for (int round = 0; round < 3; ++round) {
    CommandResult dump;
    BOOST_TEST(eventually([&] { return holds((dump = server.run({"dump"})).output, "Burn::perform()"); }),
               dump.output << dump.errors);
  }
  const std::string status = server.run({"status", "--json"}).output;
  BOOST_TEST(holds(status, "\"pid\":" + std::to_string(job) + "}"), status);
  BOOST_TEST(process_exists(job));
}

BOOST_AUTO_TEST_CASE(what_an_isolated_job_leaves_behind_has_ended_before_the_job_is_settled) {
  Server server;
  server.push("LeaveBehind");
  BOOST_REQUIRE_MESSAGE(server.has_lines(1), server.brood.log_tail());
  const auto left = static_cast<pid_t>(std::stol(word_of(server.lines()[0], 1)));
  BOOST_TEST(server.is_settled());
  BOOST_TEST(!process_exists(left));
  BOOST_TEST(server.redis.size_of("retry") == 0u);
  BOOST_TEST(eventually([&] { return holds(server.brood.log(), "event=job_left_processes"); }),
             server.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_job_that_writes_into_its_channel_has_failed_and_its_worker_goes_on) {
  Server server;
  server.push("Scribble", 1, "[]");
  const std::string retried = server.entry_of("retry");
  BOOST_TEST(holds(retried, R"("error_class":"JobProcessError")"), retried);
  BOOST_TEST(!holds(retried, "crash_count"), retried);
  const pid_t worker = server.worker();
  server.push("Count", 2);
  BOOST_REQUIRE_MESSAGE(server.has_lines(1), server.brood.log_tail());
  BOOST_TEST(server.is_settled());
  BOOST_TEST(server.worker() == worker);
}

BOOST_AUTO_TEST_CASE(a_stop_lets_an_isolated_job_wind_up_and_a_quiet_lets_it_go_on) {
  Server server;
  server.push("Linger", 1, server.with_path("\"" + server.path + ".go\""));
  server.begun();
  server.brood.quiet();
  BOOST_TEST(eventually([&] { return holds(server.brood.log(), "to=quiet"); }));
  BOOST_TEST(server.lines().size() == 1u);
  server.brood.term();
  BOOST_TEST(server.brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(server.lines().back() == "stopping");
  BOOST_TEST(server.is_settled());
  BOOST_TEST(server.redis.size_of("retry") == 0u);
  BOOST_TEST(!holds(server.brood.log(), "strays_killed"), server.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(what_a_worker_had_for_its_isolated_jobs_is_no_stray_when_it_is_killed) {
  Server server("", 6);
  // Waits until all have loaded their libraries: before that, what a worker starts is not known to die with it.
  BOOST_REQUIRE(eventually([&] { return holds(server.brood.log(), "event=ready"); }, 30s));
  const std::vector<pid_t> workers = server.brood.workers();
  for (const pid_t worker : workers) kill(worker, SIGKILL);
  const auto are_gone = [&] { return std::none_of(workers.begin(), workers.end(), process_exists); };
  BOOST_REQUIRE(eventually([&] { return are_gone() && server.brood.workers().size() == workers.size(); }, 30s));
  server.brood.term();
  BOOST_TEST(server.brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(!holds(server.brood.log(), "strays_killed"), server.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(an_isolated_job_that_wants_more_than_the_memory_limit_fails_and_its_worker_goes_on) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  BOOST_TEST_MESSAGE("skipped: RLIMIT_DATA cannot be used beside a sanitizer");
  return;
#endif
  Server server("[worker]\nmemory_limit = \"128M\"\n");
  server.push("UseMemory", 1, "[1000]");
  const std::string retried = server.entry_of("retry");
  BOOST_TEST(holds(retried, R"("error_class":"OutOfMemory")"), retried);
  const pid_t worker = server.worker();
  server.push("Count", 2);
  BOOST_TEST(server.has_lines(1), server.brood.log_tail());
  BOOST_TEST(server.worker() == worker);
}
