#include <boost/test/unit_test.hpp>

#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/limits/limit.hpp"
#include "shared/store/limits/take_limits.hpp"
#include "tests/store/limit_samples.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Answer = LimitAnswer::Kind;

// The scripts of limits: what they refuse, keep and forget.  Taking and giving back is tested in take_limits_test.cpp.
namespace {

const std::string definition = "brood:limit:erp", used = "brood:limit:erp:used", bell = "brood:limit:erp:bell";
const std::string waited_for = "brood:limit:erp:waited_for", in_flight = "brood:inflight:host:1:abc";

struct Site {
  RedisServer redis;
  Connection connection{redis.address()};

  Reply ask(const ScriptCall& call) { return connection.run(call); }
  LimitAnswer take(const LimitHolder& who, const std::vector<Limit>& limits, std::chrono::milliseconds wait = 0ms,
                   std::chrono::milliseconds waited = 0ms) {
    return read_limit_answer(ask(take_limits(who, limits, wait, waited)).view());
  }
  Answer take(const LimitHolder& who, const Limit& one) { return take(who, std::vector{one}).kind; }
  void give_back(const LimitHolder& who, LimitKind kind, std::int64_t difference = 0) {
    const Reply reply = ask(give_back_limits(who, {{.name = "erp", .kind = kind, .difference = difference}}));
    BOOST_TEST(reply.view().error() == "");
  }
  std::optional<LimitView> view() { return read_limit_view(ask(show_limit("erp")).view()); }
  void register_worker(const LimitHolder& who) { ask(register_incarnation(who.identity, "{}", who.field)); }
  std::int64_t now_ms() { return redis.integer({"EVAL", "return redis.call('TIME')[1] * 1000", "0"}); }
  std::int64_t ttl(const std::string& key) { return redis.integer({"TTL", RedisKey(key)}); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_key_of_a_limit_of_another_type_is_named_and_nothing_is_written, Site) {
  for (const std::string& key : {std::string("brood:limits"), definition, used}) {
    redis.flush();
    redis.command({"SET", key, "text"});
    BOOST_TEST(ask(take_limits(holder(1), {one_slot}, 0ms, 0ms)).view().error() == "WRONGTYPE " + key + " is a string");
    BOOST_TEST(redis.keys() == std::vector{key}, boost::test_tools::per_element());
  }
  // If a limit begins anew, the old one's use is deleted, but not a foreign text.
  redis.flush();
  redis.command({"HSET", definition, "kind", "bucket", "amount", "1", "interval", "1000", "at", "0"});
  redis.command({"SET", used, "text"});
  BOOST_TEST(ask(take_limits(holder(1), {one_slot}, 0ms, 0ms)).view().error() == "WRONGTYPE " + used + " is a string");
  // A slot and a bucket are counted in different ways: this value belongs to neither.
  redis.command({"DEL", used, definition});
  redis.command({"HSET", used, "l", "1", "t", "0"});
  BOOST_TEST(ask(take_limits(holder(1), {one_slot}, 0ms, 0ms)).view().error() == "WRONGTYPE " + used + " is a hash");
}

BOOST_FIXTURE_TEST_CASE(a_limit_whose_definition_is_not_whole_is_defined_anew, Site) {
  for (const std::string& missing : {std::string("kind"), std::string("amount"), std::string("interval")}) {
    redis.flush();
    register_worker(holder(1));
    const auto later = std::to_string(now_ms() + 1'000'000);
    redis.command({"HSET", definition, "kind", "concurrent", "amount", "0", "interval", "0", "at", later});
    BOOST_TEST((take(holder(1), one_slot) == Answer::over));  // it was made later than ours
    redis.command({"HDEL", definition, missing});
    BOOST_TEST(!view().has_value());
    BOOST_TEST((take(holder(1), one_slot) == Answer::taken));
    BOOST_REQUIRE(view().has_value());
    BOOST_TEST(view()->amount == 1);
  }
}

BOOST_FIXTURE_TEST_CASE(another_interval_begins_anew_and_another_amount_does_not, Site) {
  BOOST_TEST((take(holder(1), limit(LimitKind::window, 1, 1h)) == Answer::taken));
  BOOST_TEST((take(holder(1), limit(LimitKind::window, 2, 1h, 2)) == Answer::over));
  BOOST_TEST((take(holder(1), limit(LimitKind::window, 2, 1h)) == Answer::taken));
  BOOST_TEST((take(holder(1), limit(LimitKind::window, 2, 30min, 2)) == Answer::taken));
  BOOST_TEST((take(holder(1), limit(LimitKind::leaky, 2, 30min, 2)) == Answer::taken));
  BOOST_TEST((take(holder(1), limit(LimitKind::leaky, 2, 30min, 2)) == Answer::over));
  BOOST_TEST((take(holder(1), limit(LimitKind::bucket, 2, 30min, 2)) == Answer::taken));
}

BOOST_FIXTURE_TEST_CASE(a_limit_of_any_kind_becomes_one_of_slots_and_back, Site) {
  register_worker(holder(1));
  for (const LimitKind kind : {LimitKind::bucket, LimitKind::window, LimitKind::leaky}) {
    BOOST_TEST((take(holder(1), limit(kind, 1, 1h)) == Answer::taken));
    BOOST_TEST((take(holder(1), one_slot) == Answer::taken));
    BOOST_TEST(view()->holders == std::vector{holder(1).member()}, boost::test_tools::per_element());
  }
}

BOOST_FIXTURE_TEST_CASE(a_held_slot_stays_held_when_the_limit_becomes_smaller, Site) {
  const Limit two = limit(LimitKind::concurrent, 2);
  for (const int i : {1, 2}) {
    register_worker(holder(i));
    BOOST_TEST((take(holder(i), two) == Answer::taken));
  }
  BOOST_TEST((take(holder(2), one_slot) == Answer::taken));  // sent again
  register_worker(holder(3));
  BOOST_TEST((take(holder(3), one_slot) == Answer::over));
}

BOOST_FIXTURE_TEST_CASE(a_window_whose_sum_alone_is_left_is_waited_for_as_long_as_it_is, Site) {
  redis.command({"ZADD", used, "-4", "sum"});
  BOOST_TEST(take(holder(1), std::vector{limit(LimitKind::window, 3, 1h)}).until_then.count() == 3'600'000);
}

BOOST_FIXTURE_TEST_CASE(a_slot_of_the_previous_job_is_taken_over_by_the_next, Site) {
  register_worker(holder(1));
  register_worker(holder(2));
  BOOST_TEST((take(holder(1), one_slot) == Answer::taken));
  redis.command({"HSET", in_flight, "0.1", "1 default"});
  BOOST_TEST((take(holder(1, 1), one_slot) == Answer::taken));
  BOOST_TEST((take(holder(2), one_slot) == Answer::over));
  BOOST_TEST(view()->reclaimed == 0);
  give_back(holder(1, 7), LimitKind::concurrent);  // late: from an earlier job
  BOOST_TEST(redis.size_of(used) == 1u);
  BOOST_TEST(ttl(used) > 89 * 86400);
}

BOOST_FIXTURE_TEST_CASE(slots_of_dead_holders_are_freed_and_unreadable_ones_stay_held, Site) {
  register_worker(holder(2));
  redis.command({"ZADD", used, "0", "nobody", "0", holder(1).member()});
  BOOST_TEST((take(holder(2), one_slot) == Answer::taken));
  BOOST_TEST(redis.size_of(used) == 1u);
  BOOST_TEST(view()->reclaimed == 2);
  redis.command({"ZADD", used, "0", "other:1:abc/0.1"});
  redis.command({"SET", "brood:inflight:other:1:abc", "text"});
  BOOST_TEST((take(holder(3), limit(LimitKind::concurrent, 2)) == Answer::over));
  BOOST_TEST(view()->held == 2);
}

BOOST_FIXTURE_TEST_CASE(a_window_says_when_so_much_is_free_again, Site) {
  const Limit three = limit(LimitKind::window, 3, 1h);
  const std::int64_t now = now_ms();
  const auto ago = [&](std::int64_t minutes) { return std::to_string(now - minutes * 60'000); };
  redis.command({"ZADD", used, "-4", "sum", ago(50), "1 1", ago(30), "2 1", ago(10), "3 1"});
  const auto minutes = [&](std::int64_t wanted) {
    return std::chrono::duration_cast<std::chrono::minutes>(
               take(holder(1), std::vector{limit(LimitKind::window, 3, 1h, wanted)}).until_then + 30s)
        .count();
  };
  BOOST_TEST(minutes(1) == 10);
  BOOST_TEST(minutes(2) == 30);
  BOOST_TEST(minutes(3) == 50);
  BOOST_TEST(redis.keys("*waited_for").empty());
  BOOST_TEST((take(holder(1), std::vector{three}, 5min).kind == Answer::over));
  BOOST_TEST((take(holder(1), std::vector{three}, 20min).kind == Answer::wait));
  BOOST_TEST(redis.keys("*waited_for").empty());  // a window has no bell
  BOOST_TEST((take(holder(1), std::vector{limit(LimitKind::window, 3, 1h, 4)}, 24h).kind == Answer::over));
}

BOOST_FIXTURE_TEST_CASE(of_several_limits_that_are_reached_the_longest_wait_is_told, Site) {
  register_worker(holder(1));
  register_worker(holder(2));
  const auto named = [](const char* name, Limit one) {
    one.name = name;
    return one;
  };
  const Limit hour = named("hour", limit(LimitKind::window, 1, 1h)),
              day = named("day", limit(LimitKind::window, 1, 24h));
  BOOST_TEST((take(holder(1), std::vector{hour, day, one_slot}).kind == Answer::taken));
  BOOST_TEST(take(holder(2), std::vector{hour, day}).which == 1u);
  BOOST_TEST(take(holder(2), std::vector{day, hour}).which == 0u);
  BOOST_TEST(take(holder(2), std::vector{one_slot, day}).which == 0u);  // it is not known when
  BOOST_TEST(take(holder(2), std::vector{day, one_slot, hour}).which == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_limit_is_known_as_long_as_was_said_and_written_down_once_an_hour, Site) {
  register_worker(holder(1));
  redis.command({"ZADD", "brood:limits", "1000", "long ago"});
  BOOST_TEST((take(holder(1), one_slot) == Answer::taken));
  const auto names = redis.zrange("brood:limits");
  BOOST_REQUIRE(names.size() == 1u);
  BOOST_TEST(names.front().first == "erp");
  BOOST_TEST(ttl(definition) > 86000);
  redis.command({"PERSIST", definition});
  redis.command({"HSET", definition, "hour", std::to_string(now_ms() / 3'600'000)});  // should an hour end meanwhile
  BOOST_TEST((take(holder(1), one_slot) == Answer::taken));
  BOOST_TEST(ttl(definition) == -1);
  BOOST_TEST((take(holder(1), limit(LimitKind::concurrent, 2)) == Answer::taken));  // or when it is another
  BOOST_TEST(ttl(definition) > 86000);
  redis.command({"PERSIST", definition});
  redis.command({"HSET", definition, "hour", "1"});
  BOOST_TEST((take(holder(1), one_slot) == Answer::taken));
  BOOST_TEST(ttl(definition) > 86000);
}

BOOST_FIXTURE_TEST_CASE(the_bell_rings_only_for_jobs_that_wait_for_a_slot, Site) {
  register_worker(holder(1));
  register_worker(holder(2));
  const auto take_and_give_back = [&] {
    BOOST_TEST((take(holder(1), one_slot) == Answer::taken));
    give_back(holder(1), LimitKind::concurrent);
  };
  take_and_give_back();
  BOOST_TEST(redis.keys(bell).empty());
  BOOST_TEST((take(holder(1), one_slot) == Answer::taken));
  BOOST_TEST((take(holder(2), std::vector{one_slot}, 10s).kind == Answer::wait));
  BOOST_TEST(redis.integer({"PTTL", RedisKey(waited_for)}) > 10'000);
  give_back(holder(1), LimitKind::concurrent);
  BOOST_TEST(redis.size_of(bell) == 1u);
  BOOST_TEST(redis.integer({"PTTL", RedisKey(bell)}) > 0);
  BOOST_TEST(redis.integer({"PTTL", RedisKey(bell)}) <= 5000);
  for (int i = 0; i < 120; ++i) redis.command({"LPUSH", bell, "1"});
  take_and_give_back();
  BOOST_TEST(redis.size_of(bell) == 100u);
  redis.command({"DEL", bell});
  redis.command({"SET", bell, "somebody else's"});
  take_and_give_back();
  BOOST_TEST(ttl(bell) == -1);
}

BOOST_FIXTURE_TEST_CASE(the_time_waited_is_added_up, Site) {
  register_worker(holder(1));
  BOOST_TEST((take(holder(1), std::vector{one_slot}, 0ms, 250ms).kind == Answer::taken));
  BOOST_TEST((take(holder(1), std::vector{one_slot}, 0ms, 50ms).kind == Answer::taken));
  BOOST_TEST((take(holder(1), std::vector{one_slot}, 0ms, 0ms).kind == Answer::taken));
  BOOST_TEST(view()->taken == 3);
  BOOST_TEST(view()->waited == 2);
  BOOST_TEST(view()->waited_ms == 300);
}

BOOST_FIXTURE_TEST_CASE(a_leaky_limit_runs_empty_in_one_interval_and_never_below, Site) {
  const Limit leaky = limit(LimitKind::leaky, 2, 1h);
  redis.command({"HSET", used, "l", "2", "t", std::to_string(now_ms() - 1'860'000)});  // 31 minutes ago
  BOOST_TEST((take(holder(1), leaky) == Answer::taken));
  BOOST_TEST((take(holder(1), leaky) == Answer::over));
  BOOST_TEST(view()->held > 1.9);
  BOOST_TEST(!redis.hget(used, "ms").has_value());
  redis.command({"HSET", used, "l", "2", "t", std::to_string(now_ms() - 36'000'000)});
  BOOST_TEST((take(holder(1), leaky) == Answer::taken));
  BOOST_TEST((take(holder(1), leaky) == Answer::taken));
  BOOST_TEST((take(holder(1), leaky) == Answer::over));
}

BOOST_FIXTURE_TEST_CASE(points_come_back_in_a_full_redis_and_never_below_none, Site) {
  const Limit ten = limit(LimitKind::points, 10, 1h, 10);
  BOOST_TEST((take(holder(1), ten) == Answer::taken));
  const std::int64_t kept_for = ttl(used);
  redis.command({"CONFIG", "SET", "maxmemory", "1"});
  give_back(holder(1), LimitKind::points, -1000);
  redis.command({"CONFIG", "SET", "maxmemory", "0"});
  BOOST_TEST(redis.hget(used, "l").value_or("") == "0");
  BOOST_TEST(ttl(used) > kept_for - 60);  // not shortened
  give_back(holder(1), LimitKind::points, 0);
  BOOST_TEST(redis.hget(used, "l").value_or("") == "0");
  redis.command({"HDEL", used, "l", "ms"});
  give_back(holder(1), LimitKind::points, 3);
  BOOST_TEST(redis.hget(used, "l").value_or("") == "3");
  redis.command({"HSET", used, "ms", "1000"});
  give_back(holder(1), LimitKind::points, 1'000'000'000'000'000'000);
  BOOST_TEST(ttl(used) > 3'900'000'000);
  give_back(holder(1), LimitKind::concurrent);  // what is counted as points is no slot
  redis.command({"DEL", used});
  give_back(holder(1), LimitKind::points, 3);
  BOOST_TEST(redis.keys(used).empty());
}

BOOST_FIXTURE_TEST_CASE(what_is_used_of_an_interval_is_shown_and_begins_anew_with_a_reset, Site) {
  for (const LimitKind kind : {LimitKind::bucket, LimitKind::window, LimitKind::leaky, LimitKind::points}) {
    redis.flush();
    BOOST_TEST((take(holder(1), limit(kind, 5, 1h, 2)) == Answer::taken));
    BOOST_TEST(view()->held > 1.9);
    BOOST_TEST(view()->holders.empty());
    BOOST_TEST(read_reset_limit(ask(reset_limit("erp")).view()).value_or(-1) == 0);
    BOOST_TEST(redis.keys(used).empty());
    BOOST_TEST(view()->held == 0);
    BOOST_TEST(view()->taken == 0);
  }
}

BOOST_FIXTURE_TEST_CASE(a_foreign_value_is_shown_as_nothing_used, Site) {
  for (const Limit& one : {one_slot, limit(LimitKind::window, 1, 1h), limit(LimitKind::bucket, 1, 1h)}) {
    redis.flush();
    register_worker(holder(1));
    BOOST_TEST((take(holder(1), one) == Answer::taken));
    redis.command({"SET", used, "text"});
    BOOST_REQUIRE(view().has_value());
    BOOST_TEST(view()->held == 0);
  }
  BOOST_TEST(ask(forget_holders("erp", {holder(1)})).view().integer() == 0);
  redis.command({"HSET", definition, "kind", "concurrent"});
  BOOST_TEST(read_reset_limit(ask(reset_limit("erp")).view()).value_or(-1) == 0);
  redis.command({"SET", definition, "text"});
  BOOST_TEST(!view().has_value());
  BOOST_TEST(!read_reset_limit(ask(reset_limit("erp")).view()).has_value());
}

BOOST_FIXTURE_TEST_CASE(a_holder_of_another_shard_is_forgotten_for_the_job_that_was_asked_for_alone, Site) {
  LimitHolder there = holder(1, 4);
  there.elsewhere = "b";
  BOOST_TEST((take(there, one_slot) == Answer::taken));
  LimitHolder before = there;
  before.number = 3;
  BOOST_TEST(ask(forget_holders("erp", {before})).view().integer() == 0);
  BOOST_TEST(redis.size_of(used) == 1u);
  BOOST_TEST(ask(forget_holders("erp", {there})).view().integer() == 1);
  BOOST_TEST(redis.keys(used).empty());
}
