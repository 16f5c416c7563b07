#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

std::chrono::milliseconds elapsed_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
}

// Fetched does not mean begun: a stop returns jobs that have not begun at once.
bool has_begun(const BroodProcess& brood, std::size_t jobs) {
  return eventually(
      [&] {
        const std::string log = brood.log(), event = "event=job_started";
        std::size_t begun = 0;
        for (std::size_t at = log.find(event); at != log.npos; at = log.find(event, at + 1)) ++begun;
        return begun >= jobs;
      },
      20s);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_term_lets_the_running_job_end_and_exits_0) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = 1});
  enqueue_ledger_jobs(redis, ledger.path(), 2, 5'000);
  BOOST_REQUIRE(eventually([&] { return ledger.begun().size() == 1; }, 20s));

  brood.term();

  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST((ledger.done() == std::map<std::string, int>{{"0", 1}}));
  BOOST_TEST(redis.size_of("queue:default") == 1U);
  BOOST_TEST(jobs_in_flight(redis) == 0U);
}

BOOST_AUTO_TEST_CASE(a_hard_stop_returns_the_job_to_the_head_uncharged_and_exits_0_within_the_timeout) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 2, .shutdown_timeout = "1"});
  const std::vector<std::string> slow = {payload_text("Sleep", "[60000]", 1), payload_text("Sleep", "[60001]", 2)};
  enqueue(redis, slow);
  BOOST_REQUIRE(has_begun(brood, 2));
  enqueue(redis, {payload_text("Sleep", "[60002]", 3)});
  const auto start = std::chrono::steady_clock::now();

  brood.term();

  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(elapsed_since(start).count() < 20000);  // the jobs take a minute
  const std::vector<std::string> left = redis.lrange("queue:default");
  BOOST_REQUIRE(left.size() == 3U);
  // The tail is fetched next.  The two interrupted jobs come before the one that was never fetched, byte for byte.
  BOOST_TEST((left[1] == slow[0] || left[1] == slow[1]));
  BOOST_TEST((left[2] == slow[0] || left[2] == slow[1]));
  BOOST_TEST(left[1] != left[2]);
  BOOST_TEST(redis.size_of("retry") == 0U);
  BOOST_TEST(jobs_in_flight(redis) == 0U);
}

BOOST_AUTO_TEST_CASE(a_second_term_kills_at_once_and_still_returns_the_job) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1, .shutdown_timeout = "60"});
  enqueue(redis, {payload_text("Sleep", "[60000]")});
  BOOST_REQUIRE(has_begun(brood, 1));

  brood.term();
  BOOST_TEST(!brood.wait_exit(300ms).has_value());
  brood.term();

  BOOST_TEST(brood.wait_exit(10s).value_or(-1) == 0);
  BOOST_TEST(redis.size_of("queue:default") == 1U);
  BOOST_TEST(redis.size_of("retry") == 0U);
}

BOOST_AUTO_TEST_CASE(a_quiet_supervisor_fetches_no_more_and_then_stops) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = 2});
  enqueue_ledger_jobs(redis, ledger.path(), 2, 400);
  BOOST_REQUIRE(eventually([&] { return ledger.begun().size() == 2; }, 20s));

  brood.quiet();

  BOOST_REQUIRE(eventually([&] { return ledger.has_done(2); }));
  // A worker that still waited for a job when the signal came gives back what arrives.
  BOOST_REQUIRE(eventually([&] { return brood.log().find("quiet") != std::string::npos; }));
  enqueue(redis, {payload_text("Ledger", "[\"" + ledger.path() + "\",\"late\",0]", 9)});
  BOOST_TEST(!within(1s, [&] { return ledger.begun().contains("late"); }));
  BOOST_TEST(eventually([&] { return redis.size_of("queue:default") == 1; }));

  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(redis.size_of("queue:default") == 1U);
}

BOOST_AUTO_TEST_CASE(a_stop_with_a_stopped_redis_exits_and_the_next_start_recovers) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = 2, .shutdown_timeout = "1"});
  enqueue_ledger_jobs(redis, ledger.path(), 4, 2000);
  BOOST_REQUIRE(eventually([&] { return ledger.begun().size() >= 2; }, 20s));

  redis.pause();
  const auto start = std::chrono::steady_clock::now();
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(elapsed_since(start).count() < 30000);
  redis.resume();

  brood.start();
  BOOST_TEST(eventually([&] { return ledger.has_done(4); }, 40s), brood.log_tail());
  BOOST_TEST(ledger.judge(4).lost.empty());
  BOOST_TEST(eventually([&] { return jobs_in_flight(redis) == 0; }));
}

BOOST_AUTO_TEST_CASE(a_worker_that_gets_term_ends_its_job_and_is_refilled) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = 1});
  enqueue_ledger_jobs(redis, ledger.path(), 1, 600);
  BOOST_REQUIRE(eventually([&] { return ledger.begun().size() == 1; }, 20s));
  const pid_t worker = ledger.runs().front().pid;

  kill(worker, SIGTERM);

  BOOST_TEST(eventually([&] { return ledger.has_done(1); }));
  BOOST_TEST(eventually([&] {
    const std::vector<pid_t> now = brood.workers();
    return now.size() == 1 && now.front() != worker;
  }));
  BOOST_TEST(redis.size_of("retry") == 0U);
}

// Ten orderly stops under load: nothing is lost, and nothing is completed twice.
BOOST_AUTO_TEST_CASE(ten_terms_under_load_lose_and_double_nothing) {
  constexpr int jobs = 20000;
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  enqueue_ledger_jobs(redis, ledger.path(), jobs);
  BroodProcess brood(redis, {.workers = 4, .shutdown_timeout = "5"});
  for (int stop = 0; stop < 10; ++stop) {
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
    BOOST_REQUIRE_MESSAGE(load_goes_on(redis), brood.log_tail());
    brood.term();
    BOOST_REQUIRE(brood.wait_exit().value_or(-1) == 0);
    BOOST_TEST(jobs_in_flight(redis) == 0U);
    brood.start();
  }
  BOOST_REQUIRE(eventually([&] { return redis.size_of("queue:default") == 0 && ledger.has_done(jobs); }, 60s));

  const Ledger::Verdict verdict = ledger.judge(jobs);
  BOOST_TEST(verdict.lost.size() == 0U);
  BOOST_TEST(verdict.unexpected.size() == 0U);
  BOOST_TEST(verdict.overlapped.size() == 0U);
  BOOST_TEST(verdict.doubled.size() == 0U);
}
