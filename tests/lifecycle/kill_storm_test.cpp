#include <boost/test/unit_test.hpp>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>

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

// BROOD_STORM=5 runs all of it: 100,000 jobs, 100 killed workers and 20 killed supervisors.
struct Storm {
  int jobs, workers_killed, supervisors_killed;
};
Storm wanted_storm() {
  const int times = storm_factor();
  return {20'000 * times, 40 + 15 * (times - 1), 8 + 3 * (times - 1)};
}

// Faults of Redis while the workers are at work.  Afterwards everything is allowed and available again.
enum class Meddling {
  field_deleted,
  hash_deleted,
  processes_deleted,
  queue_paused,
  master_demoted,
  supervisor_stopped,  // so long that the workers must not begin anything more
};
constexpr int kinds_of_meddling = 6;

std::vector<std::string> in_flight_hashes(RedisServer& redis) {
  std::vector<std::string> hashes = redis.keys("brood:inflight:*");
  std::erase_if(hashes, [&](const std::string& key) { return redis.command({"TYPE", key}).view().text() != "hash"; });
  return hashes;
}

std::size_t refusals_of_writes(RedisServer& redis) {
  const std::string stats(redis.command({"INFO", "errorstats"}).view().text()), before = "errorstat_READONLY:count=";
  const auto at = stats.find(before);
  return at == std::string::npos ? 0 : std::stoul(stats.substr(at + before.size()));
}

void meddle(Meddling how, RedisServer& redis, BroodProcess& brood, Dice& dice) {
  switch (how) {
    case Meddling::field_deleted:
      for (const std::string& hash : in_flight_hashes(redis)) {
        const auto fields = redis.hgetall(hash);
        if (fields.empty()) continue;
        redis.command(
            {"HDEL", hash, std::next(fields.begin(), dice.roll(0, static_cast<int>(fields.size()) - 1))->first});
      }
      break;
    case Meddling::hash_deleted:
      for (const std::string& hash : in_flight_hashes(redis)) redis.command({"DEL", hash});
      break;
    case Meddling::processes_deleted:
      redis.command({"DEL", "brood:processes"});
      break;
    case Meddling::queue_paused: {
      const std::size_t before = times_logged(brood, "queues_paused");
      redis.command({"SADD", "paused", "default"});
      BOOST_TEST(eventually([&] { return times_logged(brood, "queues_paused") > before; }, 20s), brood.log_tail());
      redis.command({"SREM", "paused", "default"});
      break;
    }
    case Meddling::master_demoted: {
      const std::size_t before = refusals_of_writes(redis);
      redis.command({"REPLICAOF", "127.0.0.1", "1"});
      BOOST_TEST(eventually([&] { return refusals_of_writes(redis) > before; }, 20s), brood.log_tail());
      redis.command({"REPLICAOF", "NO", "ONE"});
      break;
    }
    case Meddling::supervisor_stopped: {
      const std::size_t before = times_logged(brood, "worker_waits_for_heartbeat");
      brood.signal(SIGSTOP);
      scoreboard_of(brood).last_beat() -= std::chrono::nanoseconds(46s).count();
      const bool waited = eventually([&] { return times_logged(brood, "worker_waits_for_heartbeat") > before; }, 20s);
      brood.signal(SIGCONT);
      BOOST_TEST(waited, brood.log_tail());
      break;
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(
    kills_of_workers_and_supervisors_lose_no_job_and_repeat_at_most_the_run_that_a_killed_worker_was_in) {
  const Storm storm = wanted_storm();
  RedisServer redis;
  Dice dice;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = workers, .config = "poll_interval = \"100ms\"\n"});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  const auto began = std::chrono::steady_clock::now();
  enqueue_ledger_jobs(redis, ledger.path(), storm.jobs);

  // Spread over the time that the jobs take.  Sometimes the supervisor is killed.
  const int kills = storm.workers_killed + storm.supervisors_killed;
  const int turn_of_supervisor = kills / storm.supervisors_killed;
  KilledWorkers killed;
  int supervisors_killed = 0;
  for (int i = 1; i <= kills; ++i) {
    const std::size_t left = static_cast<std::size_t>(storm.jobs - storm.jobs / (kills + 2) * i);
    BOOST_TEST_REQUIRE(queue_falls_to(redis, left), brood.log_tail());
    if (i % turn_of_supervisor == 0 && supervisors_killed < storm.supervisors_killed) {
      ++supervisors_killed;
      brood.kill9();
      brood.start();
    } else {
      BOOST_TEST_REQUIRE(kill_a_worker(brood, dice, killed), brood.log_tail());
    }
  }
  // A job whose worker was killed is charged, so its retry would wait.
  BOOST_TEST(drained(redis), brood.log_tail());
  const auto took = std::chrono::steady_clock::now() - began;
  BOOST_TEST(stop_when_up(brood) == 0, brood.log_tail());

  BOOST_TEST(static_cast<int>(killed.size()) >= storm.workers_killed);
  BOOST_TEST(supervisors_killed == storm.supervisors_killed);
  BOOST_TEST(redis.size_of("dead") == 0U);
  BOOST_TEST(ledger.is_whole());
  BOOST_TEST(Census(redis).misplaced(ledger, storm.jobs) == "");
  const Ledger::Verdict verdict = ledger.judge(storm.jobs);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.unexpected.empty());
  BOOST_TEST(verdict.overlapped.empty());
  BOOST_TEST(settled_twice(ledger, killed) == std::vector<std::string>{}, boost::test_tools::per_element());
  // Only a killed worker's run is cut off.
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

BOOST_AUTO_TEST_CASE(meddling_with_the_keys_of_brood_and_with_redis_amid_kills_loses_no_job_and_repeats_none) {
  const int times = storm_factor(), rounds = 3 * times, turns = rounds * kinds_of_meddling, jobs = 500 * turns;
  RedisServer redis;
  Dice dice;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = workers, .config = "poll_interval = \"100ms\"\n"});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  enqueue_ledger_jobs(redis, ledger.path(), jobs, 1);

  KilledWorkers killed;
  for (int turn = 1; turn <= turns; ++turn) {
    const std::size_t left = static_cast<std::size_t>(jobs - jobs / (turns + 2) * turn);
    BOOST_TEST_REQUIRE(queue_falls_to(redis, left), brood.log_tail());
    meddle(static_cast<Meddling>(turn % kinds_of_meddling), redis, brood, dice);
    if (turn % 6 == 0) {
      brood.kill9();
      brood.start();
    } else if (turn % 2 == 0) {
      BOOST_TEST_REQUIRE(kill_a_worker(brood, dice, killed), brood.log_tail());
    }
  }
  BOOST_TEST(drained(redis), brood.log_tail());
  BOOST_TEST(stop_when_up(brood) == 0, brood.log_tail());

  BOOST_TEST(redis.size_of("dead") == 0U);
  BOOST_TEST(Census(redis).misplaced(ledger, jobs) == "");
  const Ledger::Verdict verdict = ledger.judge(jobs);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.unexpected.empty());
  BOOST_TEST(verdict.overlapped.empty());
  BOOST_TEST(settled_twice(ledger, killed) == std::vector<std::string>{}, boost::test_tools::per_element());
  for (const Ledger::Run& run : ledger.runs())
    BOOST_TEST((run.ended || killed.contains(run.pid)), "job " << run.id << " was cut off in an unharmed worker");
}
