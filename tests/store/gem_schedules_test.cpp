#include "shared/store/periodic/gem_schedules.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string schedule = "cron_job:default:report";
const std::string ticks = schedule + ":enqueued", ids = schedule + ":jid_history";
constexpr std::chrono::sys_seconds three{1'800'000'000s};

struct Site {
  RedisServer redis;
  Connection connection{redis.address()};

  Site() { redis.command({"HSET", schedule, "status", "enabled", "last_enqueue_time", "before"}); }
  GemTick due(std::chrono::sys_seconds tick = three) const {
    return {.schedule = schedule,
            .tick = tick,
            .queue = "default",
            .payload = R"({"class":"Report","args":[],"jid":"a"})",
            .jid = "a",
            .last_push = "before",
            .now = tick + 1s};
  }
  Reply send_claim(const GemTick& tick) { return connection.run(claim_gem_tick(tick)); }
  bool claim(const GemTick& tick) { return read_gem_claim(send_claim(tick).view()); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_tick_of_the_gem_is_claimed_once_and_written_as_the_gem_does, Site) {
  redis.command({"ZADD", ticks, "1000", "long ago"});
  BOOST_TEST(claim(due()));
  BOOST_TEST(redis.lrange("queue:default") == std::vector<std::string>{due().payload},
             boost::test_tools::per_element());
  BOOST_TEST(redis.smembers("queues") == std::vector<std::string>{"default"}, boost::test_tools::per_element());
  BOOST_TEST(redis.hget(schedule, "last_enqueue_time").value_or("") == gem_time(three + 1s));
  const auto known = redis.zrange(ticks);
  BOOST_REQUIRE(known.size() == 1u);  // what is old goes
  BOOST_TEST(known.front().second == 1'800'000'000.0);
  BOOST_TEST(redis.size_of(ids) == 1u);

  BOOST_TEST(!claim(due()));
  GemTick again = due();
  again.last_push = gem_time(three + 1s);
  BOOST_TEST(!claim(again));  // a poller of Ruby's that read the schedule since
  BOOST_TEST(redis.size_of("queue:default") == 1u);
  BOOST_TEST(redis.size_of(ids) == 1u);
  GemTick next = due(three + 60s);
  next.last_push = gem_time(three + 1s);
  BOOST_TEST(claim(next));
  BOOST_TEST(redis.size_of("queue:default") == 2u);
}

BOOST_AUTO_TEST_CASE(a_date_as_argument_is_the_number_that_ruby_writes) {
  BOOST_TEST(gem_date(WallTime(1'795'237'318'514'200us)) == "1795237318.5142");
  BOOST_TEST(gem_date(WallTime(1'795'237'318'514'201'999ns)) == "1795237318.514201");
  BOOST_TEST(gem_date(WallTime(1'795'237'318s)) == "1795237318.0");
}

BOOST_FIXTURE_TEST_CASE(what_is_disabled_gone_or_was_pushed_since_comes_to_nothing, Site) {
  const auto comes_to_nothing = [&](const GemTick& tick) {
    BOOST_TEST(!claim(tick));
    BOOST_TEST(redis.keys(ticks).empty());
    BOOST_TEST(redis.keys("queue*").empty());
  };
  GemTick other = due();
  other.last_push = "";
  comes_to_nothing(other);
  redis.command({"HSET", schedule, "status", "disabled"});
  comes_to_nothing(due());
  redis.command({"DEL", schedule});
  comes_to_nothing(due());
  comes_to_nothing(other);
}

BOOST_FIXTURE_TEST_CASE(the_first_push_of_a_schedule_of_the_gem_is_known_by_nothing, Site) {
  redis.command({"HDEL", schedule, "last_enqueue_time"});
  BOOST_TEST(!claim(due()));
  GemTick first = due();
  first.last_push = "";
  BOOST_TEST(claim(first));
}

BOOST_FIXTURE_TEST_CASE(ten_ids_of_pushed_jobs_are_kept_for_the_gem, Site) {
  for (int i = 0; i < 20; ++i) redis.command({"RPUSH", ids, "older " + std::to_string(i)});
  BOOST_TEST(claim(due()));
  const auto kept = redis.lrange(ids);
  BOOST_REQUIRE(kept.size() == 10u);
  BOOST_TEST(kept.front() == R"({"jid":"a","enqueued":")" + gem_time(three + 1s) + "\"}");
  BOOST_TEST(kept.back() == "older 8");
}

BOOST_FIXTURE_TEST_CASE(a_key_of_the_gem_of_another_type_is_named_and_nothing_is_written, Site) {
  for (const std::string& key : {schedule, ticks, ids, std::string("queue:default"), std::string("queues")}) {
    redis.flush();
    redis.command({"HSET", schedule, "status", "enabled", "last_enqueue_time", "before"});
    redis.command({"DEL", key});
    redis.command({"SET", key, "text"});
    const auto before = redis.keys();
    BOOST_TEST(send_claim(due()).view().error() == "WRONGTYPE " + key + " is a string");
    BOOST_TEST(redis.keys() == before, boost::test_tools::per_element());
    if (key != schedule) BOOST_TEST(redis.hget(schedule, "last_enqueue_time").value_or("") == "before");
  }
}
