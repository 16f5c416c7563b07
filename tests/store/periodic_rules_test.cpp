// Rules of periodic jobs that are added at run time, and pauses of the configuration.

#include <boost/test/unit_test.hpp>

#include <brood/api.hpp>
#include <brood/periodic.hpp>
#include <chrono>
#include <stdexcept>
#include <string>

#include "shared/store/periodic/periodic_jobs.hpp"
#include "shared/store/periodic/periodic_rule.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string rules = "brood:periodic:rules", state = "brood:periodic:job:report";
const std::string daily = R"({"cron":"@daily","class":"A"})", hourly = R"({"cron":"@hourly","class":"A"})";

struct Report {
  int number = 0;
  static constexpr std::string_view job_class = "Report";
  void perform() const {}
};

struct Site {
  RedisServer redis;
  Connection connection{redis.address()};

  PutRule put(const std::string& rule, bool replaces = false, const std::string& name = "report") {
    const PeriodicSettings job = read_periodic_rule(rule);
    return read_put_rule(connection
                             .run(put_periodic_rule({.name = name,
                                                     .rule = rule,
                                                     .rule_text = periodic_rule_text(job),
                                                     .definition = periodic_definition(job),
                                                     .by = "a test",
                                                     .replaces = replaces}))
                             .view());
  }
  ServedPeriodic serve(const std::string& rule, const std::string& stored, const std::string& paused_at = "",
                       const std::string& source = "redis") {
    PeriodicSettings job = read_periodic_rule(rule);
    job.paused_at = paused_at;
    return read_served_periodic(connection
                                    .run(serve_periodic({.name = "report",
                                                         .rule = periodic_rule_text(job),
                                                         .definition = periodic_definition(job),
                                                         .replaces = true,
                                                         .source = source,
                                                         .place = "here",
                                                         .paused_at = paused_at,
                                                         .stored = stored}))
                                    .view());
  }
  ClaimedTick::Outcome claim(const std::string& rule, std::chrono::sys_seconds last) {
    const TickClaim tick{.name = "report",
                         .rule = periodic_rule_text(read_periodic_rule(rule)),
                         .last = last,
                         .tick = last + 1s,
                         .entry = "{}",
                         .payload = R"({"class":"A","args":[],"jid":"a"})",
                         .jid = "a",
                         .queue = "default"};
    return read_claimed_tick(connection.run(claim_tick(tick)).view()).outcome;
  }
  std::chrono::sys_seconds set_last_to_the_past() {
    const std::chrono::sys_seconds last(std::chrono::seconds(1'700'000'000));
    redis.command({"HSET", state, "last", std::to_string(last.time_since_epoch().count())});
    return last;
  }
};

using Outcome = PutRule::Outcome;

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_rule_is_added_once_and_replaced_on_demand, Site) {
  BOOST_TEST((put(daily).outcome == Outcome::added));
  BOOST_TEST((put(hourly).outcome == Outcome::exists));
  BOOST_TEST(redis.hget(rules, "report").value_or("") == daily);
  BOOST_TEST((put(hourly, true).outcome == Outcome::replaced));
  BOOST_TEST(redis.hget(rules, "report").value_or("") == hourly);
  BOOST_TEST(redis.hget(state, "source").value_or("") == "redis");
  BOOST_TEST(redis.hget(state, "place").value_or("") == "a test");
}

BOOST_FIXTURE_TEST_CASE(no_tick_of_a_rule_that_was_replaced_or_removed_is_claimed, Site) {
  put(daily);
  BOOST_TEST(serve(daily, daily).ours);
  put(hourly, true);
  BOOST_TEST((claim(daily, set_last_to_the_past()) == ClaimedTick::Outcome::another_rule));
  BOOST_TEST(serve(daily, daily).stale);
  BOOST_TEST(serve(hourly, hourly).ours);
  BOOST_TEST(read_removed_rule(connection.run(remove_periodic_rule("report")).view()).removed);
  BOOST_TEST((claim(hourly, std::chrono::sys_seconds(1'700'000'000s)) == ClaimedTick::Outcome::lost));
  BOOST_TEST(serve(hourly, hourly).stale);
  BOOST_TEST(redis.size_of("queue:default") == 0u);
  BOOST_TEST(redis.keys("brood:periodic*").empty());
  BOOST_TEST(!read_removed_rule(connection.run(remove_periodic_rule("report")).view()).removed);
}

BOOST_FIXTURE_TEST_CASE(other_arguments_begin_no_ticks_anew_and_keep_a_pause, Site) {
  put(daily);
  redis.command({"HSET", state, "last", "1000", "paused", "1"});
  put(R"({"cron":"@daily","class":"A","args":[7]})", true);
  BOOST_TEST(redis.hget(state, "last").value_or("") == "1000");
  BOOST_TEST(redis.hget(state, "paused").has_value());
  put(hourly, true);
  BOOST_TEST(redis.hget(state, "last").value_or("") != "1000");
}

BOOST_FIXTURE_TEST_CASE(a_name_of_the_configuration_is_taken_while_a_supervisor_serves_it, Site) {
  serve(daily, "", "", "configuration");
  const PutRule refused = put(hourly);
  BOOST_TEST((refused.outcome == Outcome::is_elsewhere));
  BOOST_TEST(refused.place == "here");
  const RemovedRule kept = read_removed_rule(connection.run(remove_periodic_rule("report")).view());
  BOOST_TEST(!kept.removed);
  BOOST_TEST(kept.place == "here");
  redis.command({"HSET", state, "paused", "1"});
  redis.command({"ZADD", "brood:periodic", "1000", "report"});  // no supervisor has served it for long
  BOOST_TEST((put(hourly).outcome == Outcome::added));
  BOOST_TEST(!redis.hget(state, "paused").has_value());
}

BOOST_FIXTURE_TEST_CASE(what_the_configuration_pauses_no_command_unpauses, Site) {
  serve(daily, "", "brood.toml:3", "configuration");
  BOOST_TEST(serve(daily, "", "brood.toml:3", "configuration").paused);
  const auto last = set_last_to_the_past();
  BOOST_TEST((claim(daily, last) == ClaimedTick::Outcome::paused));
  const PausedPeriodic unpaused = read_paused_periodic(connection.run(pause_periodic("report", false)).view());
  BOOST_TEST(unpaused.was_so.value());
  BOOST_TEST(unpaused.paused_at == "brood.toml:3");
  BOOST_TEST((claim(daily, last) == ClaimedTick::Outcome::paused));
  const ServedPeriodic after = serve(daily, "", "", "configuration");
  BOOST_TEST(!after.paused);
  BOOST_TEST((after.last > last));  // from now on
}

BOOST_FIXTURE_TEST_CASE(rules_are_read_in_bounds, Site) {
  redis.command({"HSET", rules, "a", daily, "long", std::string(longest_periodic_rule + 1, 'x')});
  for (std::size_t i = 0; i < most_periodic_rules; ++i) redis.command({"HSET", rules, "b" + std::to_string(i), "{}"});
  const Reply reply = connection.run(ask_periodic_rules());
  const StoredRules stored = read_periodic_rules(reply.view());
  BOOST_TEST(stored.count == static_cast<std::int64_t>(most_periodic_rules) + 2);
  BOOST_TEST(stored.rules.size() == most_periodic_rules);
  BOOST_TEST(stored.rules.front().second == daily);
  BOOST_TEST((put(daily).outcome == Outcome::too_many));
  redis.command({"HDEL", rules, "b0", "b1", "b2", "b3"});
  for (const auto& [name, rule] : read_periodic_rules(connection.run(ask_periodic_rules()).view()).rules) {
    if (name == "long") BOOST_TEST(rule.empty());
  }
  redis.command({"DEL", rules});
  redis.command({"SET", rules, "no hash"});
  BOOST_TEST(connection.run(ask_periodic_rules()).view().is_error());
}

// ---- brood::Periodic

BOOST_FIXTURE_TEST_CASE(a_program_adds_lists_and_removes_periodic_jobs, Site) {
  Periodic periodic(redis.url());
  BOOST_TEST(periodic.add("report", "30 2 * * *", Report{7}, {.tz = "Europe/Berlin", .job = {.queue = "low"}}));
  BOOST_TEST(!periodic.add("report", "@daily", Report{8}));
  BOOST_TEST(!periodic.replace("other", "@daily", Push{.job_class = "Ruby::Alarm", .args = "[1]"}));
  BOOST_TEST(periodic.replace("other", "@hourly", Push{.job_class = "Ruby::Alarm", .args = "[2]"}));
  redis.command({"HSET", rules, "broken", R"({"cron":"sometimes"})"});

  const std::vector<PeriodicJob> jobs = Api(redis.url()).periodic().list();
  BOOST_REQUIRE(jobs.size() == 3u);
  BOOST_TEST(jobs[0].name == "broken");
  BOOST_TEST(!jobs[0].error.empty());
  BOOST_TEST(jobs[1].name == "other");
  BOOST_TEST(jobs[1].args == "[2]");
  const PeriodicJob& report = jobs[2];
  BOOST_TEST(report.cron == "30 2 * * *");
  BOOST_TEST(report.tz == "Europe/Berlin");
  BOOST_TEST(report.job_class == "Report");
  BOOST_TEST(report.args == "[7]");
  BOOST_TEST(report.queue == "low");
  BOOST_TEST((report.source == PeriodicSource::redis));
  BOOST_TEST(!report.paused);
  BOOST_TEST(report.next.has_value());
  BOOST_TEST(!report.last.has_value());
  BOOST_TEST(report.error == "");

  BOOST_TEST(periodic.find("other").has_value());
  BOOST_TEST(periodic.remove("other"));
  BOOST_TEST(!periodic.remove("other"));
  BOOST_TEST(!periodic.find("other").has_value());
}

BOOST_FIXTURE_TEST_CASE(what_a_program_gives_wrong_is_refused_with_why, Site) {
  Periodic periodic(redis.url());
  BOOST_CHECK_THROW(periodic.add("a b", "@daily", Report{}), std::invalid_argument);
  BOOST_CHECK_THROW(periodic.add("a", "0 25 * * *", Report{}), std::invalid_argument);
  BOOST_CHECK_THROW(periodic.add("a", "@daily", Report{}, {.tz = "Nowhere"}), std::invalid_argument);
  BOOST_CHECK_THROW(periodic.add("a", "@daily", Push{.job_class = ""}), std::invalid_argument);
  BOOST_CHECK_THROW(
      periodic.add("a", "@daily", Push{.job_class = "A", .args = "[\"" + std::string(70'000, 'x') + "\"]"}),
      std::invalid_argument);
  BOOST_TEST(redis.keys().empty());
  serve(daily, "", "", "configuration");
  BOOST_CHECK_THROW(periodic.add("report", "@daily", Report{}), std::invalid_argument);
  BOOST_CHECK_THROW(periodic.remove("report"), std::invalid_argument);
}

// 02:30 is left out on the day on which the clock is put forward, and comes twice on the other.
BOOST_AUTO_TEST_CASE(the_next_ticks_show_where_the_clock_is_changed) {
  const auto at = [](std::int64_t seconds) {
    return std::chrono::system_clock::time_point(std::chrono::seconds(seconds));
  };
  const auto spring = Periodic::next("30 2 * * *", "Europe/Berlin", 3, at(1'774'652'400));  // 2026-03-27 23:00 UTC
  BOOST_REQUIRE(spring.size() == 3u);
  BOOST_TEST(spring[0].local == "2026-03-28 02:30:00 +01:00");
  BOOST_TEST(spring[1].local == "2026-03-29 03:00:00 +02:00");
  BOOST_TEST(spring[2].local == "2026-03-30 02:30:00 +02:00");
  BOOST_TEST((spring[1].offset == 2h));
  const auto autumn = Periodic::next("*/30 2 * * *", "Europe/Berlin", 4, at(1'792'879'200));  // 2026-10-24 22:00 UTC
  BOOST_REQUIRE(autumn.size() == 4u);
  BOOST_TEST(autumn[0].local == "2026-10-25 02:00:00 +02:00");
  BOOST_TEST(autumn[2].local == "2026-10-25 02:00:00 +01:00");
  BOOST_CHECK_THROW(Periodic::next("sometimes"), std::invalid_argument);
  BOOST_CHECK_THROW(Periodic::next("0 0 30 2 *"), std::invalid_argument);
  BOOST_CHECK_THROW(Periodic::next("@daily", "Nowhere"), std::invalid_argument);
}
