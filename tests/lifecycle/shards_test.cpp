#include <boost/test/unit_test.hpp>

#include <array>
#include <ctime>

#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/sharded_ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(fewer_workers_than_shards_perform_the_jobs_of_all_of_them_each_once) {
  ShardedLedger shards(3);
  for (std::size_t shard = 0; shard < 3; ++shard) shards.push(shard, 100, 0);
  const BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  for (std::size_t shard = 0; shard < 3; ++shard) shards.push(shard, 100, 0);

  BOOST_REQUIRE_MESSAGE(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
  const Ledger::Verdict verdict = shards.ledger.judge(shards.pushed);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.doubled.empty());
}

BOOST_AUTO_TEST_CASE(all_idle_workers_come_to_the_shard_that_has_jobs) {
  ShardedLedger shards(3);
  const BroodProcess brood(shards.with_workers(6));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  for (const std::size_t shard : {2U, 0U}) {
    shards.push(shard, 6, 10'000);
    BOOST_TEST(eventually([&] { return shards.running() == 6; }, 2s), brood.log_tail());
    BOOST_REQUIRE(eventually([&] { return shards.all_done(); }, 20s));
  }
}

BOOST_AUTO_TEST_CASE(a_worker_in_a_shard_with_endless_work_performs_the_jobs_of_the_others_too) {
  ShardedLedger shards(3);
  const BroodProcess brood(shards.with_workers(1));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.push(0, 40'000, 2);
  BOOST_REQUIRE(eventually([&] { return shards.running() == 1; }));
  shards.push(1, 1, 0);
  shards.push(2, 1, 0);
  BOOST_TEST(eventually([&] { return shards.servers[1].size_of("queue:default") == 0; }, 5s), brood.log_tail());
  BOOST_TEST(eventually([&] { return shards.servers[2].size_of("queue:default") == 0; }, 5s), brood.log_tail());
  BOOST_TEST(shards.servers[0].size_of("queue:default") > 100U);
}

BOOST_AUTO_TEST_CASE(a_capsule_of_one_worker_runs_one_job_at_a_time_and_keeps_the_order_of_each_shard) {
  ShardedLedger shards(2);
  for (int i = 0; i < 20; ++i) {
    shards.push(0, 2, 5);
    shards.push(1, 2, 5);
  }
  const BroodProcess brood(shards.with_workers(1));
  BOOST_REQUIRE_MESSAGE(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
  const std::vector<Ledger::Run> runs = shards.ledger.runs();
  std::array<int, 2> last{-1, -1};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int id = std::stoi(runs[i].id);
    int& before = last[static_cast<std::size_t>(id / 2 % 2)];
    BOOST_TEST(id > before);
    before = id;
    if (i > 0) BOOST_TEST(runs[i].began >= runs[i - 1].ended.value_or(runs[i].began + 1));
  }
}

// No queue would call a worker there.
BOOST_AUTO_TEST_CASE(what_waits_in_quarantine_is_looked_at_in_a_shard_that_no_worker_serves) {
  ShardedLedger shards(3);
  const BroodProcess brood(shards.with_workers(1, "[crashes]\nquarantine_after = 3\n"));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  // Its class is not in quarantine any more.
  for (const std::size_t shard : {1U, 2U, 0U}) {
    shards.servers[shard].command(
        {"ZADD", "brood:quarantined", "1",
         payload_text("Ledger", "[\"" + shards.ledger.path() + "\",\"" + std::to_string(shard) + "\",0]",
                      static_cast<long>(shard) + 1)});
  }
  BOOST_TEST(eventually([&] { return shards.ledger.has_done(3); }, 60s), brood.log_tail());
}

// The supervisor uses the clock of the first shard, and its children know that.
BOOST_AUTO_TEST_CASE(what_fails_in_one_shard_is_retried_by_the_clock_of_that_shard) {
  constexpr std::int64_t hour = 3600;
  const std::int64_t now = std::time(nullptr);
  RedisServer ahead({.prefix = {"/usr/bin/env", "LD_PRELOAD=" BROOD_BINARY_DIR "/tests/libclock_ahead.so"}}), right;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  const std::string config =
      fmt::format("[worker]\nmax_jobs = 1\n[[redis.shard]]\nurl = \"{}\"\n[[redis.shard]]\nurl = \"{}\"\n", ahead.url(),
                  right.url());
  const BroodProcess brood({.workers = 2, .config = config});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  // The job is due only by that clock.  The supervisor knows that clock once it has moved the job.
  ahead.command({"ZADD", "schedule", std::to_string(now + 12 * hour),
                 payload_text("Ledger", fmt::format("[\"{}\",\"0\",0]", ledger.path()), 1)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(1); }, 60s), brood.log_tail());

  // Retried by a child that recovers it, and by a worker that was there before.
  for (const char* const job_class : {"Segfault", "Fail", "Fail", "Fail"}) {
    right.command({"DEL", "retry"});
    enqueue(right, {payload_text(job_class, std::string(job_class) == "Fail" ? R"(["no"])" : "[]", 2, R"("retry":3)")});

    BOOST_REQUIRE_MESSAGE(eventually([&] { return right.size_of("retry") == 1; }, 20s), brood.log_tail());
    BOOST_TEST(right.zrange("retry").front().second < static_cast<double>(now + hour), job_class);
  }
}

BOOST_AUTO_TEST_CASE(a_redis_that_is_named_twice_is_refused_at_the_start) {
  const RedisServer redis;
  const std::string alias = fmt::format("unix:///.{}", redis.socket_path());
  const std::string config =
      fmt::format("[[redis.shard]]\nurl = \"{}\"\n[[redis.shard]]\nurl = \"{}\"\n", redis.url(), alias);
  BroodProcess brood({.workers = 1, .config = config});
  BOOST_TEST(brood.wait_exit().value_or(-1) == 78, brood.log_tail());
  BOOST_TEST(brood.log().find("are the same Redis") != std::string::npos, brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_quiet_that_comes_through_any_shard_holds_for_all) {
  ShardedLedger shards(2);
  const BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  for (RedisServer& server : shards.servers)
    BOOST_REQUIRE(eventually([&] { return server.size_of("processes") == 1; }));
  const std::string identity = shards.servers[1].smembers("processes").front();
  BOOST_TEST(shards.servers[0].smembers("processes").front() == identity);
  shards.servers[1].command({"LPUSH", identity + "-signals", "TSTP"});
  BOOST_TEST(eventually([&] { return shards.servers[0].hget(identity, "quiet") == "true"; }), brood.log_tail());
  shards.push(0, 1, 0);
  BOOST_TEST(!within(500ms, [&] { return shards.all_done(); }));
}

BOOST_AUTO_TEST_CASE(jobs_are_counted_in_the_shard_that_they_were_in) {
  ShardedLedger shards(2);
  BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.push(0, 30, 1);
  shards.push(1, 70, 1);
  BOOST_REQUIRE(eventually([&] { return shards.all_done(); }));
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(shards.servers[0].get("stat:processed").value_or("") == "30");
  BOOST_TEST(shards.servers[1].get("stat:processed").value_or("") == "70");
}

BOOST_AUTO_TEST_CASE(kills_of_workers_supervisors_and_a_shard_lose_no_job_and_settle_none_twice) {
  ShardedLedger shards(3);
  BroodProcess brood(shards.with_workers(4, "poll_interval = \"100ms\"\n"));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  Dice dice;
  KilledWorkers killed;
  const int rounds = 12 * storm_factor();
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t shard = 0; shard < 3; ++shard) shards.push(shard, 300, 1);
    BOOST_TEST_REQUIRE(kill_a_worker(brood, dice, killed), brood.log_tail());
    if (round % 4 == 1) {
      brood.kill9();
      brood.start();
      BOOST_TEST_REQUIRE(brood.wait_ready(), brood.log_tail());
    }
    if (round % 4 == 3) {
      RedisServer& server = shards.servers[static_cast<std::size_t>(round / 4) % 3];
      server.kill9();
      BOOST_TEST_REQUIRE(kill_a_worker(brood, dice, killed), brood.log_tail());
      server.restart();
    }
  }
  BOOST_TEST(shards.all_drained(), brood.log_tail());
  BOOST_TEST(stop_when_up(brood) == 0, brood.log_tail());
  for (RedisServer& server : shards.servers) {
    BOOST_TEST(server.size_of("dead") == 0U);
    BOOST_TEST(jobs_in_flight(server) == 0U);
    BOOST_TEST(server.size_of("brood:processes") == 0U);
  }
  BOOST_TEST(shards.ledger.judge(shards.pushed).lost.empty());
  BOOST_TEST(settled_twice(shards.ledger, killed).empty());
}
