#include "supervisor/queues/key_change_listener.hpp"

#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>

#include <optional>

#include "supervisor/schedule/scheduler.hpp"
#include "tests/store/loop_with_redis.hpp"
#include "tests/support/redis_clients.hpp"
#include "tests/support/redis_stats.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Later {
  static constexpr std::string_view job_class = "Later";
  void perform() {}
};

struct Watching : LoopWithRedis {
  std::map<std::string, int> changes;
  std::vector<bool> heard;  // the states that it has reported
  std::function<void()> also = [] {};
  KeyChangeListener watch{
      loop,
      connection,
      {{"schedule", [this] { ++changes["schedule"], also(); }}, {"paused", [this] { ++changes["paused"]; }}},
      [this](bool hears) { heard.push_back(hears); }};

  void begin() {
    watch.listen();
    BOOST_REQUIRE(run_until([&] { return watch.hears(); }));
    changes.clear();
  }
  bool hears_of(const std::string& key) {
    return run_until([&] { return changes[key] > 0; }, 2s);
  }
  bool nobody_listens() { return RedisClient::of(redis, "brood-key-").empty(); }
  int calls(const std::string& command) {
    const std::string text(redis.command({"INFO", "commandstats"}).view().text()),
        before = "cmdstat_" + command + ":calls=";
    const auto at = text.find(before);
    return at == std::string::npos ? 0 : std::stoi(text.substr(at + before.size()));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(each_change_of_each_key_is_noticed_whichever_client_makes_it, Watching) {
  begin();
  for (int round = 0; round < 3; ++round) {
    redis.command({"ZADD", "schedule", std::to_string(round), "job"});
    BOOST_TEST(hears_of("schedule"));
    BOOST_TEST(changes["paused"] == 0);
    changes.clear();
    redis.command({"SADD", "paused", std::to_string(round)});
    BOOST_TEST(hears_of("paused"));
    BOOST_TEST(changes["schedule"] == 0);
    changes.clear();
  }
  Client client(redis.url());
  client.enqueue_in(1h, Later{});
  BOOST_TEST(hears_of("schedule"));
  changes.clear();
  redis.command({"EVAL", "redis.call('DEL', KEYS[1])", "1", "schedule"});
  BOOST_TEST(hears_of("schedule"));
  changes.clear();
  redis.flush();
  BOOST_TEST(hears_of("schedule"));
  BOOST_TEST(hears_of("paused"));
}

BOOST_FIXTURE_TEST_CASE(what_was_changed_before_it_heard_counts_as_changed, Watching) {
  redis.command({"ZADD", "schedule", "1", "job"});
  watch.listen();
  BOOST_TEST(hears_of("schedule"));
  BOOST_TEST(hears_of("paused"));
  BOOST_TEST(heard == std::vector<bool>{true}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(other_keys_and_what_others_publish_are_nothing_to_it, Watching) {
  begin();
  redis.command({"SADD", "queues", "default"});
  redis.command({"PUBLISH", "__redis__:invalidate", "schedule"});
  run_for(100ms);
  BOOST_TEST(changes.empty());
  BOOST_TEST(watch.hears());
}

BOOST_FIXTURE_TEST_CASE(a_change_during_a_look_is_noticed_again, Watching) {
  begin();
  also = [&] {
    if (changes["schedule"] == 1) redis.command({"ZADD", "schedule", "2", "behind the look"});
  };
  redis.command({"ZADD", "schedule", "1", "job"});
  BOOST_TEST(run_until([&] { return changes["schedule"] >= 2; }, 2s));
}

BOOST_FIXTURE_TEST_CASE(a_key_that_changes_all_the_time_is_read_no_more_than_a_hundred_times_a_second, Watching) {
  begin();
  redis.command({"CONFIG", "RESETSTAT"});
  const auto begun = std::chrono::steady_clock::now();
  int pushed = 0;
  run_until(
      [&] {
        for (int i = 0; i < 100; ++i) redis.command({"ZADD", "schedule", std::to_string(++pushed), "job"});
        return changes["schedule"] >= 20;
      },
      10s);
  const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  BOOST_TEST(changes["schedule"] >= 20);
  BOOST_TEST(calls("exists") <= 1 + took * 100);
}

BOOST_FIXTURE_TEST_CASE(a_watch_of_what_does_not_change_asks_nothing, Watching) {
  begin();
  run_for(100ms);
  redis.command({"CONFIG", "RESETSTAT"});
  run_for(500ms);
  BOOST_TEST(calls("exists") == 0);
  BOOST_TEST(calls("ping") == 0);
}

BOOST_FIXTURE_TEST_CASE(where_one_of_its_commands_is_refused_it_hears_nothing_and_has_no_connection, Watching) {
  for (const std::string rule : {"-client|tracking", "-subscribe", "resetchannels", "-client|id", "-exists"}) {
    redis.command({"ACL", "SETUSER", redis.user(), rule});
    const std::size_t before = connections_of(redis);
    heard.clear();
    watch.listen();
    BOOST_TEST(run_until([&] { return connections_of(redis) == before + 2; }), rule);
    BOOST_TEST(run_until([&] { return nobody_listens(); }), rule);
    BOOST_TEST(heard.empty(), rule);
    redis.command({"ACL", "SETUSER", redis.user(), "+@all", "allchannels"});
  }
  BOOST_TEST(!watch.hears());
  begin();
}

BOOST_FIXTURE_TEST_CASE(what_was_refused_is_tried_again, Watching) {
  redis.command({"ACL", "SETUSER", redis.user(), "-client|tracking"});
  int changed = 0;
  KeyChangeListener eager(
      loop, connection, {{"schedule", [&] { ++changed; }}}, [](bool) {}, 20ms);
  eager.listen();
  BOOST_TEST(run_until([&] { return connections_of(redis) >= 8; }));
  BOOST_TEST(!eager.hears());
  BOOST_TEST(changed == 0);
  redis.command({"ACL", "SETUSER", redis.user(), "+@all"});
  BOOST_TEST(run_until([&] { return eager.hears() && changed == 1; }));
}

BOOST_FIXTURE_TEST_CASE(a_right_that_is_taken_away_is_noticed, Watching) {
  begin();
  redis.command({"ACL", "SETUSER", redis.user(), "resetchannels"});  // disconnects subscribers
  BOOST_TEST(run_until([&] { return !watch.hears(); }));
  BOOST_TEST(heard == (std::vector<bool>{true, false}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(the_loss_of_either_connection_is_noticed_and_mended, Watching) {
  begin();
  int losses = 0;
  for (const std::string name : {"brood-key-watch", "brood-key-reader", "brood-key-watch"}) {
    heard.clear();
    redis.command({"CLIENT", "KILL", "ID", RedisClient::of(redis, name).at(0).id});
    BOOST_TEST(run_until([&] { return heard == std::vector<bool>{false}; }), name);
    BOOST_TEST(run_until([&] { return heard == std::vector<bool>{false, true}; }), name);
    changes.clear();
    redis.command({"ZADD", "schedule", "1", "job " + std::to_string(++losses)});
    BOOST_TEST(hears_of("schedule"), name);
  }
}

BOOST_FIXTURE_TEST_CASE(it_hears_again_when_redis_comes_back, Watching) {
  begin();
  redis.kill9();
  BOOST_TEST(run_until([&] { return !watch.hears() && !connection.connected(); }));
  redis.restart();
  BOOST_REQUIRE(run_until([&] { return connection.connected(); }));
  begin();  // as the supervisor does it
  redis.command({"ZADD", "schedule", "1", "job"});
  BOOST_TEST(hears_of("schedule"));
}

BOOST_FIXTURE_TEST_CASE(after_a_stop_it_hears_nothing_and_has_no_connection, Watching) {
  begin();
  watch.stop();
  BOOST_TEST(heard == (std::vector<bool>{true, false}), boost::test_tools::per_element());
  BOOST_TEST(run_until([&] { return nobody_listens(); }));
  redis.command({"ZADD", "schedule", "1", "job"});
  run_for(100ms);
  BOOST_TEST(changes.empty());
}

namespace {

// A scheduler that by itself finds, for a long time, only what was there when it began.
struct Told : LoopWithRedis {
  Scheduler scheduler{loop,
                      connection,
                      {.identity = "here:1:aaaaaaaaaaaa",
                       .poll = {.fixed_average = 1h},
                       .dead_limits = {},
                       .between_glances = 100ms,
                       .between_glances_when_told = 1h}};
  KeyChangeListener watch{loop, connection, {{"schedule", [this] { scheduler.glance(); }}}, [this](bool hears) {
                            scheduler.rely_on_reports(hears);
                          }};
  int number = 0;

  void begin() {
    scheduler.look();
    watch.listen();
    BOOST_REQUIRE(run_until([&] { return watch.hears(); }));
    run_for(250ms);  // the glance that was planned before is over
  }
  void push() {
    const std::string payload =
        R"({"class":"A","args":[],"queue":"default","jid":")" + std::to_string(++number) + "\"}";
    redis.command({"ZADD", "schedule", "1", payload});
  }
  bool is_moved(std::size_t jobs) {
    return run_until([&] { return redis.size_of("queue:default") == jobs; });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(what_any_client_pushes_is_moved_at_once, Told) {
  begin();
  Client client(redis.url());
  for (std::size_t jobs = 2; jobs <= 10; jobs += 2) {
    push();
    BOOST_TEST(is_moved(jobs - 1));
    client.enqueue_in(20ms, Later{});
    BOOST_TEST(is_moved(jobs));
  }
}

BOOST_FIXTURE_TEST_CASE(a_supervisor_that_hears_nothing_any_more_looks_as_often_as_ever, Told) {
  begin();
  watch.stop();
  for (std::size_t jobs = 1; jobs <= 3; ++jobs) {
    push();
    BOOST_TEST(is_moved(jobs));
  }
}

BOOST_FIXTURE_TEST_CASE(a_scheduler_with_other_settings_is_told_as_before, Told) {
  begin();
  scheduler.set({.identity = "here:1:aaaaaaaaaaaa",
                 .poll = {.fixed_average = 1h},
                 .dead_limits = {},
                 .between_glances = 10ms,
                 .between_glances_when_told = 1h});
  BOOST_TEST(run_until([&] { return !is_sent_within("zcount", 200ms); }));
  BOOST_TEST(!is_sent_within("zcount", 500ms));
  push();
  BOOST_TEST(is_moved(1));
}
