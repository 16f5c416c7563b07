#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <unistd.h>

#include <sstream>

#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/redis_clients.hpp"
#include "tests/support/sharded_ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// The number of workers that have waited for a second: nothing from the start ends their wait any more.
int workers_waiting(RedisServer& server) {
  int waiting = 0;
  for (const RedisClient& worker : RedisClient::of(server, "brood-worker"))
    waiting += worker.is_blocked && worker.idle >= 1s;
  return waiting;
}

// One worker with an iterable job in the first shard, and that shard goes away meanwhile.
struct WalkInTheFirst {
  WalkInTheFirst(const std::string& job_class, const std::string& more_arguments) {
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
    enqueue(shards.servers[0], {payload_text(job_class, fmt::format("[\"{}\",100,20{}]", walked, more_arguments), 1)});
    BOOST_REQUIRE_MESSAGE(eventually([&] { return items() > 5; }), brood.log_tail());
    shards.servers[0].kill9();
    enqueue(shards.servers[1], {payload_text("Walk", fmt::format("[\"{}\",1,0]", other), 2)});
  }

  // The items done; their lines begin with a number.
  long items() const {
    std::istringstream text(text_of_file(walked));
    long items = 0;
    for (std::string line; std::getline(text, line);) items += line.front() >= '0' && line.front() <= '9';
    return items;
  }
  bool other_is_done() const { return access(other.c_str(), F_OK) == 0; }

  ShardedLedger shards{2};
  const std::string walked = shards.directory / "walked", other = shards.directory / "other";
  BroodProcess brood{BroodOptions{.workers = 1,
                                  .libraries = {BROOD_BINARY_DIR "/tests/job_libraries/libiterating_jobs.so"},
                                  .config = shards.config()}};
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_shard_that_is_killed_delays_its_own_jobs_alone) {
  ShardedLedger shards(3);
  const BroodProcess brood(shards.with_workers(3));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.push(1, 50, 1);
  BOOST_REQUIRE(eventually([&] { return shards.all_done(); }, 20s));
  shards.push(1, 30, 20);
  BOOST_REQUIRE(eventually([&] { return shards.ledger.runs().size() > 50; }));
  shards.servers[1].kill9();
  const int before = shards.pushed;
  shards.push(0, 100, 1);
  shards.push(2, 100, 1);
  const auto others_done = [&] {
    const auto done = shards.ledger.done();
    for (int id = before; id < shards.pushed; ++id)
      if (!done.contains(std::to_string(id))) return false;
    return true;
  };
  BOOST_TEST(eventually(others_done, 10s), brood.log_tail());

  shards.servers[1].restart();
  BOOST_TEST(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
  BOOST_TEST(eventually([&] { return shards.left() == 0; }, 20s));
  BOOST_TEST(shards.ledger.judge(shards.pushed).doubled.empty());
}

BOOST_AUTO_TEST_CASE(workers_that_wait_in_a_hanging_shard_move_to_the_others) {
  ShardedLedger shards(2);
  const BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  BOOST_REQUIRE(eventually([&] { return workers_waiting(shards.servers[0]) == 1; }));
  shards.servers[0].pause();
  BOOST_REQUIRE(eventually([&] { return times_logged(brood, "redis_away") > 0; }, 40s));
  shards.push(1, 2, 10'000);
  BOOST_TEST(eventually([&] { return shards.running() == 2; }, 3s), brood.log_tail());
  shards.servers[0].resume();
  shards.push(0, 20, 1);
  BOOST_TEST(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
  BOOST_TEST(shards.ledger.judge(shards.pushed).doubled.empty());
  BOOST_TEST(eventually([&] { return shards.left() == 0; }, 20s));
}

BOOST_AUTO_TEST_CASE(what_could_not_be_settled_in_a_shard_that_was_away_is_though_the_supervisor_dies_meanwhile) {
  ShardedLedger shards(2);
  BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.push(0, 2, 5'000);
  BOOST_REQUIRE(eventually([&] { return shards.running() == 2; }));
  shards.servers[0].kill9();
  BOOST_REQUIRE_MESSAGE(eventually([&] { return times_logged(brood, "worker_leaves_jobs_to_recovery") == 2; }, 20s),
                        brood.log_tail());
  shards.push(1, 2, 0);
  BOOST_TEST(eventually([&] { return shards.all_done(); }), brood.log_tail());
  const auto before = shards.servers[1].hgetall("brood:processes");
  BOOST_REQUIRE(before.size() == 1U);
  brood.kill9();
  brood.start();
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  // The other shard has been looked at, and does not list the dead supervisor any more.  Its file is still there.
  BOOST_REQUIRE(eventually(
      [&] {
        const auto listed = shards.servers[1].hgetall("brood:processes");
        return listed.size() == 1 && listed.begin()->first != before.begin()->first;
      },
      20s));

  shards.servers[0].restart();
  BOOST_TEST(eventually([&] { return shards.left() == 0 && times_logged(brood, "supervisor_inherited") > 0; }, 30s),
             brood.log_tail());
  const Ledger::Verdict verdict = shards.ledger.judge(shards.pushed);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.doubled.empty());
}

BOOST_AUTO_TEST_CASE(a_start_with_a_shard_away_is_ready) {
  ShardedLedger shards(2);
  shards.servers[1].kill9();
  const BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.push(0, 10, 0);
  BOOST_TEST(eventually([&] { return shards.all_done(); }), brood.log_tail());
  shards.servers[1].restart();
  shards.push(1, 10, 0);
  BOOST_TEST(eventually([&] { return shards.all_done(); }, 20s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_shard_that_can_never_be_used_is_refused_while_the_others_go_on) {
  ShardedLedger shards(1);
  RedisServer unfit(
      RedisServer::Options{.extra = {"--cluster-enabled", "yes", "--cluster-port", std::to_string(free_port())}});
  unfit.kill9();
  const BroodProcess brood(shards.with_workers(2, fmt::format("[[redis.shard]]\nurl = \"{}\"\n", unfit.url())));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  // Workers may be ready before a shard is.  Without a usable shard brood would end.
  BOOST_REQUIRE(eventually([&] { return shards.servers[0].size_of("processes") == 1; }));
  unfit.restart();
  BOOST_TEST(eventually([&] { return brood.log().find("event=redis_unfit") != std::string::npos; }), brood.log_tail());
  shards.push(0, 10, 0);
  BOOST_TEST(eventually([&] { return shards.all_done(); }), brood.log_tail());
}

// The runs of all shards are sent to the first usable one.
BOOST_AUTO_TEST_CASE(what_classes_have_done_is_told_though_the_first_shard_is_away) {
  ShardedLedger shards(2);
  BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.servers[0].pause();
  shards.push(1, 20, 1);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return shards.all_done(); }, 20s), brood.log_tail());
  const auto runs_told = [&](RedisServer& server) {
    long runs = 0;
    for (const std::string& key : server.keys("brood:usage:*")) {
      for (const auto& [field, value] : server.hgetall(key)) runs += field == "Ledger|runs" ? std::stol(value) : 0;
    }
    return runs;
  };
  BOOST_TEST(eventually([&] { return runs_told(shards.servers[1]) == 20; }, 60s), brood.log_tail());
  shards.servers[0].resume();
  BOOST_TEST(eventually([&] { return times_logged(brood, "redis_is_back") > 0; }, 30s), brood.log_tail());
  shards.push(0, 10, 1);
  BOOST_TEST(eventually([&] { return runs_told(shards.servers[0]) == 10; }, 60s), brood.log_tail());
  BOOST_TEST(runs_told(shards.servers[1]) == 20);
}

BOOST_AUTO_TEST_CASE(an_upgrade_waits_for_no_shard_that_is_away_and_its_dead_are_charged_when_it_is_back) {
  ShardedLedger shards(2);
  BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.push(1, 1, 60'000);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return shards.running() == 1; }, 20s), brood.log_tail());
  const pid_t victim = shards.ledger.runs().front().pid;
  shards.servers[1].pause();
  kill(victim, SIGKILL);
  BOOST_REQUIRE(eventually([&] { return times_logged(brood, "redis_away") > 0; }, 30s));

  const CommandResult upgrade = run_brood({"upgrade"}, brood.environment());

  BOOST_TEST(upgrade.status == 0, upgrade.output << upgrade.errors << brood.log_tail());
  BOOST_TEST(times_logged(brood, "supervisor_took_over") == 1U, brood.log_tail());
  BOOST_TEST(shards.servers[0].size_of("brood:processes") == 1U);
  shards.servers[1].resume();
  BOOST_TEST(eventually([&] { return shards.servers[1].size_of("retry") == 1; }, 30s), brood.log_tail());
  BOOST_TEST(shards.servers[1].zrange("retry").at(0).first.find("SIGKILL") != std::string::npos);
  BOOST_TEST(jobs_in_flight(shards.servers[1]) == 0U);
}

BOOST_AUTO_TEST_CASE(a_worker_that_has_done_an_iterable_job_goes_from_a_shard_that_is_away) {
  WalkInTheFirst site("Walk", "");
  BOOST_TEST(eventually([&] { return site.other_is_done(); }, 30s), site.brood.log_tail());
  BOOST_TEST(site.items() == 100);
  site.shards.servers[0].restart();
  BOOST_TEST(eventually([&] { return site.shards.left() == 0; }, 30s), site.brood.log_tail());
  BOOST_TEST(site.items() == 100);
}

// Its progress is only in its memory, so it begins again at its last saved cursor.
BOOST_AUTO_TEST_CASE(a_worker_that_is_killed_with_an_unsaved_cursor_of_a_shard_that_is_away_loses_no_job) {
  WalkInTheFirst site("WalkUnsaved", ",60,\"/nowhere\"");
  BOOST_REQUIRE_MESSAGE(
      eventually([&] { return times_logged(site.brood, "worker_waits_for_redis") > 0 || site.items() == 60; }, 30s),
      site.brood.log_tail());
  BOOST_REQUIRE(eventually([&] { return !site.brood.workers().empty(); }));
  kill(site.brood.workers().front(), SIGKILL);
  BOOST_TEST(eventually([&] { return site.other_is_done(); }, 30s), site.brood.log_tail());
  site.shards.servers[0].restart();
  BOOST_TEST(eventually([&] { return site.shards.servers[0].size_of("retry") == 1; }, 30s), site.brood.log_tail());
  BOOST_TEST(site.shards.left() == 1U);
}
