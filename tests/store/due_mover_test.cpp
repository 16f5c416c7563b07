#include "supervisor/schedule/due_mover.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>

#include "tests/store/loop_with_redis.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Moving : LoopWithRedis {
  void add_many(int count) {
    for (int i = 0; i < count;) {
      Command add{"ZADD", "schedule"};
      for (int batch = 0; batch < 500 && i < count; ++batch, ++i)
        add.add(std::to_string(1000 + i)).add(R"({"class":"A","args":[)" + std::to_string(i) + R"(],"queue":"a"})");
      redis.command(add);
    }
  }

  DueMover::Done move_all(Command companion) {
    std::optional<DueMover::Done> done;
    DueMover mover(loop, connection, {});
    mover.move_all("schedule", WallTime(100'000s), usual_time_unit, std::move(companion),
                   [&](const DueMover::Done& how) { done = how; });
    BOOST_REQUIRE(run_until([&] { return done.has_value(); }));
    return *done;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(members_that_others_take_meanwhile_hide_none, Moving) {
  add_many(3000);
  // With each batch a member of the next one disappears, so the read behind the next batch begins one too late.
  const DueMover::Done done = move_all({"ZREMRANGEBYRANK", "schedule", "20", "20"});

  BOOST_TEST(done.error == "");
  BOOST_TEST(redis.size_of("schedule") == 0u);
  BOOST_TEST(done.moved < 3000u);
  BOOST_TEST(redis.size_of("queue:a") == done.moved);
}

BOOST_FIXTURE_TEST_CASE(members_that_others_add_meanwhile_double_none, Moving) {
  add_many(3000);
  // With each batch a member is added before the next one, so the read behind the next batch begins one too early.
  const DueMover::Done done = move_all(
      {"EVAL", "local i = redis.call('INCR', 'added') redis.call('ZADD', 'schedule', i, 'no job ' .. i)", "0"});

  BOOST_TEST(done.error == "");
  BOOST_TEST(done.moved == 3000u);
  BOOST_TEST(redis.size_of("queue:a") == 3000u);
}

BOOST_FIXTURE_TEST_CASE(nothing_due_is_no_error, Moving) {
  const DueMover::Done done = move_all({"PING"});
  BOOST_TEST(done.error == "");
  BOOST_TEST(done.moved == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_set_that_gets_another_type_is_reported, Moving) {
  add_many(3000);
  const DueMover::Done done = move_all({"SET", "schedule", "x"});
  BOOST_TEST(done.error.starts_with("WRONGTYPE"));
  BOOST_TEST(!done.connection_lost);
  BOOST_TEST(redis.size_of("queue:a") == done.moved);
}
