#include "supervisor/queues/tenant_watch.hpp"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include "shared/config/queue_order.hpp"
#include "tests/store/loop_with_redis.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

namespace {

std::vector<CapsuleSettings> serving(const std::string& entry) {
  CapsuleSettings capsule;
  capsule.queues = QueueOrder(std::vector<QueueOrder::Entry>{QueueOrder::parse(entry)});
  return {capsule};
}

struct Watched : LoopWithRedis {
  TenantWatch::Pace pace{.pass = 50ms, .between_slices = 20ms, .census = 0ms, .idle_for = 1s};
  TenantWatch watch{loop, connection, "host:1:0123456789ab", pace};
  TenantWatch other{loop, connection, "host:2:0123456789ab", pace};

  void add_names(int count) {
    for (int i = 0; i < count; i += 500) {
      Command add{"SADD", "queues"};
      for (int j = i; j < std::min(count, i + 500); ++j) add.add(fmt::format("images~t{}", j));
      redis.command(add);
    }
  }
  double usec_per_call(const std::string& command) {
    const std::string stats(redis.command({"INFO", "commandstats"}).view().text());
    const std::size_t at = stats.find("cmdstat_" + command + ":");
    if (at == stats.npos) return 0;
    return std::stod(stats.substr(stats.find("usec_per_call=", at) + 14));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_tenant_that_another_client_pushes_to_gets_its_turn, Watched) {
  add_names(1'200);
  watch.set_capsules(serving("images~*"));
  watch.look();
  run_for(50ms);
  redis.command({"LPUSH", "queue:images~t777", "job"});
  BOOST_TEST(run_until([&] { return redis.zrange("brood:tenants:images").size() == 1; }));
  BOOST_TEST(redis.zrange("brood:tenants:images").front().first == "t777");
}

BOOST_FIXTURE_TEST_CASE(a_paused_tenant_gets_none_until_it_goes_on, Watched) {
  add_names(2);
  redis.command({"LPUSH", "queue:images~t0", "job"});
  redis.command({"LPUSH", "queue:images~t1", "job"});
  watch.know({{"images~*"}, {"images~t0"}});
  watch.set_capsules(serving("*"));
  watch.look();
  BOOST_TEST(run_until([&] { return redis.zrange("brood:tenants:images").size() == 1; }));
  run_for(100ms);
  BOOST_TEST(redis.zrange("brood:tenants:images").size() == 1u);
  watch.know({{"images~*"}, {}});
  BOOST_TEST(run_until([&] { return redis.zrange("brood:tenants:images").size() == 2; }));
}

BOOST_FIXTURE_TEST_CASE(one_supervisor_looks_and_another_when_that_is_gone, Watched) {
  add_names(1);
  for (TenantWatch* const one : {&watch, &other}) {
    one->set_capsules(serving("images~*"));
    one->look();
  }
  BOOST_TEST(run_until([&] { return redis.get("brood:tenants_watch").has_value(); }));
  const std::string first = *redis.get("brood:tenants_watch");
  run_for(200ms);
  BOOST_TEST(*redis.get("brood:tenants_watch") == first);
  (first.starts_with("host:1") ? watch : other).stop();
  redis.command({"LPUSH", "queue:images~t0", "job"});
  BOOST_TEST(run_until([&] { return redis.get("brood:tenants_watch").value_or(first) != first; }));
  BOOST_TEST(run_until([&] { return redis.zrange("brood:tenants:images").size() == 1; }));
}

BOOST_FIXTURE_TEST_CASE(it_asks_nothing_where_no_tenant_is_known, Watched) {
  watch.set_capsules(serving("*"));
  watch.look();
  BOOST_TEST(!is_sent_within("sscan", 200ms));
  BOOST_TEST(!redis.get("brood:tenants_watch"));
}

BOOST_FIXTURE_TEST_CASE(a_tenant_without_jobs_leaves_the_list_of_queues_and_one_with_jobs_stays, Watched) {
  add_names(2);
  redis.command({"SADD", "queues", "default"});
  redis.command({"LPUSH", "queue:images~t1", "job"});
  watch.set_capsules(serving("images~*"));
  watch.look();
  BOOST_TEST(run_until([&] { return redis.smembers("queues") == Strings{"default", "images~t1"}; }));
}

BOOST_FIXTURE_TEST_CASE(fifty_thousand_names_take_redis_no_millisecond_and_are_published_in_short, Watched) {
  add_names(50'000);
  redis.command({"SADD", "queues", "default"});
  watch.set_capsules(serving("*"));
  watch.know({{"default", "images~*"}, {}});
  redis.command({"CONFIG", "RESETSTAT"});
  watch.look();
  BOOST_TEST(run_until([&] { return redis.size_of("brood:queues") == 2; }));
  BOOST_TEST(redis.smembers("brood:queues") == (Strings{"default", "images~*"}));
  for (const char* const command : {"sscan", "exists", "zadd", "evalsha"}) {
    const double usec = usec_per_call(command);
    BOOST_TEST(usec < 1'000, command << " takes " << usec);
  }
}
