#include <boost/test/unit_test.hpp>

#include <csignal>

#include "shared/scoreboard/scoreboard.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/fleet_view.hpp"
#include "tests/support/ledger.hpp"
#include "worker/recovery/charge_and_return_jobs.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// A fleet whose supervisor can be stopped, as by a debugger or on an overloaded machine.
struct Fleet {
  RedisServer redis;
  TemporaryDirectory directory;
  Ledger ledger{directory / "ledger"};
  BroodProcess brood;

  explicit Fleet(int workers = 2) : brood(redis, {.workers = workers}) {
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
    BOOST_REQUIRE(eventually([&] { return redis.size_of("processes") == 1; }));
  }

  // Makes the workers see what they would see `age` later.
  void stop_beating_for(std::chrono::nanoseconds age) {
    brood.signal(SIGSTOP);
    scoreboard_of(brood).last_beat() -= age.count();
  }
  std::string payload(int id, int milliseconds) {
    return payload_text(
        "Ledger", "[\"" + ledger.path() + "\",\"" + std::to_string(id) + "\"," + std::to_string(milliseconds) + "]",
        id + 1);
  }
  bool lie_in_queue(std::size_t jobs) { return redis.size_of("queue:default") == jobs && jobs_in_flight(redis) == 0; }
};

}  // namespace

BOOST_AUTO_TEST_CASE(workers_whose_supervisor_stands_still_begin_no_job_until_it_beats_again) {
  constexpr int jobs = 20;
  Fleet fleet;
  fleet.stop_beating_for(46s);

  // Workers that wait in Redis get some jobs at once, and give them back.
  enqueue_ledger_jobs(fleet.redis, fleet.ledger.path(), jobs);

  BOOST_TEST(eventually([&] { return fleet.lie_in_queue(jobs); }), fleet.brood.log_tail());
  BOOST_TEST(!within(3s, [&] { return !fleet.ledger.begun().empty(); }), fleet.brood.log_tail());
  BOOST_TEST(fleet.lie_in_queue(jobs));

  fleet.brood.signal(SIGCONT);
  BOOST_TEST(eventually([&] { return fleet.ledger.has_done(jobs); }, 30s), fleet.brood.log_tail());
  BOOST_TEST(fleet.ledger.judge(jobs).doubled.empty());
}

BOOST_AUTO_TEST_CASE(a_job_that_runs_meanwhile_is_settled_and_the_next_waits) {
  Fleet fleet;
  for (int id = 0; id < 2; ++id) enqueue(fleet.redis, {fleet.payload(id, 1'500)});
  BOOST_REQUIRE(eventually([&] { return fleet.ledger.begun().size() == 2; }));
  fleet.stop_beating_for(46s);
  for (int id = 2; id < 6; ++id) enqueue(fleet.redis, {fleet.payload(id, 0)});

  BOOST_TEST(eventually([&] { return fleet.ledger.done().size() == 2 && fleet.lie_in_queue(4); }),
             fleet.brood.log_tail());
  BOOST_TEST(!within(2s, [&] { return fleet.ledger.begun().size() > 2; }), fleet.brood.log_tail());

  fleet.brood.signal(SIGCONT);
  BOOST_TEST(eventually([&] { return fleet.ledger.has_done(6); }, 30s), fleet.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_slightly_late_beat_holds_up_no_worker) {
  Fleet fleet;
  fleet.stop_beating_for(30s);
  enqueue_ledger_jobs(fleet.redis, fleet.ledger.path(), 5);
  BOOST_TEST(eventually([&] { return fleet.ledger.has_done(5); }, 10s), fleet.brood.log_tail());
  fleet.brood.signal(SIGCONT);
}

// As on a machine that stands still completely, for longer than another host waits before it takes over.
BOOST_AUTO_TEST_CASE(what_a_worker_had_fetched_before_it_was_taken_over_it_does_not_begin_afterwards) {
  constexpr int jobs = 2'000;
  Fleet fleet(1);
  const pid_t worker = fleet.brood.workers().front();
  const Scoreboard scoreboard = scoreboard_of(fleet.brood);
  enqueue_ledger_jobs(fleet.redis, fleet.ledger.path(), jobs, 2);
  BOOST_REQUIRE(eventually([&] { return fleet.ledger.begun().size() > 50; }));
  // The worker has asked for jobs, and is stopped before it has read the answer.
  fleet.redis.pause();
  const auto rests = [&] {
    const std::size_t begun = fleet.ledger.begun().size();
    const bool goes_on = within(200ms, [&] { return fleet.ledger.begun().size() != begun; });
    return !goes_on && snapshot(scoreboard.slot(0)).current < 0;
  };
  BOOST_REQUIRE(eventually(rests));
  fleet.brood.signal(SIGSTOP);
  kill(worker, SIGSTOP);
  fleet.redis.resume();
  BOOST_REQUIRE(eventually([&] { return jobs_in_flight(fleet.redis) > 0; }));
  const auto begun = fleet.ledger.begun();
  fleet.stop_beating_for(130s);
  fleet.redis.command({"DEL", scoreboard.identity()});
  BOOST_TEST(settle_orphaned_jobs({scoreboard.identity(), {}, true}, RecoveryMode::no_library, {},
                                  fleet.redis.address()) == 0);
  BOOST_TEST(jobs_in_flight(fleet.redis) == 0U);

  fleet.brood.signal(SIGCONT);
  BOOST_REQUIRE(eventually([&] { return scoreboard.lapses() == 1; }, 20s));
  kill(worker, SIGCONT);
  BOOST_TEST(eventually([&] { return fleet.ledger.has_done(jobs); }, 60s), fleet.brood.log_tail());
  for (const std::string& id : fleet.ledger.judge(jobs).doubled)
    BOOST_TEST(begun.contains(id), "job " << id << " was begun after it was taken over");
}
