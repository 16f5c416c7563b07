// Periodic jobs that are added, replaced and removed while brood runs.

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "shared/base/shard_of_key.hpp"
#include "shared/json/json_object.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ticks.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::vector<std::string> every_second{"--cron", "* * * * * *", "--class",     "Tick",       "--queue",
                                            "ticks",  "--args",      "[1,\"two\"]", "--catch-up", "all"};

CommandResult ask(const RedisServer& redis, std::vector<std::string> words) {
  words.insert(words.begin(), "periodic");
  words.insert(words.end(), {"--redis", redis.url()});
  return run_brood(words);
}

CommandResult add(const RedisServer& redis, const std::string& name, std::vector<std::string> more = {}) {
  std::vector<std::string> words{"add", name};
  words.insert(words.end(), every_second.begin(), every_second.end());
  words.insert(words.end(), more.begin(), more.end());
  return ask(redis, words);
}

void wait_for_seconds(RedisServer& redis, std::int64_t seconds) {
  const auto begun = time_of(redis);
  BOOST_TEST(eventually([&] { return time_of(redis) > begun + seconds; }));
}

BroodOptions one_worker(const std::string& config = "") { return {.workers = 1, .config = config}; }

bool says(const CommandResult& result, const std::string& text) {
  return (result.output + result.errors).find(text) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_rule_that_is_added_while_two_supervisors_run_pushes_one_job_a_tick) {
  RedisServer redis;
  const BroodProcess one(redis, one_worker()), other(redis, one_worker());
  BOOST_REQUIRE_MESSAGE(one.wait_ready() && other.wait_ready(), one.log_tail());
  const CommandResult shown = add(redis, "tick", {"--dry-run"});
  BOOST_TEST(shown.status == 0);
  BOOST_TEST(std::count(shown.output.begin(), shown.output.end(), '\n') == 6, shown.output);
  BOOST_TEST(redis.keys("brood:periodic*").empty());

  const CommandResult added = add(redis, "tick");
  BOOST_TEST(added.status == 0, added.errors);
  BOOST_TEST(added.output.find("tick is added") > added.output.find(" +00:00   "), added.output);
  BOOST_TEST(eventually([&] { return redis.size_of("queue:ticks") >= 4; }), one.log_tail());
  BOOST_TEST(are_all_seconds(ticks_in(redis)));
  for (const BroodProcess* const brood : {&one, &other})
    BOOST_TEST(eventually([&] { return times_logged(*brood, "periodic_rules_read") == 1; }), brood->log_tail());
  BOOST_TEST(JsonObject::parse(redis.lrange("queue:ticks").front()).raw("args").value() == "[1,\"two\"]");

  BOOST_TEST(add(redis, "tick").status == 75);
  BOOST_TEST(says(ask(redis, {"list"}), "run time"));
  BOOST_TEST(ask(redis, {"remove", "tick"}).status == 0);
  const auto left = ticks_in(redis);
  wait_for_seconds(redis, 2);
  BOOST_TEST(ticks_in(redis) == left, boost::test_tools::per_element());
  BOOST_TEST(redis.keys("brood:periodic*").empty());
  BOOST_TEST(ask(redis, {"remove", "tick"}).status == 75);
}

BOOST_AUTO_TEST_CASE(a_rule_that_is_replaced_pushes_no_job_of_the_one_before) {
  RedisServer redis;
  const BroodProcess one(redis, one_worker()), other(redis, one_worker());
  BOOST_REQUIRE_MESSAGE(one.wait_ready() && other.wait_ready(), one.log_tail());
  add(redis, "tick");
  BOOST_TEST(eventually([&] { return redis.size_of("queue:ticks") >= 2; }), one.log_tail());
  for (int change = 0; change < 5; ++change) {
    // Only the spelling of the rule differs, so its ticks begin anew.
    const CommandResult replaced = ask(
        redis, {"add", "tick", "--cron", change % 2 == 0 ? "*/1 * * * * *" : "* * * * * *", "--class", "Tick",
                "--queue", "ticks", "--args", "[" + std::to_string(change) + "]", "--catch-up", "all", "--replace"});
    BOOST_TEST(replaced.status == 0, replaced.errors);
    const std::size_t before = redis.size_of("queue:ticks");
    BOOST_TEST(eventually([&] { return redis.size_of("queue:ticks") >= before + 2; }), one.log_tail());
    const auto payloads = redis.lrange("queue:ticks");
    for (std::size_t i = 0; i < payloads.size() - before; ++i)
      BOOST_TEST(JsonObject::parse(payloads[i]).raw("args").value() == "[" + std::to_string(change) + "]");
  }
  const auto ticks = ticks_in(redis);
  for (std::size_t i = 1; i < ticks.size(); ++i) BOOST_TEST(ticks[i] > ticks[i - 1]);  // none twice
  for (const BroodProcess* const brood : {&one, &other}) BOOST_TEST(times_logged(*brood, "periodic_job_fails") == 0u);
}

BOOST_AUTO_TEST_CASE(no_kill_of_supervisors_makes_a_tick_come_twice_or_not_at_all) {
  RedisServer redis;
  BroodOptions options = one_worker(), other_options = one_worker();
  options.home = std::make_shared<TemporaryDirectory>();
  other_options.home = std::make_shared<TemporaryDirectory>();
  BroodProcess one(redis, options), other(redis, other_options);
  BOOST_REQUIRE_MESSAGE(one.wait_ready() && other.wait_ready(), one.log_tail());
  add(redis, "tick");
  for (int kill = 0; kill < 4; ++kill) {
    const std::size_t before = redis.size_of("queue:ticks");
    BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("queue:ticks") > before; }), one.log_tail());
    const Reply now = redis.command({"TIME"});
    std::this_thread::sleep_for(std::chrono::microseconds(1'000'000 - now.view()[1].integer()) +
                                std::chrono::milliseconds(kill % 3 - 1));
    one.kill9();
    other.kill9();
    one.start();
    other.start();
  }
  const auto last = time_of(redis);
  BOOST_TEST(eventually([&] { return !ticks_in(redis).empty() && ticks_in(redis).back() > last; }), one.log_tail());
  BOOST_TEST(are_all_seconds(ticks_in(redis)));
}

BOOST_AUTO_TEST_CASE(if_redis_does_not_report_changes_a_rule_is_served_within_seconds) {
  RedisServer redis;
  redis.command({"ACL", "SETUSER", "default", "-client|tracking"});
  const BroodProcess brood(redis, one_worker());
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  add(redis, "tick");
  BOOST_TEST(eventually([&] { return redis.size_of("queue:ticks") >= 1; }, 12s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(the_configuration_keeps_its_names_and_its_pauses) {
  RedisServer redis;
  const std::string section = "[periodic.tick]\ncron = \"* * * * * *\"\nclass = \"Tick\"\nqueue = \"ticks\"\n";
  BroodProcess brood(redis, one_worker(section + "paused = true\n"));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  BOOST_TEST(eventually([&] { return redis.size_of("brood:periodic") == 1; }), brood.log_tail());
  const CommandResult unpaused = ask(redis, {"unpause", "tick"});
  BOOST_TEST(unpaused.status == 75);
  BOOST_TEST(says(unpaused, "brood.toml:5: periodic.tick.paused"), unpaused.errors);
  BOOST_TEST(says(ask(redis, {"list"}), "paused by the configuration"));
  BOOST_TEST(says(ask(redis, {"list", "--json"}), R"("origin":"configuration")"));
  const CommandResult refused = add(redis, "tick");
  BOOST_TEST(refused.status == 75);
  BOOST_TEST(says(refused, "periodic.tick"), refused.errors);
  const CommandResult kept = ask(redis, {"remove", "tick"});
  BOOST_TEST(kept.status == 75);
  BOOST_TEST(says(kept, "periodic.tick"), kept.errors);
  wait_for_seconds(redis, 2);
  BOOST_TEST(redis.size_of("queue:ticks") == 0u);

  const auto resumed = time_of(redis);
  std::ofstream(brood.home() / "brood.toml") << section;
  brood.signal(SIGHUP);
  BOOST_TEST(eventually([&] { return redis.size_of("queue:ticks") >= 2; }), brood.log_tail());
  BOOST_TEST(ticks_in(redis).front() >= resumed);
}

BOOST_AUTO_TEST_CASE(hostile_rules_are_left_out_and_listed_as_broken) {
  RedisServer redis;
  const std::string rules = "brood:periodic:rules";
  redis.command({"HSET", rules, "text", "no JSON", "list", "[]", "zone", R"({"cron":"@daily","class":"A","tz":"/x"})",
                 "long", std::string(100'000, 'x'), "bad name\n", R"({"cron":"@daily","class":"A"})"});
  const BroodProcess brood(redis, one_worker());
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  add(redis, "tick");
  BOOST_TEST(eventually([&] { return redis.size_of("queue:ticks") >= 2; }), brood.log_tail());
  BOOST_TEST(times_logged(brood, "periodic_rule_refused") == 5u, brood.log_tail());
  const CommandResult listed = ask(redis, {"list"});
  BOOST_TEST(listed.status == 0);
  BOOST_TEST(says(listed, "broken: this machine knows no time zone"), listed.output);
  BOOST_TEST(ask(redis, {"remove", "long"}).status == 0);
  // A key of another type takes away no rule that is known.
  redis.command({"MULTI"});
  redis.command({"DEL", rules});
  redis.command({"SET", rules, "no hash"});
  redis.command({"EXEC"});
  BOOST_TEST(eventually([&] { return times_logged(brood, "periodic_rules_unread") == 1; }), brood.log_tail());
  const auto ticks = redis.size_of("queue:ticks");
  BOOST_TEST(eventually([&] { return redis.size_of("queue:ticks") >= ticks + 2; }), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(wrong_arguments_are_refused_before_anything_is_written) {
  RedisServer redis;
  const auto refused = [&](const std::vector<std::string>& words, const std::string& why) {
    std::vector<std::string> all{"add", "tick"};
    all.insert(all.end(), words.begin(), words.end());
    const CommandResult result = ask(redis, all);
    BOOST_TEST(result.status == 64, result.output);
    BOOST_TEST(says(result, why), result.errors);
  };
  refused({"--class", "A"}, "--cron is missing");
  refused({"--cron", "@daily"}, "--class is missing");
  refused({"--cron", "0 25 * * *", "--class", "A"}, "the hour");
  refused({"--cron", "0 0 30 2 *", "--class", "A"}, "comes in none of the months");
  refused({"--cron", "@daily", "--class", "A", "--tz", "Europe/Berlim"}, "did you mean");
  refused({"--cron", "@daily", "--class", "A", "--args", "{}"}, "its args are no array");
  refused({"--cron", "@daily", "--class", "A", "--args", "[1"}, "not JSON");
  refused({"--cron", "@daily", "--class", "A", "--queue", "a b"}, "the queue");
  refused({"--cron", "@daily", "--class", "A", "--retry", "often"}, "--retry");
  refused({"--cron", "@daily", "--class", "A", "--overlap", "maybe"}, "its overlap");
  refused({"--cron", "@daily", "--class", "A", "--within", "soon"}, "--within must be a duration");
  BOOST_TEST(ask(redis, {"list", "--cron", "@daily"}).status == 64);
  BOOST_TEST(redis.keys("brood:periodic*").empty());
}

BOOST_AUTO_TEST_CASE(a_rule_lies_in_the_shard_that_serves_it_and_leaves_one_that_is_drained) {
  RedisServer a, b;
  const auto shards = [&](const std::string& of_b) {
    return "[redis]\n[[redis.shard]]\nname = \"a\"\nurl = \"" + a.url() +
           "\"\n[[redis.shard]]\nname = \"b\"\nurl = \"" + b.url() + "\"\n" + of_b;
  };
  std::string name = "tick";
  for (int i = 0; shard_of_key(std::vector<std::string>{"a", "b"}, name) != 1; ++i) name = "tick" + std::to_string(i);
  BroodProcess brood(one_worker(shards("")));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  std::vector<std::string> words{"periodic", "add", name, "-C", brood.home() / "brood.toml"};
  words.insert(words.end(), every_second.begin(), every_second.end());
  BOOST_TEST(run_brood(words).status == 0);
  BOOST_TEST(eventually([&] { return b.size_of("queue:ticks") >= 2; }), brood.log_tail());
  BOOST_TEST(a.size_of("brood:periodic:rules") == 0u);

  std::ofstream(brood.home() / "brood.toml") << shards("drain = true\n");
  brood.signal(SIGHUP);
  BOOST_TEST(eventually([&] { return a.size_of("queue:ticks") >= 2; }, 20s), brood.log_tail());
  BOOST_TEST(eventually([&] { return b.size_of("brood:periodic:rules") == 0; }), brood.log_tail());
  BOOST_TEST(a.size_of("brood:periodic:rules") == 1u);
  const auto here = ticks_in(b), there = ticks_in(a);
  BOOST_TEST(there.front() > here.back());
}
