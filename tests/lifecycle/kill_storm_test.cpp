#include <boost/test/unit_test.hpp>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>

#include "tests/support/brood_process.hpp"
#include "tests/support/census.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/storm.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr int workers = 4;

// BROOD_STORM=5 for the whole of it: 100,000 jobs, 100 killed workers and 20 killed supervisors.
struct Storm {
  int jobs, workers_killed, supervisors_killed;
};
Storm storm() {
  const int times = storm_factor();
  return {20'000 * times, 40 + 15 * (times - 1), 8 + 3 * (times - 1)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(
    kills_of_workers_and_supervisors_lose_no_job_and_repeat_at_most_the_run_that_a_killed_worker_was_in) {
  const Storm storm = ::storm();
  RedisServer redis;
  Dice dice;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = workers, .config = "poll_interval = \"100ms\"\n"});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  const auto began = std::chrono::steady_clock::now();
  enqueue_ledger_jobs(redis, ledger.path(), storm.jobs);

  // Spread over the time that the jobs take; every so often it is the supervisor's turn.
  const int kills = storm.workers_killed + storm.supervisors_killed;
  const int turn_of_supervisor = kills / storm.supervisors_killed;
  std::set<pid_t> killed;
  int supervisors_killed = 0;
  for (int i = 1; i <= kills; ++i) {
    const std::size_t left = static_cast<std::size_t>(storm.jobs - storm.jobs / (kills + 2) * i);
    BOOST_TEST_REQUIRE(eventually([&] { return redis.size_of("queue:default") <= left; }, 120s), brood.log_tail());
    if (i % turn_of_supervisor == 0 && supervisors_killed < storm.supervisors_killed) {
      ++supervisors_killed;
      brood.kill9();
      brood.start();
    } else {
      std::vector<pid_t> running;
      const auto somebody_runs = [&] {
        running = brood.workers();
        std::erase_if(running, [&](pid_t pid) { return killed.contains(pid); });
        return !running.empty();
      };
      BOOST_TEST_REQUIRE(eventually(somebody_runs), brood.log_tail());
      const pid_t victim = running[static_cast<std::size_t>(dice.roll(0, static_cast<int>(running.size()) - 1))];
      if (kill(victim, SIGKILL) == 0) killed.insert(victim);
    }
  }
  // A job whose worker was killed is charged: its retry would wait.
  BOOST_TEST(drained(redis), brood.log_tail());
  const auto took = std::chrono::steady_clock::now() - began;
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());

  BOOST_TEST(static_cast<int>(killed.size()) >= storm.workers_killed);
  BOOST_TEST(supervisors_killed == storm.supervisors_killed);
  BOOST_TEST(redis.size_of("dead") == 0U);
  BOOST_TEST(Census(redis).misplaced(ledger, storm.jobs) == "");
  const Ledger::Verdict verdict = ledger.judge(storm.jobs);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.unexpected.empty());
  BOOST_TEST(verdict.overlapped.empty());
  BOOST_TEST(settled_twice(ledger, killed) == std::vector<std::string>{}, boost::test_tools::per_element());
  // Whoever was cut off was in a worker that was killed.
  const std::vector<Ledger::Run> runs = ledger.runs();
  const auto cut_off =
      std::count_if(runs.begin(), runs.end(), [](const Ledger::Run& run) { return !run.ended.has_value(); });
  for (const Ledger::Run& run : runs)
    BOOST_TEST((run.ended || killed.contains(run.pid)), "job " << run.id << " was cut off in an unharmed worker");
  BOOST_TEST_MESSAGE(storm.jobs << " jobs, " << killed.size() << " workers and " << supervisors_killed
                                << " supervisors killed in "
                                << std::chrono::duration_cast<std::chrono::milliseconds>(took).count()
                                << " ms: " << verdict.lost.size() << " lost, " << cut_off << " cut off, "
                                << verdict.doubled.size() << " done twice");
}
