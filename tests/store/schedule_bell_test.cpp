#include "supervisor/schedule_bell.hpp"

#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>

#include "tests/store/loop_with_redis.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Later {
  static constexpr std::string_view job_class = "Later";
  void perform() {}
};

struct Listening : LoopWithRedis {
  int rings = 0;
  ScheduleBell bell{loop, connection, [this] { ++rings; }};
  Client client{redis.url()};

  bool listens() {
    return run_until([&] {
      const std::string clients(redis.command({"CLIENT", "LIST"}).view().text());
      return clients.find("cmd=blpop") != std::string::npos;
    });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(whoever_listens_hears_of_each_push_to_the_schedule_and_nothing_is_left, Listening) {
  bell.listen();
  BOOST_REQUIRE(listens());
  client.enqueue_in(1h, Later{});
  BOOST_TEST(run_until([&] { return rings == 1; }));
  BOOST_REQUIRE(listens());
  client.buffer({});
  client.enqueue_in(1h, Later{});
  BOOST_TEST(run_until([&] { return rings == 2; }));
  BOOST_TEST(redis.keys() == std::vector<std::string>(
                                 {"brood:pushes:" + redis.keys("brood:pushes:*").front().substr(13), "schedule"}),
             boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_push_to_a_queue_rings_nobody_and_a_ring_that_nobody_hears_is_lost, Listening) {
  client.enqueue_in(1h, Later{});
  BOOST_TEST(redis.keys() == std::vector<std::string>{"schedule"}, boost::test_tools::per_element());
  bell.listen();
  BOOST_REQUIRE(listens());
  client.enqueue(Later{});
  run_for(100ms);
  BOOST_TEST(rings == 0);
}

BOOST_FIXTURE_TEST_CASE(a_ring_that_is_refused_fails_no_push, Listening) {
  redis.command({"SET", "brood:doorbell:schedule", "somebody else's"});
  redis.command({"ACL", "SETUSER", "default", "-unlink"});
  client.enqueue_in(1h, Later{});
  BOOST_TEST(redis.size_of("schedule") == 1u);
  bell.listen();
  run_for(100ms);
  BOOST_TEST(rings == 0);
}

BOOST_FIXTURE_TEST_CASE(it_listens_again_when_redis_comes_back_and_no_more_after_a_stop, Listening) {
  bell.listen();
  BOOST_REQUIRE(listens());
  redis.kill9();
  redis.restart();
  BOOST_REQUIRE(listens());
  bell.stop();
  client.enqueue_in(1h, Later{});
  run_for(100ms);
  BOOST_TEST(rings == 0);
}
