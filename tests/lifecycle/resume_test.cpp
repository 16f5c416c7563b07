// After a quiet was undone, work continues.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <string>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/sharded_ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Site {
  RedisServer redis;
  TemporaryDirectory directory;
  Ledger ledger{directory / "ledger"};
  BroodProcess brood;
  int pushed = 0;

  explicit Site(BroodOptions options = {.workers = 2, .queues = {"default", "other"}})
      : brood(redis, std::move(options)) {
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
    BOOST_REQUIRE(performs());
  }
  std::string payload(int milliseconds = 0) {
    ++pushed;
    return payload_text(
        "Ledger", "[\"" + ledger.path() + "\",\"" + std::to_string(pushed) + "\"," + std::to_string(milliseconds) + "]",
        pushed);
  }
  bool has_done(int number) { return ledger.done().contains(std::to_string(number)); }
  bool does(int number) {
    return eventually([&] { return has_done(number); }, 30s);
  }
  bool performs(const std::string& queue = "default") {
    enqueue(redis, {payload()}, queue);
    return does(pushed);
  }
  CommandResult tell(std::vector<std::string> words) { return run_brood(words, brood.environment()); }
  CommandResult check() { return tell({"status", "--check", "--redis", redis.url()}); }
  std::string shown(const std::string& field) {
    for (const std::string& identity : redis.smembers("processes")) return redis.hget(identity, field).value_or("");
    return "";
  }
  void quiet() {
    BOOST_REQUIRE(tell({"quiet"}).status == 0);
    BOOST_REQUIRE(eventually([&] { return shown("quiet") == "true"; }, 30s));
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(waiting_workers_fetch_again_from_every_queue) {
  Site site;
  for (int round = 0; round < 3; ++round) {
    site.quiet();
    enqueue(site.redis, {site.payload()});
    const int pushed_meanwhile = site.pushed;
    BOOST_TEST(site.redis.size_of("queue:default") == 1u);

    const CommandResult result = site.tell({"resume"});

    BOOST_TEST(result.status == 0, result.errors);
    BOOST_TEST(result.output == "running: jobs are fetched again\n");
    BOOST_TEST(site.does(pushed_meanwhile), site.brood.log_tail());
    BOOST_TEST(site.performs("default"), site.brood.log_tail());
    BOOST_TEST(site.performs("other"), site.brood.log_tail());
    BOOST_TEST(eventually([&] { return site.shown("quiet") == "false"; }, 30s));
  }
  BOOST_TEST(site.tell({"resume"}).output == "running: it was not quiet\n");
  BOOST_TEST(site.tell({"resume", "--json"}).output == "{\"outcome\":\"done\",\"before\":\"running\"}\n");
}

BOOST_AUTO_TEST_CASE(jobs_come_due_again) {
  Site site({.workers = 1, .config = "poll_interval = \"500ms\"\n"});
  site.quiet();
  site.redis.command({"ZADD", "schedule", "1", site.payload()});
  const int scheduled = site.pushed;

  BOOST_REQUIRE(site.tell({"resume"}).status == 0);

  BOOST_TEST(site.does(scheduled), site.brood.log_tail());
  // Jobs that come due later: the scheduler runs by itself again.
  site.redis.command({"ZADD", "schedule", "1", site.payload()});
  BOOST_TEST(site.does(site.pushed), site.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(queues_that_were_paused_in_the_meantime_are_heard_of) {
  Site site;
  site.quiet();
  const std::size_t said = times_logged(site.brood, "queues_paused");
  site.redis.command({"SADD", "paused", "other"});
  enqueue(site.redis, {site.payload()}, "other");
  const int in_paused_queue = site.pushed;

  BOOST_REQUIRE(site.tell({"resume"}).status == 0);

  BOOST_REQUIRE(eventually([&] { return times_logged(site.brood, "queues_paused") > said; }, 30s));
  BOOST_TEST(site.performs());
  BOOST_TEST(!site.has_done(in_paused_queue));
  site.redis.command({"SREM", "paused", "other"});
  BOOST_TEST(site.does(in_paused_queue), site.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_job_that_runs_through_a_quiet_is_finished_and_the_next_one_fetched) {
  Site site({.workers = 1});
  enqueue(site.redis, {site.payload(2'000)});
  const int running = site.pushed;
  BOOST_REQUIRE(eventually([&] { return site.ledger.begun().contains(std::to_string(running)); }, 30s));
  site.brood.quiet();
  BOOST_REQUIRE(eventually([&] { return site.shown("quiet") == "true"; }, 30s));
  enqueue(site.redis, {site.payload()});
  const int next = site.pushed;

  BOOST_REQUIRE(site.tell({"resume"}).status == 0);

  BOOST_TEST(site.does(running));
  BOOST_TEST(site.does(next), site.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_quiet_that_was_asked_for_with_redis_away_is_undone_with_redis_away) {
  Site site({.workers = 1});
  site.quiet();
  site.redis.pause();
  BOOST_TEST(site.tell({"resume"}).status == 0);
  site.redis.resume();
  BOOST_TEST(site.performs(), site.brood.log_tail());
  site.quiet();
  site.redis.kill9();
  BOOST_TEST(site.tell({"resume"}).status == 0);
  site.redis.restart();
  BOOST_TEST(site.performs(), site.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_program_that_took_over_in_a_quiet_replaces_the_workers_when_it_resumes) {
  Site site({.workers = 1});
  site.quiet();
  const std::vector<pid_t> before = site.brood.workers();
  site.brood.signal(SIGUSR2);
  BOOST_REQUIRE(eventually([&] { return times_logged(site.brood, "supervisor_took_over") == 1; }, 60s));
  BOOST_REQUIRE(eventually([&] { return site.check().status == 75; }, 30s));

  BOOST_REQUIRE(eventually([&] { return site.tell({"resume"}).status == 0; }, 30s));

  BOOST_TEST(eventually(
                 [&] {
                   const std::vector<pid_t> now = site.brood.workers();
                   return now.size() == 1 && now != before;
                 },
                 60s),
             site.brood.log_tail());
  BOOST_TEST(site.performs(), site.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_stop_is_not_undone) {
  Site site({.workers = 1});
  enqueue(site.redis, {site.payload(20'000)});
  BOOST_REQUIRE(eventually([&] { return site.ledger.begun().contains(std::to_string(site.pushed)); }, 30s));
  site.brood.term();
  BOOST_REQUIRE(eventually([&] { return times_logged(site.brood, "phase") > 0; }));

  const CommandResult result = site.tell({"resume"});

  BOOST_TEST(result.status == 75);
  BOOST_TEST(result.errors.find("not now: the supervisor is stopping") != std::string::npos, result.errors);
  site.brood.term();  // the second stop takes effect at once
  BOOST_TEST(site.brood.wait_exit().value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(status_says_by_its_exit_whether_jobs_are_performed_here) {
  Site site({.workers = 1});
  enqueue(site.redis, {site.payload(6'000)});
  BOOST_REQUIRE(eventually([&] { return site.ledger.begun().contains(std::to_string(site.pushed)); }, 30s));
  site.brood.quiet();
  BOOST_REQUIRE(eventually([&] { return site.shown("quiet") == "true"; }, 30s));
  CommandResult check;
  const auto ends_with = [&](int status) {
    return eventually([&] { return (check = site.check()).status == status; });
  };
  BOOST_TEST(ends_with(75), check.output);
  BOOST_TEST(check.output.find(" is quiet") != std::string::npos, check.output);
  BOOST_REQUIRE(site.tell({"resume"}).status == 0);
  BOOST_TEST(ends_with(0), check.output);
  BOOST_TEST(check.output == "running: 1 worker is ready\n");
}

// Nothing changes in that shard meanwhile, but its queues are looked at.
BOOST_AUTO_TEST_CASE(a_shard_without_workers_is_served_again) {
  ShardedLedger shards(3);
  const BroodProcess brood(shards.with_workers(1));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  for (int round = 0; round < 2; ++round) {
    for (std::size_t shard = 0; shard < 3; ++shard) {
      shards.push(shard, 1, 0);
      BOOST_REQUIRE_MESSAGE(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
    }
    BOOST_REQUIRE(run_brood({"quiet"}, brood.environment()).status == 0);
    BOOST_REQUIRE(run_brood({"resume"}, brood.environment()).status == 0);
    for (std::size_t shard = 0; shard < 3; ++shard) shards.push(shard, 1, 0);
    BOOST_TEST(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
  }
}
