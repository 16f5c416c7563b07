#define BOOST_TEST_MODULE roll_storm
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "tests/support/brood_process.hpp"
#include "tests/support/census.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/fleet_view.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr int workers = 4;
constexpr int jobs_at_a_time = 2'000;

// BROOD_STORM=5 for a hundred.
int restarts() {
  const char* wanted = std::getenv("BROOD_STORM");
  return 20 * (wanted == nullptr ? 1 : std::max(std::atoi(wanted), 1));
}

}  // namespace

BOOST_AUTO_TEST_CASE(rolling_restarts_under_load_lose_no_job_and_repeat_none_and_workers_fetch_all_the_while) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = workers, .config = "poll_interval = \"100ms\"\n"});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return fetching_workers(brood) == workers; }, 30s), brood.log_tail());
  const pid_t pid = brood.pid();
  const auto began = std::chrono::steady_clock::now();

  int jobs = 0, fewest = workers;
  for (std::size_t restart = 1; restart <= static_cast<std::size_t>(restarts()); ++restart) {
    brood.signal(restart % 2 == 0 ? SIGHUP : SIGUSR1);
    const auto ended = [&] {
      if (redis.size_of("queue:default") < static_cast<std::size_t>(jobs_at_a_time) / 2) {
        std::vector<std::string> payloads;
        for (int i = 0; i < jobs_at_a_time; ++i, ++jobs)
          payloads.push_back(
              payload_text("Ledger", "[\"" + ledger.path() + "\",\"" + std::to_string(jobs) + "\",1]", jobs + 1));
        enqueue(redis, payloads);
      }
      fewest = std::min(fewest, fetching_workers(brood));
      return times_logged(brood, "restart_ended") >= restart;
    };
    BOOST_TEST_REQUIRE(eventually(ended, 60s), brood.log_tail());
  }
  const auto took = std::chrono::steady_clock::now() - began;
  BOOST_TEST(eventually([&] { return redis.size_of("queue:default") == 0 && jobs_in_flight(redis) == 0; }, 120s),
             brood.log_tail());
  BOOST_TEST(process_exists(pid));
  BOOST_TEST(fetching_workers(brood) == workers);
  BOOST_TEST(eventually([&] { return brood.workers().size() == workers; }, 20s));
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());

  BOOST_TEST(fewest >= workers - 1);
  BOOST_TEST(redis.size_of("retry") == 0U);
  BOOST_TEST(redis.size_of("dead") == 0U);
  BOOST_TEST(Census(redis).misplaced(ledger, jobs) == "");
  const Ledger::Verdict verdict = ledger.judge(jobs);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.unexpected.empty());
  BOOST_TEST(verdict.doubled.empty());
  BOOST_TEST(verdict.overlapped.empty());
  BOOST_TEST(times_logged(brood, "worker_crashed") == 0U);
  BOOST_TEST_MESSAGE(restarts() << " restarts, " << jobs << " jobs in "
                                << std::chrono::duration_cast<std::chrono::milliseconds>(took).count()
                                << " ms, at least " << fewest << " of " << workers << " workers fetching");
}
