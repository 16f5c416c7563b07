#include <csignal>

#include <boost/test/unit_test.hpp>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/tcp_proxy.hpp"

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
  BOOST_TEST(verdict.doubled.size() == 0U);  // an unconfirmed settle is sent again with its number
  BOOST_TEST(slowest.count() < 60000);       // about 2 s on an idle machine
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
  BOOST_TEST(!within(3s, [&] { return brood.wait_exit(0ms).has_value(); }));
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
  BOOST_TEST(!within(1s, [&] { return brood.wait_exit(0ms).has_value(); }), brood.log_tail());

  redis.restart();
  enqueue_ledger_jobs(redis, ledger.path(), 1);

  BOOST_TEST(eventually([&] { return ledger.has_done(1); }, 30s), brood.log_tail());
}

// At maxmemory with noeviction Redis refuses whatever might need memory.  A queue that filled it can still be emptied.
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

// Workers that wait in Redis do not notice the loss of their fields.  The next job goes into a list without a field.
BOOST_AUTO_TEST_CASE(what_is_pushed_after_a_loss_of_the_fields_runs_once_and_leaves_no_list) {
  for (const bool everything : {true, false}) {
    for (const std::vector<std::string>& queues :
         {std::vector<std::string>{"default"}, std::vector<std::string>{"default", "other", "third"}}) {
      BOOST_TEST_CONTEXT((everything ? "FLUSHALL, " : "DEL of the hash, ") << queues.size() << " queues") {
        constexpr int jobs = 50;
        RedisServer redis;
        const TemporaryDirectory directory;
        const Ledger ledger(directory / "ledger");
        const auto in_flight_lists = [&] {
          std::size_t lists = 0;
          for (const std::string& key : redis.keys("brood:inflight:*:*"))
            lists += redis.command({"TYPE", key}).view().text() == "list";
          return lists;
        };
        {
          BroodProcess brood(redis, {.workers = 3, .queues = queues});
          BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.keys("brood:processes").size() == 1; }, 20s),
                                brood.log_tail());
          BOOST_REQUIRE_MESSAGE(eventually(
                                    [&] {
                                      int waiting = 0;
                                      for (const std::string& key : redis.keys("brood:inflight:*")) {
                                        if (redis.command({"TYPE", key}).view().text() != "hash") continue;
                                        for (const auto& [field, value] : redis.hgetall(key))
                                          waiting += !value.ends_with(" ");
                                      }
                                      return waiting == 3;
                                    },
                                    20s),
                                brood.log_tail());

          if (everything) {
            redis.flush();
          } else {
            for (const std::string& key : redis.keys("brood:inflight:*")) redis.command({"DEL", key});
          }
          enqueue_ledger_jobs(redis, ledger.path(), jobs);
          enqueue(redis, {payload_text("Fail", "[\"after the loss\"]", 1'000'000)});

          BOOST_TEST(eventually([&] { return ledger.has_done(jobs); }, 40s), brood.log_tail());
          BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1; }, 20s), brood.log_tail());
          BOOST_TEST(eventually([&] { return in_flight_lists() == 0; }, 20s), brood.log_tail());
          brood.signal(SIGTERM);
          BOOST_REQUIRE_MESSAGE(brood.wait_exit(30s).has_value(), brood.log_tail());
        }
        BOOST_TEST(in_flight_lists() == 0U);

        // Anything left behind would run now.
        BroodProcess again(redis, {.workers = 3, .queues = queues});
        BOOST_TEST(eventually([&] { return redis.size_of("processes") == 1; }, 20s), again.log_tail());
        enqueue(redis, {payload_text("Fail", "[\"the last one\"]", 1'000'001)});
        BOOST_TEST(eventually([&] { return redis.size_of("retry") == 2; }, 20s), again.log_tail());
        const Ledger::Verdict verdict = ledger.judge(jobs);
        BOOST_TEST(verdict.lost.size() == 0U);
        BOOST_TEST(verdict.doubled.size() == 0U);
        BOOST_TEST(verdict.overlapped.size() == 0U);
      }
    }
  }
}

// The fetch takes three seconds, and so does each half of the recovery.
BOOST_AUTO_TEST_CASE(a_crashed_job_with_a_large_payload_is_charged_over_a_slow_line) {
  RedisServer redis;
  TcpProxy line(redis.socket_path(), TcpProxy::Listen::tcp);
  line.limit_rate(2 << 20);
  BroodProcess brood({.workers = 1, .arguments = {"--redis", line.url()}});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());

  enqueue(redis, {payload_text("Segfault", "[]", 1, "\"load\":\"" + std::string(6 << 20, 'x') + "\"")});

  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1; }, 60s), brood.log_tail());
  BOOST_TEST(jobs_in_flight(redis) == 0U);
  BOOST_TEST(brood.log().find("overdue=true") == std::string::npos, brood.log_tail());
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

// A dead name server and the next one together take longer than a connection may, and than a recovery may.
BOOST_AUTO_TEST_CASE(a_slow_name_server_keeps_no_worker_and_no_recovery_from_redis) {
  RedisServer redis({.tcp = true});
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood({.workers = 2,
                      .arguments = {"--redis", "redis://slow.invalid:" + std::to_string(redis.port())},
                      .environment = {{"LD_PRELOAD", BROOD_BINARY_DIR "/tests/libslow_names.so"},
                                      {"SLOW_NAMES", "5500"},
                                      {"ASAN_OPTIONS", "verify_asan_link_order=0"}}});
  enqueue_ledger_jobs(redis, ledger.path(), 1);
  enqueue(redis, {payload_text("Segfault", "[]", 2)});

  BOOST_TEST(eventually([&] { return ledger.has_done(1); }, 60s), brood.log_tail());
  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1; }, 60s), brood.log_tail());
  BOOST_TEST(brood.log().find("event=autopsy_failed") == std::string::npos, brood.log_tail());
}
