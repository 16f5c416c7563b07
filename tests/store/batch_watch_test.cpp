#include "supervisor/queues/batch_watch.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>

#include "tests/store/invented_workers.hpp"
#include "tests/store/loop_with_redis.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

using Names = std::vector<std::string>;

const std::string list = "brood:inflight:me:0.7:default";

// A worker with four jobs, oldest first: a b c d; e waits in the queue.
struct Watching : LoopWithRedis {
  Scoreboard board = Scoreboard::in_memory(1);
  WorkerSlot worker{board.slot(0)};
  InventedWorkers workers;
  std::optional<BatchWatch> watch;

  Watching() {
    redis.command({"HSET", "brood:inflight:me", "0.7", "5 default"});
    redis.command({"LPUSH", list, "a", "b", "c", "d"});
    redis.command({"LPUSH", "queue:default", "e"});
    vacate(board.slot(0), 7, 0);
    worker.adopt_incarnation(7);
    worker.set_number(5);
    worker.set_queue("default");
    worker.set_fetched(4);
    workers.all = {{.slot = 0, .capsule = 0, .record = &board.slot(0)}};
    watch.emplace(loop, connection, "me", workers);
  }
  bool begin(int entry) { return worker.begin(entry, "jid", "Job", wall_now(), steady_now(), 0); }
  // Whether Redis got the script by EVAL: it does not know it the first time.
  bool is_refused() {
    const Reply stats = redis.command({"INFO", "commandstats"});
    return stats.view().text().find("cmdstat_eval:") != std::string_view::npos;
  }
  bool taken_back(int entry) { return worker.entry(entry) == EntryState::taken_back; }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(jobs_behind_a_slow_one_return_to_the_head_of_their_queue, Watching) {
  BOOST_REQUIRE(begin(0));
  watch->look_for_a_while();
  BOOST_TEST(run_until([&] { return redis.size_of("queue:default") == 4; }));
  BOOST_TEST(redis.lrange("queue:default") == (Names{"e", "d", "c", "b"}), boost::test_tools::per_element());
  BOOST_TEST(redis.lrange(list) == (Names{"a"}), boost::test_tools::per_element());
  worker.end(0, EntryState::succeeded);
  BOOST_TEST(!begin(1));
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_keeps_pace_keeps_its_jobs, Watching) {
  watch->look_for_a_while();
  for (int i = 0; i < 3; ++i) {
    BOOST_REQUIRE(begin(i));
    worker.end(i, EntryState::succeeded);
  }
  BOOST_REQUIRE(begin(3));
  run_for(100ms);
  BOOST_TEST(redis.size_of(list) == 4U);
  BOOST_TEST(redis.size_of("queue:default") == 1U);
}

BOOST_FIXTURE_TEST_CASE(what_comes_after_the_workers_next_settle_does_nothing, Watching) {
  redis.command({"HSET", "brood:inflight:me", "0.7", "6 default"});
  BOOST_REQUIRE(begin(0));
  watch->look_for_a_while();
  BOOST_TEST(run_until([&] { return taken_back(1); }));
  run_for(50ms);
  BOOST_TEST(redis.size_of(list) == 4U);
  BOOST_TEST(redis.size_of("queue:default") == 1U);
}

BOOST_FIXTURE_TEST_CASE(nothing_is_taken_while_redis_is_away, Watching) {
  connection.close();
  BOOST_REQUIRE(begin(0));
  watch->look_for_a_while();
  run_for(100ms);
  BOOST_TEST(!taken_back(1));
  open(connection);
  watch->look_for_a_while();  // connecting may take a busy machine longer than it looks
  BOOST_TEST(run_until([&] { return redis.size_of("queue:default") == 4; }));
}

BOOST_FIXTURE_TEST_CASE(a_full_redis_takes_jobs_back, Watching) {
  redis.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  redis.command({"CONFIG", "SET", "maxmemory", "1mb"});
  redis.command({"SET", "filling", std::string(2 << 20, 'x')});
  BOOST_REQUIRE(redis.command({"SET", "refused", "x"}).view().is_error());
  BOOST_REQUIRE(begin(0));
  watch->look_for_a_while();
  BOOST_TEST(run_until([&] { return redis.size_of("queue:default") == 4; }));
}

BOOST_FIXTURE_TEST_CASE(what_redis_does_not_take_back_at_first_is_given_back_later, Watching) {
  redis.command({"DEL", "queue:default"});
  redis.command({"SET", "queue:default", "no list"});
  BOOST_REQUIRE(begin(0));
  watch->look_for_a_while();
  BOOST_REQUIRE(run_until([&] { return is_refused(); }));
  BOOST_TEST(taken_back(1));

  redis.command({"DEL", "queue:default"});
  BOOST_TEST(run_until([&] { return redis.size_of("queue:default") == 3; }));
  BOOST_TEST(redis.lrange(list) == (Names{"a"}), boost::test_tools::per_element());
  BOOST_TEST(run_until([&] { return !watch->looks(); }, 3s));
}

BOOST_FIXTURE_TEST_CASE(what_could_not_be_given_back_is_left_to_a_worker_that_has_gone_on, Watching) {
  redis.command({"DEL", "queue:default"});
  redis.command({"SET", "queue:default", "no list"});
  BOOST_REQUIRE(begin(0));
  watch->look_for_a_while();
  BOOST_REQUIRE(run_until([&] { return is_refused(); }));
  worker.set_number(6);
  BOOST_TEST(run_until([&] { return !watch->looks(); }, 5s));
  BOOST_TEST(redis.size_of(list) == 4U);
}

BOOST_FIXTURE_TEST_CASE(it_looks_only_while_a_worker_holds_waiting_jobs, Watching) {
  BOOST_TEST(!watch->looks());
  BOOST_REQUIRE(begin(0));
  watch->look_for_a_while();
  BOOST_TEST(watch->looks());
  BOOST_TEST(run_until([&] { return taken_back(1); }));
  BOOST_TEST(run_until([&] { return !watch->looks(); }, 3s));
}
