#include "shared/store/in_flight/running_lock.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/lock_list.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string in_flight = "brood:inflight:host:1:abc";
const std::string running = "brood:running:L", unique = "brood:unique:L";

Fence fence_of(const std::string& field, std::uint64_t number = 0) { return {"host:1:abc", field, number}; }

struct Site {
  RedisServer redis;
  Connection connection{redis.address()};

  Site() {
    for (const char* field : {"0.1", "0.2"}) ask(register_incarnation("host:1:abc", "{}", field));
  }
  Reply ask(const ScriptCall& call) { return connection.run(call); }
  Taken take(const Fence& fence) {
    IncarnationHoldings all;
    all.add(running_lock(fence, "L", "J1"));
    return read_taken(ask(take_running_lock(fence, all)).view());
  }
  Taken take_unique(const Fence& fence, const std::string& jid, std::chrono::milliseconds longest = 0ms) {
    return read_taken(ask(take_unique_lock(fence, "L", jid, longest)).view());
  }
  std::int64_t let_go(const Fence& fence, const std::string& jid) {
    return ask(let_go_at_begin(fence, {{0, "unique", RedisKey(unique), jid}})).view().integer();
  }
  void settle(const std::string& field, const std::string& value) { redis.command({"HSET", in_flight, field, value}); }
  void fill() { redis.command({"CONFIG", "SET", "maxmemory", "1"}); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_running_lock_is_one_incarnations_and_noted_with_it, Site) {
  BOOST_TEST((take(fence_of("0.1")) == Taken::yes));
  BOOST_TEST(redis.get(running).value_or("") == "host:1:abc/0.1#J1");
  IncarnationHoldings all;
  all.add(running_lock(fence_of("0.1"), "L", "J1"));
  BOOST_TEST(redis.hget(in_flight, holdings_field("0.1")).value_or("") == all.note());
  BOOST_TEST((take(fence_of("0.1")) == Taken::yes));  // sent again
  BOOST_TEST((take(fence_of("0.2")) == Taken::no));
  BOOST_TEST(!redis.hget(in_flight, holdings_field("0.2")));
  BOOST_TEST(redis.get(running).value_or("") == "host:1:abc/0.1#J1");
}

BOOST_FIXTURE_TEST_CASE(a_unique_lock_is_one_jobs_for_as_long_as_was_said, Site) {
  BOOST_TEST((take_unique(fence_of("0.1"), "J1") == Taken::yes));
  BOOST_TEST(redis.get(unique).value_or("") == "J1");
  BOOST_TEST(redis.integer({"PTTL", RedisKey(unique)}) == -1);
  BOOST_TEST((take_unique(fence_of("0.1"), "J1", 60s) == Taken::yes));  // it is the job's already, and stays as it is
  BOOST_TEST(redis.integer({"PTTL", RedisKey(unique)}) == -1);
  BOOST_TEST((take_unique(fence_of("0.2"), "J2") == Taken::no));
  redis.command({"DEL", unique});
  BOOST_TEST((take_unique(fence_of("0.2"), "J2", 60s) == Taken::yes));
  BOOST_TEST(redis.integer({"PTTL", RedisKey(unique)}) > 50'000);
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_has_settled_since_or_was_recovered_takes_and_releases_nothing, Site) {
  const auto is_fenced = [&](const Fence& fence) {
    redis.command({"DEL", unique});
    BOOST_TEST((take(fence) == Taken::fenced), fence.field << " " << fence.number);
    BOOST_TEST((take_unique(fence, "J1") == Taken::fenced), fence.field << " " << fence.number);
    BOOST_TEST(redis.keys("brood:running:*").empty());
    BOOST_TEST(redis.keys("brood:unique:*").empty());
    BOOST_TEST(!redis.hget(in_flight, holdings_field(fence.field)));
    redis.command({"SET", unique, "J1"});
    BOOST_TEST(let_go(fence, "J1") == 0);
    BOOST_TEST(redis.get(unique).value_or("") == "J1");
  };
  is_fenced(fence_of("0.3"));
  settle("0.1", "12 default");
  is_fenced(fence_of("0.1", 11));
  is_fenced(fence_of("0.1", 1));  // with which the number begins
  is_fenced(fence_of("0.1", 2));
  redis.command({"DEL", in_flight});
  is_fenced(fence_of("0.2"));
}

BOOST_FIXTURE_TEST_CASE(a_lock_goes_at_the_begin_of_its_job_and_no_others, Site) {
  settle("0.1", "12 default");
  redis.command({"SET", unique, "J1"});
  BOOST_TEST(let_go(fence_of("0.1", 12), "J2") == 1);
  BOOST_TEST(redis.get(unique).value_or("") == "J1");
  BOOST_TEST(let_go(fence_of("0.1", 12), "J1") == 1);
  BOOST_TEST(!redis.get(unique));
  BOOST_TEST(let_go(fence_of("0.1", 12), "J1") == 1);  // sent again
  BOOST_TEST(ask(let_go_at_begin(fence_of("0.1", 12), {})).view().integer() == 1);
}

BOOST_FIXTURE_TEST_CASE(a_full_redis_gives_and_takes_locks, Site) {
  fill();
  BOOST_TEST((take(fence_of("0.1")) == Taken::yes));
  BOOST_TEST((take_unique(fence_of("0.1"), "J1") == Taken::yes));
  BOOST_TEST(let_go(fence_of("0.1"), "J1") == 1);
  redis.command({"CONFIG", "SET", "maxmemory", "0"});
}

BOOST_FIXTURE_TEST_CASE(a_key_that_is_no_lock_is_left_alone, Site) {
  for (const std::string& key : {running, unique}) redis.command({"RPUSH", key, "text"});
  BOOST_TEST((take(fence_of("0.1")) == Taken::no_lock));
  BOOST_TEST(!redis.hget(in_flight, holdings_field("0.1")));
  BOOST_TEST((take_unique(fence_of("0.1"), "J1") == Taken::no_lock));
  BOOST_TEST(redis.size_of(running) == 1u);
  BOOST_TEST(redis.size_of(unique) == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_stray_lock_goes_unless_its_incarnation_is_there_or_another_took_it_meanwhile, Site) {
  const auto stray = [&](const std::function<bool(const RunningHolder&)>& owner_lives) {
    return let_go_of_stray_locks(connection, owner_lives);
  };
  redis.command({"SET", running, "host:1:abc/0.9#J1"});
  BOOST_TEST(stray([](const RunningHolder&) { return true; }) == 0);
  BOOST_TEST(stray([&](const RunningHolder&) {  // it registers while we look
               settle("0.9", "0 ");
               return false;
             }) == 0);
  BOOST_TEST(redis.get(running).value_or("") == "host:1:abc/0.9#J1");
  redis.command({"HDEL", in_flight, "0.9"});
  BOOST_TEST(stray([&](const RunningHolder&) {
               redis.command({"SET", running, "host:1:abc/0.8#J2"});
               return false;
             }) == 0);
  BOOST_TEST(redis.get(running).value_or("") == "host:1:abc/0.8#J2");
  BOOST_TEST(stray([](const RunningHolder&) { return false; }) == 1);
  BOOST_TEST(!redis.get(running));
}

BOOST_FIXTURE_TEST_CASE(a_lock_is_released_only_if_its_holder_is_the_one_that_was_seen, Site) {
  redis.command({"SET", unique, "J1"});
  UniqueLock lock = find_lock(connection, unique).value();
  redis.command({"SET", unique, "J2"});
  BOOST_TEST(!release_lock(connection, lock));
  BOOST_TEST(redis.get(unique).value_or("") == "J2");
  lock = find_lock(connection, unique).value();
  BOOST_TEST(release_lock(connection, lock));
  BOOST_TEST(!redis.get(unique));
}
