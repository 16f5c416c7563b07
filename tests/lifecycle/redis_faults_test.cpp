#define BOOST_TEST_MODULE redis_faults
#include <boost/test/unit_test.hpp>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(three_kills_of_redis_under_load_lose_nothing) {
  constexpr int jobs = 20000;
  RedisServer redis(RedisServer::Options{.append_only = true});
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  enqueue_ledger_jobs(redis, ledger.path(), jobs);
  BroodProcess brood(redis, {.workers = 4});
  std::chrono::milliseconds slowest{0};
  for (int i = 0; i < 3; ++i) {
    const std::size_t before = redis.size_of("queue:default");
    BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("queue:default") + 500 < before; }, 20s),
                          brood.log_tail());
    redis.restart();
    const std::size_t left = redis.size_of("queue:default");
    const auto answered = std::chrono::steady_clock::now();
    BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("queue:default") < left; }, 20s), brood.log_tail());
    slowest = std::max(
        slowest, std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - answered));
  }
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(jobs); }, 60s), brood.log_tail());

  const Ledger::Verdict verdict = ledger.judge(jobs);
  BOOST_TEST(verdict.lost.size() == 0U);
  BOOST_TEST(verdict.unexpected.size() == 0U);
  BOOST_TEST(verdict.overlapped.size() == 0U);
  BOOST_TEST(verdict.doubled.size() == 0U);  // a settle in doubt is sent again with its number
  BOOST_TEST(slowest.count() < 8000);        // about 2 s on an idle machine
  BOOST_TEST_MESSAGE("slowest return to work: " << slowest.count() << " ms");
}

BOOST_AUTO_TEST_CASE(a_redis_that_stands_still_for_a_while_loses_nothing) {
  constexpr int jobs = 5000;
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  enqueue_ledger_jobs(redis, ledger.path(), jobs);
  BroodProcess brood(redis, {.workers = 4});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.done().size() > 500; }, 20s), brood.log_tail());

  redis.pause();
  BOOST_TEST(!brood.wait_exit(3s).has_value());
  redis.resume();

  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(jobs); }, 60s), brood.log_tail());
  BOOST_TEST(ledger.judge(jobs).doubled.size() == 0U);
  BOOST_TEST(ledger.judge(jobs).overlapped.size() == 0U);
}

BOOST_AUTO_TEST_CASE(brood_waits_for_a_redis_that_is_not_there_yet) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  redis.kill9();
  BroodProcess brood(redis, {.workers = 1});
  BOOST_TEST(!brood.wait_exit(1s).has_value(), brood.log_tail());

  redis.restart();
  enqueue_ledger_jobs(redis, ledger.path(), 1);

  BOOST_TEST(eventually([&] { return ledger.has_done(1); }, 30s), brood.log_tail());
}

// At maxmemory with noeviction Redis refuses whatever might need memory; a queue that filled it can still be emptied.
BOOST_AUTO_TEST_CASE(a_full_redis_is_drained_and_retried_into) {
  constexpr int jobs = 2000;
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  enqueue_ledger_jobs(redis, ledger.path(), jobs);
  enqueue(redis, {payload_text("Fail", "[\"into a full Redis\"]", 1'000'000)});
  redis.command({"SET", "filling", std::string(1 << 20, 'x')});
  redis.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  redis.command({"CONFIG", "SET", "maxmemory", "1mb"});
  BOOST_REQUIRE(redis.command({"SET", "refused", "x"}).view().is_error());

  BroodProcess brood(redis, {.workers = 2});

  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(jobs); }, 40s), brood.log_tail());
  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1; }), brood.log_tail());
  BOOST_TEST(eventually([&] { return redis.size_of("processes") == 1; }, 20s), "no heartbeat: " + brood.log_tail());
  BOOST_TEST(redis.command({"SET", "refused", "x"}).view().is_error());  // full all the time
  BOOST_TEST(ledger.judge(jobs).doubled.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_flushed_redis_is_registered_with_again) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = 2});
  enqueue_ledger_jobs(redis, ledger.path(), 10);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(10); }, 20s), brood.log_tail());

  redis.flush();
  enqueue_ledger_jobs(redis, ledger.path(), 200);

  BOOST_TEST(eventually([&] { return ledger.has_done(200); }, 40s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_queue_of_the_wrong_type_holds_up_no_other) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  redis.command({"SET", "queue:broken", "no list"});
  BroodProcess brood(redis, {.workers = 2, .queues = {"broken", "default"}});

  enqueue_ledger_jobs(redis, ledger.path(), 50);

  BOOST_TEST(eventually([&] { return ledger.has_done(50); }, 20s), brood.log_tail());
  BOOST_TEST(!brood.wait_exit(10ms).has_value());
}
