#include <boost/test/unit_test.hpp>
#include <brood/api.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "shared/job/payload.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Remind {
  std::string whom;
  static constexpr std::string_view job_class = "Remind";
  void perform() {}
};

const auto evening = std::chrono::system_clock::from_time_t(2'000'000'000) + 123'456'789ns;

}  // namespace

BOOST_AUTO_TEST_CASE(a_cancelled_job_leaves_the_schedule) {
  RedisServer redis;
  Client client{redis.url()};
  const std::string ann = client.enqueue_in(1h, Remind{"Ann"}), bob = client.enqueue_in(2h, Remind{"Bob"});
  BOOST_TEST(client.cancel(ann));
  BOOST_REQUIRE(redis.size_of("schedule") == 1u);
  BOOST_TEST(Payload::parse(redis.zrange("schedule").front().first).jid() == bob);
  BOOST_TEST(!client.cancel(ann));  // not any more
  BOOST_TEST(!client.cancel("nobody"));
  BOOST_TEST(!client.cancel(""));
  BOOST_TEST(redis.size_of("schedule") == 1u);
}

BOOST_AUTO_TEST_CASE(a_unique_job_that_is_cancelled_lets_go_of_its_lock) {
  RedisServer redis;
  Client client{redis.url()};
  const auto later = std::chrono::system_clock::now() + 1h;
  for (const bool by_its_time : {false, true}) {
    const std::string jid = client.enqueue_at(later, Remind{"Ann"}, {.unique = true});
    BOOST_REQUIRE(!jid.empty());
    BOOST_TEST((by_its_time ? client.cancel(jid, later) : client.cancel(jid)));
    BOOST_TEST(redis.size_of("schedule") == 0u);
    BOOST_TEST(redis.keys("brood:unique:*").empty());
  }
  BOOST_TEST(!client.enqueue(Remind{"Ann"}, {.unique = true}).empty());
}

BOOST_AUTO_TEST_CASE(only_a_job_of_exactly_this_jid_is_cancelled) {
  RedisServer redis;
  Client client{redis.url()};
  client.enqueue_in(1h, Remind{"abc"}, {.jid = "abcd"});  // the jid's text is in its arguments and in its own
  redis.command({"ZADD", "schedule", "2000000000", "no job, but \"jid\":\"abc\""});
  BOOST_TEST(!client.cancel("abc"));
  client.enqueue_in(1h, Remind{"Ann"}, {.jid = "a*[b]?\\"});
  BOOST_TEST(!client.cancel("a*"));
  BOOST_TEST(redis.size_of("schedule") == 3u);
  BOOST_TEST(client.cancel("a*[b]?\\"));
  BOOST_TEST(redis.size_of("schedule") == 2u);
}

BOOST_AUTO_TEST_CASE(a_job_is_found_among_thousands) {
  RedisServer redis;
  Client client{redis.url()};
  const auto jids = client.enqueue_bulk_at(evening, std::vector<Remind>(3000));
  BOOST_TEST(client.cancel(jids[2999]));
  BOOST_TEST(client.cancel(jids[0]));
  BOOST_TEST(client.cancel(jids[1500], evening));  // all have this time
  BOOST_TEST(!client.cancel(jids[1500], evening));
  BOOST_TEST(redis.size_of("schedule") == 2997u);
}

BOOST_AUTO_TEST_CASE(with_its_time_a_job_is_looked_for_only_there) {
  RedisServer redis;
  Client client{redis.url()};
  const std::string jid = client.enqueue_at(evening, Remind{"Ann"});
  client.enqueue_at(evening + 1s, Remind{"Bob"});
  BOOST_TEST(!client.cancel(jid, evening + 1s));
  BOOST_TEST(!client.cancel(jid, evening - 1ms));
  BOOST_TEST(redis.size_of("schedule") == 2u);
  BOOST_TEST(client.cancel(jid, evening));
  BOOST_TEST(redis.size_of("schedule") == 1u);
  const Reply stats = redis.command({"INFO", "commandstats"});
  BOOST_TEST(std::string(stats.view().text()).find("cmdstat_zscan:") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(of_two_cancellations_one_finds_the_job) {
  RedisServer redis;
  Client one{redis.url()}, other{redis.url()};
  for (int i = 0; i < 20; ++i) {
    const std::string jid = one.enqueue_in(1h, Remind{"Ann"});
    BOOST_TEST(one.cancel(jid) != other.cancel(jid));
  }
  BOOST_TEST(redis.size_of("schedule") == 0u);
}

BOOST_AUTO_TEST_CASE(a_schedule_that_is_none_is_a_redis_error) {
  RedisServer redis;
  redis.command({"SET", "schedule", "something else"});
  Client client{redis.url()};
  BOOST_CHECK_THROW(client.cancel("abc"), RedisError);
  BOOST_CHECK_THROW(client.cancel("abc", evening), RedisError);
}

BOOST_AUTO_TEST_CASE(a_time_that_no_clock_holds_is_a_cancellation_all_the_same) {
  RedisServer redis;
  redis.command({"HSET", "it-abc", "ex", "1", "cancelled", "9223372036854775807"});
  Api api{redis.url()};
  BOOST_REQUIRE(api.iteration("abc").has_value());
  BOOST_TEST((api.iteration("abc")->cancelled_at == Time{}));
  BOOST_TEST((Client{redis.url()}.cancel_iteration("abc") == Time{}));
}

BOOST_AUTO_TEST_CASE(an_iterable_job_without_a_jid_is_none) {
  RedisServer redis;
  BOOST_CHECK_THROW(Client{redis.url()}.cancel_iteration(""), std::invalid_argument);
  BOOST_TEST(redis.keys().empty());
}
