#include <boost/test/unit_test.hpp>
#include <brood/api.hpp>
#include <optional>

#include "tests/support/in_child.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/redis_stats.hpp"

using namespace brood;

namespace {

void fill(RedisServer& redis, const std::string& queue, int jobs) {
  redis.command({"SADD", "queues", queue});
  for (int i = 0; i < jobs; ++i)
    redis.command({"RPUSH", "queue:" + queue, R"({"class":"OkJob","args":[],"jid":"j)" + std::to_string(i) + "\"}"});
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_forked_child_has_a_connection_of_its_own) {
  RedisServer redis;
  fill(redis, "short", 1);
  fill(redis, "long", 40);
  Api api{redis.url()};
  const Queue short_queue = api.queue("short"), long_queue = api.queue("long");
  BOOST_TEST(short_queue.size() == 1U);
  const std::size_t before = connections_of(redis);
  // Both ask at once: on one socket this would mix their replies.
  ForkedChild child([&] {
    bool right = true;
    for (int i = 0; i < 300; ++i) right = right && long_queue.size() == 40 && long_queue.page(0, 50).size() == 40;
    return right;
  });
  bool right = true;
  while (child.is_running()) right = right && short_queue.size() == 1;
  BOOST_TEST(child.was_well());
  BOOST_TEST(right);
  BOOST_TEST(short_queue.size() == 1U);  // on its former connection
  BOOST_TEST(connections_of(redis) == before + 1);
}

BOOST_AUTO_TEST_CASE(a_child_goes_on_with_what_was_set_and_begun) {
  RedisServer redis;
  fill(redis, "default", 600);
  Api api{redis.url()};
  api.limit_dead(3, std::chrono::hours(1));
  std::size_t seen = 0;
  bool well = false;
  api.queue("default").each([&](const JobRecord&) {
    if (++seen == 300) {  // in the middle of a page
      well = in_child([&] {
        for (int i = 1; i <= 5; ++i)
          redis.command({"ZADD", "retry", std::to_string(i),
                         R"({"class":"OkJob","args":[],"jid":"r)" + std::to_string(i) + "\"}"});
        return api.retries().kill_all().done == 5 && api.dead().size() == 2 && api.queue("default").size() == 600;
      });
    }
    return true;
  });
  BOOST_TEST(well);
  BOOST_TEST(seen == 600U);
}

BOOST_AUTO_TEST_CASE(a_child_may_end_with_its_parents_api_unused) {
  RedisServer redis;
  fill(redis, "default", 1);
  std::optional<Api> api(redis.url());
  BOOST_TEST(api->queue("default").size() == 1U);
  BOOST_TEST(in_child([&] {
    api.reset();
    return true;
  }));
  const std::size_t before = connections_of(redis);
  BOOST_TEST(api->queue("default").size() == 1U);
  BOOST_TEST(connections_of(redis) == before);
}
