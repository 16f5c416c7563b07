#include "shared/store/report/ruby_processes.hpp"

#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>
#include <set>

#include "shared/job/payload.hpp"
#include "shared/redis/connection.hpp"
#include "shared/scoreboard/told_times.hpp"
#include "supervisor/queues/queue_rivals.hpp"
#include "tests/store/loop_with_redis.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// A Redis with processes, as shown by their heartbeats.
struct Fleet {
  RedisServer redis;
  Connection connection{redis.address()};
  int asked = 0;

  void lives(const std::string& identity, const std::string& info) {
    redis.command({"SADD", "processes", identity});
    redis.command({"HSET", identity, "info", info, "busy", "0"});
  }
  AskRedis ask() {
    return [this](const std::vector<Command>& commands) {
      ++asked;
      return connection.pipeline(commands);
    };
  }
  std::string pushed_created_at() {
    redis.command({"DEL", "queue:default"});
    Client(redis.url()).push({.job_class = "A"});
    return std::string(Payload::parse(redis.lrange("queue:default").at(0)).raw("created_at").value());
  }
};

bool is_milliseconds(const std::string& number) { return number.find('.') == std::string::npos; }

CapsuleSettings capsule(std::vector<QueueOrder::Entry> queues, int concurrency = 1) {
  return {.concurrency = concurrency, .queues = QueueOrder(std::move(queues))};
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(living_processes_are_known_by_their_heartbeats, Fleet) {
  lives("six:1:a", R"({"identity":"six:1:a","queues":["default","low"]})");
  lives("seven:1:a", R"({"version":"7.3.10","queues":["default"]})");
  lives("brood:1:a", R"({"version":"0.1.0","queues":["default"]})");
  lives("odd:1:a", "no json");
  redis.command({"SADD", "processes", "dead:1:a"});

  auto processes = ruby_processes(ask());
  std::sort(processes.begin(), processes.end(), [](const auto& a, const auto& b) { return a.identity < b.identity; });
  BOOST_TEST_REQUIRE(processes.size() == 2U);
  BOOST_TEST(processes[0].identity == "seven:1:a");
  BOOST_CHECK((processes[0].release == SidekiqRelease{7, 3, 10}));
  BOOST_CHECK((processes[1].release == SidekiqRelease{6, 0, 0}));
  BOOST_TEST(processes[1].queues == (std::vector<std::string>{"default", "low"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(the_fleet_is_as_old_as_its_oldest_and_asked_once_a_minute, Fleet) {
  FleetRelease nobody;
  BOOST_CHECK(!nobody.oldest(ask()));
  lives("eight:1:a", R"({"version":"8.1.7"})");
  BOOST_CHECK(!nobody.oldest(ask()));
  BOOST_TEST(asked == 1);

  FleetRelease release;
  BOOST_CHECK((release.oldest(ask()) == SidekiqRelease{8, 1, 7}));
  lives("seven:1:a", R"({"version":"7.0.9"})");
  BOOST_CHECK((FleetRelease{}.oldest(ask()) == SidekiqRelease{7, 0, 9}));
}

BOOST_FIXTURE_TEST_CASE(a_process_known_to_be_broods_is_not_asked_for_again, Fleet) {
  for (int i = 0; i < 20; ++i) lives("brood:" + std::to_string(i) + ":a", R"({"version":"0.1.0"})");
  lives("seven:1:a", R"({"version":"7.3.10"})");
  std::set<std::string, std::less<>> broods;
  BOOST_TEST(ruby_processes(ask(), &broods).size() == 1U);
  BOOST_TEST(broods.size() == 20U);
  redis.command({"SREM", "processes", "brood:0:a"});
  redis.command({"CONFIG", "RESETSTAT"});
  BOOST_TEST(ruby_processes(ask(), &broods).size() == 1U);
  const std::string stats(redis.command({"INFO", "commandstats"}).view().text());
  BOOST_TEST(stats.find("cmdstat_hget:calls=1,") != std::string::npos, stats);
  BOOST_TEST(broods.size() == 19U);
}

BOOST_FIXTURE_TEST_CASE(a_fleet_that_could_not_be_asked_is_asked_again_soon_and_not_at_once, Fleet) {
  lives("seven:1:a", R"({"version":"7.0.9"})");
  FleetRelease release;
  int lost = 0;
  const auto lose = [&](const auto&) -> std::vector<Reply> {
    ++lost;
    throw ConnectionLost("away");
  };
  BOOST_CHECK(!release.oldest(lose));
  BOOST_CHECK(!release.oldest(lose));
  BOOST_TEST(lost == 1);
  // Before the minute is over after which it would ask anyway.
  BOOST_TEST(within(40s, [&] { return release.oldest(ask()) == SidekiqRelease{7, 0, 9}; }));
  BOOST_CHECK((release.known() == SidekiqRelease{7, 0, 9}));
}

BOOST_FIXTURE_TEST_CASE(a_fleet_that_does_not_let_us_look_is_none, Fleet) {
  redis.command({"SET", "processes", "a string"});
  BOOST_TEST(ruby_processes(ask()).empty());
}

BOOST_FIXTURE_TEST_CASE(a_push_has_the_times_that_the_fleet_writes, Fleet) {
  BOOST_TEST(!is_milliseconds(pushed_created_at()));  // which every release reads
  lives("eight:1:a", R"({"version":"8.1.7"})");
  BOOST_TEST(is_milliseconds(pushed_created_at()));
  lives("six:1:a", R"({"queues":["default"]})");
  BOOST_TEST(!is_milliseconds(pushed_created_at()));
  tell_times(TimeUnit::integer_milliseconds);
  BOOST_TEST(is_milliseconds(pushed_created_at()));
  unsetenv("BROOD_TIMESTAMPS");
}

BOOST_FIXTURE_TEST_CASE(pushes_do_not_ask_each_time, Fleet) {
  Client client(redis.url());
  client.push({.job_class = "A"});
  redis.command({"CONFIG", "RESETSTAT"});
  for (int i = 0; i < 10; ++i) client.push({.job_class = "A"});
  const std::string stats(redis.command({"INFO", "commandstats"}).view().text());
  BOOST_TEST(stats.find("cmdstat_lpush:calls=10,") != std::string::npos);
  BOOST_TEST(stats.find("cmdstat_smembers") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_queue_that_both_serve_is_a_rivalry) {
  const std::vector<RubyProcess> theirs{{"web:1:a", {}, {"default", "default", "mail"}}, {"web:2:b", {}, {"native"}}};
  const auto rivals = [&](const std::vector<CapsuleSettings>& ours) {
    std::string all;
    for (const QueueRivalry& one : queue_rivalries(ours, theirs)) all += one.queue + "@" + one.process + " ";
    return all;
  };
  BOOST_TEST(rivals({capsule({{"default", 0}, {"images", 0}})}) == "default@web:1:a ");
  BOOST_TEST(rivals({capsule({{"images", 0}}), capsule({{"native", 0}})}) == "native@web:2:b ");
  BOOST_TEST(rivals({capsule({{"images", 0}})}).empty());
  BOOST_TEST(rivals({capsule({{"default", 0}}, 0)}).empty());
  BOOST_TEST(rivals({capsule({{"*", 0}})}) == "default@web:1:a mail@web:1:a native@web:2:b ");
}

// Ruby's processes may start later.
BOOST_AUTO_TEST_CASE(rivals_that_come_later_are_logged_once_for_as_long_as_they_stay) {
  struct Rivals : LoopWithRedis {
    QueueRivals rivals{loop, connection, 20ms};
    long asked() {
      const std::string stats(redis.command({"INFO", "commandstats"}).view().text());
      const std::size_t at = stats.find("cmdstat_smembers:calls=");
      return at == std::string::npos ? 0 : std::stol(stats.substr(at + 23));
    }
  } here;
  here.rivals.look({capsule({{"default", 0}})});
  BOOST_TEST(here.run_until([&] { return here.asked() >= 3; }));
  here.rivals.stop();
  here.run_for(50ms);
  const long before = here.asked();
  here.run_for(100ms);
  BOOST_TEST(here.asked() == before);
}
