#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "tests/support/brood_process.hpp"
#include "tests/support/census.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/fleet_view.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/storm.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr int workers = 4;

// BROOD_STORM=5 for a hundred.
int restarts() { return 20 * storm_factor(); }

}  // namespace

BOOST_AUTO_TEST_CASE(rolling_restarts_under_load_lose_no_job_and_repeat_none_and_workers_fetch_all_the_while) {
  RedisServer redis;
  Load load{redis};
  BroodProcess brood(redis, {.workers = workers, .config = "poll_interval = \"100ms\"\n"});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return fetching_workers(brood) == workers; }, 30s), brood.log_tail());
  const pid_t pid = brood.pid();
  const auto began = std::chrono::steady_clock::now();

  int fewest = workers;
  for (std::size_t restart = 1; restart <= static_cast<std::size_t>(restarts()); ++restart) {
    brood.signal(restart % 2 == 0 ? SIGHUP : SIGUSR1);
    const auto ended = [&] {
      load.keep_up();
      // This reads slot by slot, so two swaps meanwhile look as if one fetching worker were missing.  That does not
      // happen twice in a row.
      fewest = std::min(fewest, std::max(fetching_workers(brood), fetching_workers(brood)));
      return times_logged(brood, "restart_ended") >= restart;
    };
    BOOST_TEST_REQUIRE(eventually(ended, 60s), brood.log_tail());
  }
  const auto took = std::chrono::steady_clock::now() - began;
  BOOST_TEST(drained(redis), brood.log_tail());
  BOOST_TEST(process_exists(pid));
  BOOST_TEST(fetching_workers(brood) == workers);
  BOOST_TEST(eventually([&] { return brood.workers().size() == workers; }, 20s));
  BOOST_TEST(stop_when_up(brood) == 0, brood.log_tail());

  BOOST_TEST(fewest >= workers - 1);
  BOOST_TEST(redis.size_of("retry") == 0U);
  BOOST_TEST(redis.size_of("dead") == 0U);
  BOOST_TEST(Census(redis).misplaced(load.ledger, load.jobs) == "");
  const Ledger::Verdict verdict = load.ledger.judge(load.jobs);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.unexpected.empty());
  BOOST_TEST(verdict.doubled.empty());
  BOOST_TEST(verdict.overlapped.empty());
  BOOST_TEST(times_logged(brood, "worker_crashed") == 0U);
  BOOST_TEST(times_logged(brood, "job_failed") == 0U);
  BOOST_TEST_MESSAGE(restarts() << " restarts, " << load.jobs << " jobs in "
                                << std::chrono::duration_cast<std::chrono::milliseconds>(took).count()
                                << " ms, at least " << fewest << " of " << workers << " workers fetching");
}

// Kills workers and supervisors at any time, even in the middle of a roll.  If several runs of a job have ended, all
// but one are the last run of a worker that was killed before it had noted that end.
BOOST_AUTO_TEST_CASE(kills_during_rolling_restarts_lose_no_job_and_repeat_at_most_the_run_that_a_killed_worker_was_in) {
  RedisServer redis;
  Dice dice;
  Load load{redis};
  BroodProcess brood(redis, {.workers = workers, .config = "poll_interval = \"100ms\"\n"});
  KilledWorkers killed;
  for (int round = 0; round < restarts(); ++round) {
    BOOST_TEST_REQUIRE(eventually([&] { return fetching_workers(brood) > 0; }, 30s), brood.log_tail());
    load.keep_up();
    brood.signal(SIGHUP);
    std::this_thread::sleep_for(std::chrono::milliseconds(dice.roll(0, 40)));  // chance decides where in the roll
    for (const pid_t worker : brood.workers()) {
      if (dice.roll(0, 3) == 0 && kill(worker, SIGKILL) == 0) killed.emplace(worker, 0);
    }
    if (round % 4 == 3) {
      brood.kill9();
      brood.start();
    }
  }
  BOOST_TEST(drained(redis), brood.log_tail());
  BOOST_TEST(stop_when_up(brood) == 0, brood.log_tail());

  BOOST_TEST(redis.size_of("dead") == 0U);
  BOOST_TEST(Census(redis).misplaced(load.ledger, load.jobs) == "");
  const Ledger::Verdict verdict = load.ledger.judge(load.jobs);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.unexpected.empty());
  BOOST_TEST(verdict.overlapped.empty());
  BOOST_TEST(settled_twice(load.ledger, killed) == std::vector<std::string>{}, boost::test_tools::per_element());
  BOOST_TEST_MESSAGE(restarts() << " restarts, " << load.jobs << " jobs, " << killed.size()
                                << " workers killed: " << verdict.doubled.size() << " done twice");
}
