#include "supervisor/queues/quarantine_watch.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/store/invented_workers.hpp"
#include "tests/store/loop_with_redis.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// A shard without workers, to which others may come.
struct OtherWorkers : InventedWorkers {
  bool may_come = true;
  int calls = 0;
  bool others_may_come() const override { return may_come; }
  bool call(const std::set<int>&) override { return ++calls > 0; }
};

struct Watching : LoopWithRedis {
  OtherWorkers workers;
  QuarantineWatch watch{connection, workers};
  SteadyTime now = steady_now();

  Watching() { redis.command({"ZADD", "brood:quarantined", "1", "a job"}); }

  // Looks some time after the last look, without a quarantine.  Returns whether that called a worker.
  bool look() {
    const int before = workers.calls;
    now += 11s;
    watch.look(now, false);
    BOOST_REQUIRE(run_until([&] { return !connection.waits_since(); }));
    return workers.calls > before;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(at_its_start_it_looks_until_that_was_answered_once, Watching) {
  connection.close();
  BOOST_TEST(!look());
  open(connection);
  BOOST_TEST(look());
  for (int i = 0; i < 10; ++i) BOOST_TEST(!look());
}

BOOST_FIXTURE_TEST_CASE(a_change_of_the_pauses_is_remembered_until_a_worker_can_look, Watching) {
  BOOST_TEST(look());
  watch.note_pauses({"Thumbnail"}, now);
  workers.may_come = false;
  for (int i = 0; i < 10; ++i) BOOST_TEST(!look());
  workers.may_come = true;
  BOOST_TEST(look());
  BOOST_TEST(!look());
  watch.note_pauses({}, now);
  for (int i = 0; i < 3; ++i) BOOST_TEST(look());
}

BOOST_FIXTURE_TEST_CASE(only_a_worker_that_is_soon_free_looks_by_itself, Watching) {
  Scoreboard board = Scoreboard::in_memory(1);
  WorkerSlot worker(board.slot(0));
  vacate(board.slot(0), 1, 0);
  worker.adopt_incarnation(1);
  workers.all = {{.slot = 0, .capsule = 0, .record = &board.slot(0)}};
  BOOST_TEST(!look());  // it is idle

  worker.set_fetched(1);
  BOOST_REQUIRE(worker.begin(0, "jid", "Job", wall_now(), now + 10500ms, 0));
  watch.note_pauses({"Thumbnail"}, now);
  BOOST_TEST(!look());  // its job has run for half a second
  BOOST_TEST(look());
}
