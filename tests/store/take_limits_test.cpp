#include "shared/store/limits/take_limits.hpp"

#include <boost/test/unit_test.hpp>
#include <thread>

#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/limits/limit.hpp"
#include "shared/store/scan.hpp"
#include "tests/store/limit_samples.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/job/limit_keeper.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Answer = LimitAnswer::Kind;

namespace {

struct Site {
  RedisServer redis;
  Connection connection{redis.address()};

  Reply ask(const ScriptCall& call) {
    Reply reply = connection.run(call);
    BOOST_REQUIRE_MESSAGE(reply.view().error().empty(), reply.view().error());
    return reply;
  }
  LimitAnswer take(const LimitHolder& who, const std::vector<Limit>& limits, std::chrono::milliseconds wait = 0ms) {
    return read_limit_answer(ask(take_limits(who, limits, wait, 0ms)).view());
  }
  Answer take(const LimitHolder& who, const Limit& one) { return take(who, std::vector{one}).kind; }
  LimitView view(const std::string& name = "erp") {
    const auto seen = read_limit_view(ask(show_limit(name)).view());
    BOOST_REQUIRE(seen.has_value());
    return *seen;
  }
  void register_worker(const LimitHolder& who) { ask(register_incarnation(who.identity, "{}", who.field)); }
  void give_back(const LimitHolder& who) {
    ask(give_back_limits(who, {{.name = "erp", .kind = LimitKind::concurrent}}));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_slot_is_taken_once_and_free_when_it_is_given_back, Site) {
  register_worker(holder(1));
  register_worker(holder(2));
  BOOST_TEST((take(holder(1), one_slot) == Answer::taken));
  BOOST_TEST((take(holder(1), one_slot) == Answer::taken));  // sent again, since the reply was lost
  BOOST_TEST((take(holder(2), one_slot) == Answer::over));
  BOOST_TEST(view().held == 1);
  give_back(holder(2));  // a holder that has none
  BOOST_TEST((take(holder(2), one_slot) == Answer::over));
  give_back(holder(1));
  BOOST_TEST((take(holder(2), one_slot) == Answer::taken));
  BOOST_TEST(view().holders == std::vector{holder(2).member()});
  BOOST_TEST(view().over == 2);
}

BOOST_FIXTURE_TEST_CASE(a_slot_is_free_in_the_very_script_that_settles_its_job, Site) {
  register_worker(holder(1));
  register_worker(holder(2));
  redis.command({"LPUSH", "queue:default", R"({"class":"A","args":[]})"});
  const auto settle = [&](std::uint64_t number, std::vector<Outcome> outcomes, int want) {
    Settlement settlement{.identity = holder(1).identity,
                          .field = holder(1).field,
                          .number = number,
                          .held_queue = number == 0 ? "" : "default",
                          .outcomes = std::move(outcomes),
                          .draw = {"default"},
                          .want = want,
                          .wait_queue = "",
                          .dead_limits = {}};
    return read_settled(ask(settle_and_fetch(settlement, wall_now())).view());
  };
  BOOST_REQUIRE(settle(0, {}, 1).payloads.size() == 1);
  BOOST_TEST((take(holder(1, 1), one_slot) == Answer::taken));
  BOOST_TEST((take(holder(2), one_slot) == Answer::over));

  BOOST_REQUIRE(settle(1, {Outcome{}}, 0).number == 2);
  BOOST_TEST(view().held == 0);
  BOOST_TEST((take(holder(2), one_slot) == Answer::taken));
  BOOST_TEST(view().reclaimed == 1);
}

BOOST_FIXTURE_TEST_CASE(a_slot_is_free_in_the_very_script_that_recovers_its_worker_and_not_before, Site) {
  register_worker(holder(1));
  register_worker(holder(2));
  BOOST_TEST((take(holder(1), one_slot) == Answer::taken));
  BOOST_TEST((take(holder(2), one_slot) == Answer::over));
  const auto as_it_is = [](const std::string&, const std::string&) { return Outcome{}; };
  recover(connection, {.identity = holder(1).identity, .slot = 0, .incarnation = 1, .record = std::nullopt}, {},
          as_it_is, as_it_is);
  BOOST_TEST(view().held == 0);
  BOOST_TEST((take(holder(2), one_slot) == Answer::taken));
}

BOOST_FIXTURE_TEST_CASE(what_a_dead_worker_sent_late_takes_nothing, Site) {
  register_worker(holder(2));
  BOOST_TEST((take(holder(1), one_slot) == Answer::taken));  // which is not known any more
  BOOST_TEST(view().held == 0);
  BOOST_TEST((take(holder(2), one_slot) == Answer::taken));
}

BOOST_FIXTURE_TEST_CASE(the_definition_that_was_made_last_holds, Site) {
  for (int i = 1; i <= 3; ++i) register_worker(holder(i));
  Limit old = limit(LimitKind::concurrent, 1), changed = limit(LimitKind::concurrent, 2);
  old.defined_ago = 60s;
  BOOST_TEST((take(holder(1), old) == Answer::taken));
  BOOST_TEST((take(holder(2), changed) == Answer::taken));
  BOOST_TEST((take(holder(3), old) == Answer::over));
  BOOST_TEST(view().amount == 2);
  give_back(holder(1));
  BOOST_TEST((take(holder(3), old) == Answer::taken));  // an older worker keeps to the later definition
  BOOST_TEST(view().amount == 2);
  // Another kind begins anew.
  BOOST_TEST((take(holder(3), limit(LimitKind::bucket, 1, 1h)) == Answer::taken));
  BOOST_TEST((take(holder(3), limit(LimitKind::bucket, 1, 1h)) == Answer::over));
}

BOOST_FIXTURE_TEST_CASE(a_limit_of_an_interval_is_reached_and_free_again_and_its_keys_go_with_it, Site) {
  for (const LimitKind kind : {LimitKind::bucket, LimitKind::window, LimitKind::leaky}) {
    redis.flush();
    const Limit two = limit(kind, 2, 400ms);
    std::optional<LimitAnswer> over;
    for (int i = 0; i < 20 && !over; ++i) {  // an interval of the clock may end meanwhile
      const LimitAnswer answer = take(holder(1), {two}, 0ms);
      if (answer.kind == Answer::over) over = answer;
    }
    BOOST_REQUIRE(over.has_value());
    BOOST_TEST(over->until_then.count() > 0);
    BOOST_TEST(over->until_then.count() <= 400);
    const LimitAnswer wait = take(holder(1), {two}, 5s);
    BOOST_TEST((wait.kind != Answer::over), "there is time enough to wait");
    BOOST_TEST(eventually([&] { return take(holder(1), two) == Answer::taken; }));
    BOOST_TEST(redis.integer({"PTTL", "brood:limit:erp:used"}) <= 800);
  }
}

BOOST_FIXTURE_TEST_CASE(a_window_never_lets_more_through_in_any_interval, Site) {
  const Limit five = limit(LimitKind::window, 5, 200ms);
  std::vector<std::int64_t> taken_at;
  const auto begun = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begun < 700ms || taken_at.size() < 10) {
    if (take(holder(1), five) == Answer::taken)
      taken_at.push_back((std::chrono::steady_clock::now() - begun) / std::chrono::milliseconds(1));
  }
  BOOST_TEST(taken_at.size() >= 10u);
  // Counted by whole intervals, since our clock is read later than the script's, by the duration of a reply.
  BOOST_TEST(view().taken == static_cast<std::int64_t>(taken_at.size()));
  const auto intervals = static_cast<std::size_t>((std::chrono::steady_clock::now() - begun) / 200ms) + 1;
  BOOST_TEST(taken_at.size() <= 5 * intervals);
}

BOOST_FIXTURE_TEST_CASE(a_take_may_use_several_points_at_once, Site) {
  const Limit three = limit(LimitKind::window, 5, 1h, 3);
  BOOST_TEST((take(holder(1), three) == Answer::taken));
  BOOST_TEST((take(holder(1), three) == Answer::over));
  BOOST_TEST((take(holder(1), limit(LimitKind::window, 5, 1h, 2)) == Answer::taken));
  BOOST_TEST(view().held == 5);
}

BOOST_FIXTURE_TEST_CASE(what_was_written_while_the_clock_was_ahead_holds_up_no_job, Site) {
  const std::int64_t tomorrow = redis.integer({"EVAL", "return redis.call('TIME')[1] * 1000 + 86400000", "0"});
  for (const LimitKind kind : {LimitKind::bucket, LimitKind::leaky}) {
    redis.flush();
    redis.command({"HSET", "brood:limit:erp:used", "l", "2", "t", std::to_string(tomorrow)});
    BOOST_TEST((take(holder(1), limit(kind, 2, 1min)) == Answer::taken));
  }
  redis.flush();
  const Limit two = limit(LimitKind::window, 2, 1min);
  redis.command({"ZADD", "brood:limit:erp:used", "-3", "sum", std::to_string(tomorrow), "1 2"});
  BOOST_TEST((take(holder(1), two) == Answer::taken));
  BOOST_TEST((take(holder(1), two) == Answer::taken));
  BOOST_TEST((take(holder(1), two) == Answer::over));
  BOOST_TEST(redis.size_of("brood:limit:erp:used") == 3u);  // both, and their sum
}

BOOST_FIXTURE_TEST_CASE(a_window_forgets_what_does_not_count_also_when_it_is_full, Site) {
  for (int i = 0; i < 5; ++i) redis.command({"ZADD", "brood:limit:erp:used", "1000", std::to_string(i) + " 1"});
  const std::string now = std::to_string(redis.integer({"EVAL", "return redis.call('TIME')[1] * 1000", "0"}));
  redis.command({"ZADD", "brood:limit:erp:used", now, "9 2", "-8", "sum"});
  BOOST_TEST((take(holder(1), limit(LimitKind::window, 2, 1h)) == Answer::over));
  BOOST_TEST(redis.size_of("brood:limit:erp:used") == 2u);
  BOOST_TEST((take(holder(1), limit(LimitKind::window, 3, 1h)) == Answer::taken));
}

BOOST_FIXTURE_TEST_CASE(a_debt_of_points_is_kept_until_it_has_run_off, Site) {
  const Limit ten = limit(LimitKind::points, 10, 1s, 10);
  BOOST_TEST((take(holder(1), ten) == Answer::taken));
  ask(give_back_limits(holder(1), {{.name = "erp", .kind = LimitKind::points, .difference = 990}}));
  BOOST_TEST(redis.integer({"PTTL", "brood:limit:erp:used"}) > 90'000);
  BOOST_TEST((take(holder(1), ten) == Answer::over));
}

BOOST_FIXTURE_TEST_CASE(points_that_were_not_used_come_back, Site) {
  const Limit eighty = limit(LimitKind::points, 100, 1h, 80);
  BOOST_TEST((take(holder(1), eighty) == Answer::taken));
  BOOST_TEST((take(holder(1), eighty) == Answer::over));
  ask(give_back_limits(holder(1), {{.name = "erp", .kind = LimitKind::points, .difference = -70}}));
  BOOST_TEST((take(holder(1), eighty) == Answer::taken));
}

BOOST_FIXTURE_TEST_CASE(all_are_taken_or_none, Site) {
  register_worker(holder(1));
  register_worker(holder(2));
  Limit crm = one_slot;
  crm.name = "crm";
  BOOST_TEST((take(holder(1), crm) == Answer::taken));
  const LimitAnswer answer = take(holder(2), {one_slot, crm});
  BOOST_TEST((answer.kind == Answer::over));
  BOOST_TEST(answer.which == 1u);
  BOOST_TEST(view().held == 0);
  const Reply names = connection.call(ask_limit_names());
  BOOST_TEST(read_name_list(names.view()).size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_full_redis_keeps_limits, Site) {
  register_worker(holder(1));
  redis.command({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_TEST(redis.command({"SET", "a", "1"}).view().error().starts_with("OOM"));
  BOOST_TEST((take(holder(1), one_slot) == Answer::taken));
  BOOST_TEST((take(holder(1), std::vector{limit(LimitKind::concurrent, 1)}).kind == Answer::taken));
  give_back(holder(1));
  BOOST_TEST(view().held == 0);
  redis.command({"CONFIG", "SET", "maxmemory", "0"});
}

BOOST_FIXTURE_TEST_CASE(a_reset_leaves_what_is_held, Site) {
  register_worker(holder(1));
  BOOST_TEST((take(holder(1), one_slot) == Answer::taken));
  const Reply reset = ask(reset_limit("erp"));
  BOOST_TEST(read_reset_limit(reset.view()).value() == 1);
  BOOST_TEST(view().taken == 0);
  BOOST_TEST(view().held == 1);
  BOOST_TEST((take(holder(3), limit(LimitKind::window, 1, 1h)) == Answer::taken));
  const Reply again = ask(reset_limit("erp"));
  BOOST_TEST(read_reset_limit(again.view()).value() == 0);
  BOOST_TEST(view().held == 0);
  BOOST_TEST(!read_reset_limit(ask(reset_limit("none")).view()).has_value());
}

namespace {

// All limits lie in one Redis, unless a test sets `of`.
struct FixedPlaces : LimitPlaces {
  std::function<Place(const std::string& limit)> of;
  std::function<Channel*(const std::string& shard)> by_name = [](const std::string&) { return nullptr; };

  explicit FixedPlaces(const Place& place) : of([place](const std::string&) { return place; }) {}
  Place place_of(const std::string& limit) override { return of(limit); }
  Channel* shard(const std::string& name) override { return by_name(name); }
};

LimitKeeper keeper_of(const LimitHolder& who, LimitPlaces& places) {
  return LimitKeeper(
      places, [who] { return who; }, [](std::chrono::milliseconds) { return true; });
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_waiting_job_gets_a_slot_when_it_is_given_back, Site) {
  register_worker(holder(1));
  register_worker(holder(2));
  BOOST_TEST((take(holder(1), one_slot) == Answer::taken));
  Connection other(redis.address());
  FixedPlaces places({&other, ""});
  LimitKeeper keeper = keeper_of(holder(2), places);
  LimitResult result;
  std::thread waiting([&] { result = keeper.take({one_slot}, 20s); });
  BOOST_TEST(
      eventually([&] { return redis.size_of("brood:limit:erp:used") == 1 && redis.keys("*waited_for").size() == 1; }));
  give_back(holder(1));
  waiting.join();
  BOOST_TEST((result.kind == LimitResult::Kind::taken));
  BOOST_TEST(view().waited == 1);
  // A nested take needs no second slot, and its end does not give the slot back.
  BOOST_TEST((keeper.take({one_slot}, 0ms).kind == LimitResult::Kind::taken));
  keeper.give_back({{.name = "erp", .kind = LimitKind::concurrent}});
  BOOST_TEST(view().held == 1);
  keeper.give_back({{.name = "erp", .kind = LimitKind::concurrent}});
  BOOST_TEST(view().held == 0);
}

BOOST_FIXTURE_TEST_CASE(a_refusal_costs_the_same_with_thousands_of_slots_and_finds_what_is_free_all_the_same, Site) {
  constexpr int slots = 2'000;
  const Limit many = limit(LimitKind::concurrent, slots);
  for (int i = 1; i <= slots; ++i) {
    redis.command({"HSET", "brood:inflight:host:1:abc", "0." + std::to_string(i), "0 q"});
    take(holder(i), many);
  }
  register_worker(holder(9'999));
  const auto looks = [&] {
    const std::string stats(redis.command({"INFO", "commandstats"}).view().text());
    const std::size_t at = stats.find("cmdstat_hget:calls=");
    return at == stats.npos ? 0L : std::stol(stats.substr(at + 19));
  };
  const long before = looks();
  BOOST_TEST((take(holder(9'999), many) == Answer::over));
  BOOST_TEST(looks() - before < 200);

  redis.command({"HDEL", "brood:inflight:host:1:abc", "0.1234"});  // as its recovery does
  int asked = 1;
  while (take(holder(9'999), many) == Answer::over && asked < 100) ++asked;
  BOOST_TEST(asked <= slots / 128 + 1);
}

// For a keeper whose connection is lost, and which does not know which of its commands still arrive.
BOOST_FIXTURE_TEST_CASE(what_is_given_back_late_does_not_free_what_was_taken_anew_in_the_same_batch, Site) {
  const LimitHolder first = holder(1);
  LimitHolder anew = first;
  anew.taking = 1;
  register_worker(first);
  take(first, one_slot);
  BOOST_TEST((take(anew, one_slot) == Answer::taken));
  ask(give_back_limits(first, {{"erp", LimitKind::concurrent}}));
  BOOST_TEST(view().held == 1);
  register_worker(holder(2));
  BOOST_TEST((take(holder(2), one_slot) == Answer::over));
  ask(give_back_limits(anew, {{"erp", LimitKind::concurrent}}));
  BOOST_TEST(view().held == 0);
}

namespace {

// Its next command is sent and applied later, and the answer is lost.
struct LateChannel : Channel {
  explicit LateChannel(Channel& its_redis) : redis(its_redis) {}
  Channel& redis;
  std::vector<Command> late;
  bool loses = false;

  Reply call(const Command& command) override { return redis.call(command); }
  void disconnect() override {}
  std::vector<Reply> call_patiently(const std::vector<Command>& commands, const Patience& patience) override {
    if (!std::exchange(loses, false)) return redis.call_patiently(commands, patience);
    late = commands;
    throw ConnectionLost("lost");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_keeper_whose_giving_back_was_lost_takes_anew, Site) {
  LateChannel channel(connection);
  register_worker(holder(1));
  FixedPlaces places({&channel});
  LimitKeeper keeper = keeper_of(holder(1), places);
  BOOST_TEST((keeper.take({one_slot}, 0ms).kind == LimitResult::Kind::taken));
  connection.run(give_back_limits(holder(9), {{"erp", LimitKind::concurrent}}));  // so that Redis knows it
  channel.loses = true;
  keeper.give_back({{"erp", LimitKind::concurrent}});
  BOOST_TEST((keeper.take({one_slot}, 0ms).kind == LimitResult::Kind::taken));
  for (const Command& command : channel.late) connection.call(command);
  BOOST_TEST(view().held == 1);
  keeper.give_back({{"erp", LimitKind::concurrent}});
  BOOST_TEST(view().held == 0);
}

BOOST_FIXTURE_TEST_CASE(nothing_is_taken_for_a_caller_that_has_given_up, Site) {
  register_worker(holder(1));
  FixedPlaces places({&connection});
  LimitKeeper keeper = keeper_of(holder(1), places);
  BOOST_TEST((keeper.take({one_slot}, 1h, [] { return false; }).kind == LimitResult::Kind::away));
  BOOST_TEST(redis.keys("brood:limit*").empty());
}

BOOST_FIXTURE_TEST_CASE(a_slot_held_from_a_shard_that_is_configured_no_more_is_free_when_its_supervisor_is_dead, Site) {
  const LimitHolder of_removed{"host:1:0123456789ab", "0.1", 0, "removed"};
  take(of_removed, one_slot);
  register_worker(holder(2));
  FixedPlaces places({&connection, "b"});
  LimitKeeper keeper = keeper_of(holder(2), places);
  redis.command({"HSET", "host:1:0123456789ab", "beat", "1"});
  BOOST_TEST((keeper.take({one_slot}, 0ms).kind == LimitResult::Kind::over));
  redis.command({"DEL", "host:1:0123456789ab"});
  BOOST_TEST((keeper.take({one_slot}, 0ms).kind == LimitResult::Kind::taken));
}

// Otherwise each of two jobs could hold what the other waits for.
BOOST_AUTO_TEST_CASE(limits_in_several_shards_are_taken_in_the_order_of_the_shards) {
  Site first, second;
  first.register_worker(holder(1));
  second.register_worker(holder(1));
  const LimitPlaces::Place one{&first.connection, "", 0}, another{&second.connection, "b", 1};
  FixedPlaces places(one);
  places.of = [&](const std::string& name) { return name == "a" ? one : another; };
  Limit a = one_slot, b = one_slot;
  a.name = "a";
  b.name = "b";
  for (const std::vector<Limit>& named : {std::vector<Limit>{a, b}, std::vector<Limit>{b, a}}) {
    LimitKeeper keeper = keeper_of(holder(1), places);
    // The first shard refuses: nothing was asked of the second yet.
    first.redis.command({"SET", "brood:limit:a", "of another type"});
    BOOST_TEST((keeper.take(named, 0ms).kind == LimitResult::Kind::refused));
    BOOST_TEST(second.redis.keys("brood:limit*").empty());
  }
}

BOOST_AUTO_TEST_CASE(a_slot_held_from_another_shard_is_free_once_that_shard_says_so) {
  Site limits, jobs;
  const LimitHolder first{"host:1:abc", "0.1", 0, "b"};
  jobs.register_worker(first);
  jobs.register_worker(holder(2));
  FixedPlaces places({&limits.connection, "b"});
  places.by_name = [&](const std::string& name) { return name == "b" ? &jobs.connection : nullptr; };
  LimitKeeper one = keeper_of({"host:1:abc", "0.1", 0}, places), two = keeper_of(holder(2), places);
  BOOST_TEST((one.take({one_slot}, 0ms).kind == LimitResult::Kind::taken));
  BOOST_TEST((two.take({one_slot}, 0ms).kind == LimitResult::Kind::over));
  jobs.redis.command({"HDEL", "brood:inflight:host:1:abc", "0.1"});  // as its recovery does
  BOOST_TEST((two.take({one_slot}, 0ms).kind == LimitResult::Kind::taken));
  BOOST_TEST(limits.view().holders == std::vector<std::string>{"host:1:abc/0.2/b"});
}
