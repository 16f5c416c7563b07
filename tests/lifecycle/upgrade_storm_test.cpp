#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>

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
std::size_t upgrades() { return static_cast<std::size_t>(20 * storm_factor()); }

}  // namespace

BOOST_AUTO_TEST_CASE(upgrades_under_load_lose_no_job_and_repeat_none_and_workers_fetch_all_the_while) {
  RedisServer redis;
  Load load{redis};
  BroodProcess brood(redis, {.workers = workers, .config = "poll_interval = \"100ms\"\n"});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return fetching_workers(brood) == workers; }, 30s), brood.log_tail());
  const pid_t pid = brood.pid();

  int fewest = workers;
  for (std::size_t upgrade = 1; upgrade <= upgrades(); ++upgrade) {
    brood.signal(SIGUSR2);
    const auto ended = [&] {
      load.keep_up();
      // This reads slot by slot, so two swaps meanwhile look as if one fetching worker were missing.  That does not
      // happen twice in a row.
      fewest = std::min(fewest, std::max(fetching_workers(brood), fetching_workers(brood)));
      return times_logged(brood, "restart_ended") >= upgrade;
    };
    BOOST_TEST_REQUIRE(eventually(ended, 60s), brood.log_tail());
  }
  BOOST_TEST(drained(redis), brood.log_tail());
  BOOST_TEST(process_exists(pid));
  BOOST_TEST(times_logged(brood, "supervisor_took_over") == upgrades());
  BOOST_TEST(stop_when_up(brood) == 0, brood.log_tail());

  BOOST_TEST(fewest >= workers - 1);
  BOOST_TEST(redis.size_of("dead") == 0U);
  BOOST_TEST(Census(redis).misplaced(load.ledger, load.jobs) == "");
  const Ledger::Verdict verdict = load.ledger.judge(load.jobs);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.unexpected.empty());
  BOOST_TEST(verdict.doubled.empty());
  BOOST_TEST(redis.get("stat:processed").value_or("0") == std::to_string(load.jobs));
  BOOST_TEST_MESSAGE(upgrades() << " upgrades, " << load.jobs << " jobs, at least " << fewest << " of " << workers
                                << " workers fetching");
}

BOOST_AUTO_TEST_CASE(kills_during_upgrades_lose_no_job_either) {
  RedisServer redis({.append_only = true});
  Load load{redis};
  BroodProcess brood(redis, {.workers = workers, .config = "poll_interval = \"100ms\"\n"});
  Dice dice;
  for (std::size_t upgrade = 1; upgrade <= upgrades(); ++upgrade) {
    BOOST_TEST_REQUIRE(eventually([&] { return fetching_workers(brood) > 0; }, 60s), brood.log_tail());
    load.keep_up();
    brood.signal(dice.roll(0, 1) == 0 ? SIGUSR2 : SIGHUP);
    // At a random moment of the upgrade.
    const int moment = dice.roll(0, 3);
    const auto seen = [&](const char* event) {
      const std::size_t before = times_logged(brood, event);
      within(300ms, [&] { return times_logged(brood, event) > before; });
    };
    if (moment == 1) seen("upgrade_takes_over");
    if (moment == 2) seen("supervisor_took_over");
    if (moment == 3) seen("restart_begins");
    switch (dice.roll(0, 3)) {
      case 0:
        brood.kill9();
        brood.start();
        break;
      case 1:
        redis.kill9();
        redis.restart();
        break;
      default:
        if (const std::vector<pid_t> running = brood.workers(); !running.empty())
          kill(running[static_cast<std::size_t>(dice.roll(0, static_cast<int>(running.size()) - 1))], SIGKILL);
    }
  }
  BOOST_TEST(drained(redis), brood.log_tail());
  BOOST_TEST(stop_when_up(brood) == 0, brood.log_tail());

  BOOST_TEST(Census(redis).misplaced(load.ledger, load.jobs) == "");
  const Ledger::Verdict verdict = load.ledger.judge(load.jobs);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.unexpected.empty());
  BOOST_TEST_MESSAGE(load.jobs << " jobs, " << verdict.doubled.size() << " done twice, seed " << dice.seed());
}
