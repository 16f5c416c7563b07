#include "shared/store/periodic/periodic_jobs.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Outcome = ClaimedTick::Outcome;

namespace {

struct Site {
  RedisServer redis;
  Connection connection{redis.address()};

  ServedPeriodic serve(const std::string& definition, bool replaces = false,
                       const std::string& rule = "* * * * * UTC") {
    return read_served_periodic(
        connection.run(serve_periodic({.name = "report", .rule = rule, .definition = definition, .replaces = replaces}))
            .view());
  }
  const std::string state = "brood:periodic:job:report", history = "brood:periodic:history:report";
  const std::string turn = "brood:unique:periodic:report";
  const std::string payload = R"({"class":"Report","args":[],"jid":"a"})";
  void set_last(std::chrono::sys_seconds last) {
    redis.command({"HSET", state, "last", std::to_string(last.time_since_epoch().count())});
  }
  TickClaim due(std::chrono::sys_seconds last, std::chrono::sys_seconds tick,
                TickClaim::WhileHeld held = TickClaim::WhileHeld::no_matter) const {
    return {.name = "report",
            .rule = "* * * * * UTC",
            .last = last,
            .tick = tick,
            .entry = "claimed",
            .payload = payload,
            .jid = "a",
            .queue = "default",
            .while_held = held,
            .skipped_entry = "skipped"};
  }
  Outcome claim(const TickClaim& one, ClaimedTick* answer = nullptr) {
    const ClaimedTick claimed = read_claimed_tick(connection.run(claim_tick(one)).view());
    if (answer) *answer = claimed;
    return claimed.outcome;
  }
  Reply claim_after(std::chrono::sys_seconds last) {
    return connection.run(claim_tick({.name = "report",
                                      .rule = "* * * * * UTC",
                                      .last = last,
                                      .tick = std::chrono::floor<std::chrono::seconds>(serve("{}").now),
                                      .entry = "{}",
                                      .payload = R"({"class":"Report","args":[],"jid":"a"})",
                                      .jid = "a",
                                      .queue = "default"}));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(of_two_that_know_another_job_by_one_rule_the_later_serves, Site) {
  BOOST_TEST(serve(R"({"class":"Old"})").ours);
  BOOST_TEST(!serve(R"({"class":"New"})").ours);
  BOOST_TEST(serve(R"({"class":"New"})", true).ours);
  BOOST_TEST(serve(R"({"class":"New"})").ours);
  BOOST_TEST(!serve(R"({"class":"Old"})").ours);
  BOOST_TEST(!serve(R"({"class":"New"})", false, "@daily UTC").ours);
}

BOOST_FIXTURE_TEST_CASE(another_job_by_the_same_rule_begins_no_ticks_anew, Site) {
  redis.command({"HSET", "brood:periodic:job:report", "rule", "* * * * * UTC", "last", "1000", "definition", "{}"});
  BOOST_TEST((serve(R"({"class":"New"})", true).last == std::chrono::sys_seconds(1000s)));
  BOOST_TEST((serve(R"({"class":"New"})", true, "@daily UTC").last > std::chrono::sys_seconds(1000s)));
}

BOOST_FIXTURE_TEST_CASE(a_tick_that_was_claimed_while_the_clock_was_ahead_holds_up_none, Site) {
  const auto now = std::chrono::floor<std::chrono::seconds>(serve("{}").now);
  const auto put = [&](std::chrono::sys_seconds last) {
    redis.command({"HSET", "brood:periodic:job:report", "last", std::to_string(last.time_since_epoch().count())});
  };
  put(now + 24h);
  const auto last = serve("{}").last;
  BOOST_TEST((last >= now && last < now + 1h));
  BOOST_TEST(redis.hget(state, "last").value_or("") == std::to_string(last.time_since_epoch().count()));
  put(now + 60s);  // a step of the clock that NTP makes: it is soon there
  BOOST_TEST((serve("{}").last == now + 60s));
}

BOOST_FIXTURE_TEST_CASE(a_count_that_is_none_costs_no_tick, Site) {
  const auto last = serve("{}").last;
  redis.command({"HSET", "brood:periodic:job:report", "last", std::to_string((last - 60s).time_since_epoch().count())});
  redis.command({"HSET", "brood:periodic:job:report", "claimed", "abc"});
  BOOST_TEST(!claim_after(last - 60s).view().error().empty());
  BOOST_TEST((serve("{}").last == last - 60s));
  redis.command({"HDEL", "brood:periodic:job:report", "claimed"});
  BOOST_TEST((read_claimed_tick(claim_after(last - 60s).view()).outcome == Outcome::claimed));
  BOOST_TEST(redis.size_of("queue:default") == 1u);
}

BOOST_FIXTURE_TEST_CASE(without_a_state_a_tick_is_lost_and_no_rule_is_blamed, Site) {
  const auto last = serve("{}").last;
  redis.flush();
  const ClaimedTick claimed =
      read_claimed_tick(connection
                            .run(claim_tick({.name = "report",
                                             .rule = "* * * * * UTC",
                                             .last = last,
                                             .tick = last + 60s,
                                             .entry = "{}",
                                             .payload = R"({"class":"Report","args":[],"jid":"a"})",
                                             .jid = "a",
                                             .queue = "default"}))
                            .view());
  BOOST_TEST((claimed.outcome == Outcome::lost));
  BOOST_TEST((claimed.last == std::chrono::sys_seconds{}));
  BOOST_TEST(redis.size_of("queue:default") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_rule_that_was_not_served_for_three_minutes_gives_way, Site) {
  const auto now = serve("{}").now;
  const auto seen = [&](std::chrono::seconds ago) {
    const auto moment = std::chrono::floor<std::chrono::seconds>(now - ago).time_since_epoch().count();
    redis.command({"HSET", state, "seen", std::to_string(moment)});
  };
  seen(120s);
  BOOST_TEST(!serve("{}", false, "@daily UTC").ours);
  seen(200s);
  BOOST_TEST(serve("{}", false, "@daily UTC").ours);
  redis.command({"HDEL", state, "seen"});
  BOOST_TEST(serve("{}", false, "@hourly UTC").ours);
}

BOOST_FIXTURE_TEST_CASE(a_state_that_has_lost_its_last_tick_goes_on_from_now, Site) {
  const auto before = serve("{}").last;
  redis.command({"HDEL", state, "last"});
  BOOST_TEST((serve("{}").last >= before));
}

BOOST_FIXTURE_TEST_CASE(a_last_tick_that_is_no_time_is_begun_anew, Site) {
  const auto before = serve("{}").last;
  for (const char* last : {"1700000000.5", "abc", "", "-5", "inf", "-inf", "nan", "1e300"}) {
    redis.command({"HSET", state, "last", last});
    const auto now = serve("{}").last;
    BOOST_TEST((now >= before), last);
    BOOST_TEST(redis.hget(state, "last").value() == std::to_string(now.time_since_epoch().count()), last);
  }
}

BOOST_FIXTURE_TEST_CASE(a_refused_service_changes_nothing, Site) {
  serve("{}");
  const auto before = redis.hgetall(state);
  BOOST_TEST(!serve(R"({"class":"Other"})", false, "@daily UTC").ours);
  BOOST_TEST((redis.hgetall(state) == before));
}

BOOST_FIXTURE_TEST_CASE(what_is_served_is_listed_and_both_are_forgotten_after_a_hundred_days, Site) {
  redis.command({"ZADD", "brood:periodic", "1000", "long_ago"});
  const auto now = serve("{}").now;
  const auto listed = redis.zrange("brood:periodic");
  BOOST_REQUIRE(listed.size() == 1u);
  BOOST_TEST(listed.front().first == "report");
  BOOST_TEST(listed.front().second >= std::chrono::duration<double>(now.time_since_epoch()).count() - 60);
  BOOST_TEST(redis.integer({"TTL", state}) > 99 * 86400);
}

BOOST_FIXTURE_TEST_CASE(keys_of_another_type_are_named_and_nothing_is_written, Site) {
  const auto refuses = [&](const std::string& key, const ScriptCall& call) {
    redis.flush();
    redis.command({"HSET", state, "rule", "* * * * * UTC", "last", "1000"});
    if (key == state) redis.command({"DEL", key});
    redis.command({"SETRANGE", key, "0", "text"});
    if (key == turn) {
      redis.command({"DEL", key});
      redis.command({"RPUSH", key, "text"});
    }
    const auto before = redis.keys();
    const Reply reply = connection.run(call);
    BOOST_TEST(reply.view().error().find("WRONGTYPE " + key + " is a ") == 0u, key << ": " << reply.view().error());
    BOOST_TEST(redis.keys() == before, boost::test_tools::per_element());
    if (key != state) BOOST_TEST(redis.hget(state, "last").value_or("") == "1000");
  };
  for (const std::string& key : {std::string("brood:periodic"), state})
    refuses(key, serve_periodic({.name = "report", .rule = "* * * * * UTC", .definition = "{}"}));
  const TickClaim claim =
      due(std::chrono::sys_seconds(1000s), std::chrono::sys_seconds(1060s), TickClaim::WhileHeld::skip);
  for (const std::string& key : {state, history, std::string("queue:default"), std::string("queues"), turn})
    refuses(key, claim_tick(claim));
  TickClaim scheduled = claim;
  scheduled.score = "2000";
  refuses("schedule", claim_tick(scheduled));
}

BOOST_FIXTURE_TEST_CASE(a_tick_is_claimed_once_and_only_with_the_last_one_known, Site) {
  const auto last = serve("{}").last - 100s;
  set_last(last);
  BOOST_TEST((claim(due(last - 1s, last + 60s)) == Outcome::lost));  // a tick was claimed since
  BOOST_TEST((claim(due(last, last)) == Outcome::lost));             // it is not behind the last
  BOOST_TEST((claim(due(last, last + 9999s)) == Outcome::early));    // Redis' clock is behind the sender's
  BOOST_TEST(redis.size_of("queue:default") == 0u);
  BOOST_TEST(redis.size_of(history) == 0u);

  ClaimedTick answer;
  BOOST_TEST((claim(due(last, last + 60s), &answer) == Outcome::claimed));
  BOOST_TEST((answer.last == last + 60s));
  BOOST_TEST((claim(due(last, last + 60s), &answer) == Outcome::lost));  // sent again
  BOOST_TEST((answer.last == last + 60s));
  BOOST_TEST(redis.lrange("queue:default") == std::vector<std::string>{payload}, boost::test_tools::per_element());
  BOOST_TEST(redis.smembers("queues") == std::vector<std::string>{"default"}, boost::test_tools::per_element());
  BOOST_TEST(redis.lrange(history) == std::vector<std::string>{"claimed"}, boost::test_tools::per_element());
  BOOST_TEST(redis.integer({"TTL", history}) > 99 * 86400);
  BOOST_TEST(redis.hget(state, "claimed").value_or("") == "1");
  BOOST_TEST(!redis.hget(state, "missed"));
  BOOST_TEST(redis.get(turn).value_or("none") == "none");
}

BOOST_FIXTURE_TEST_CASE(another_rule_and_a_pause_keep_their_ticks, Site) {
  const auto last = serve("{}").last - 100s;
  set_last(last);
  TickClaim other = due(last, last + 60s);
  other.rule = "@daily UTC";
  BOOST_TEST((claim(other) == Outcome::another_rule));
  BOOST_TEST((connection.run(pause_periodic("report", true)).view()[0].integer() == 1));
  BOOST_TEST((claim(due(last, last + 60s)) == Outcome::paused));
  BOOST_TEST(serve("{}").paused);
  BOOST_TEST(redis.size_of("queue:default") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_pause_is_told_once_and_its_end_leaves_out_what_came_in_it, Site) {
  const auto pause = [&](bool pauses) { return connection.run(pause_periodic("report", pauses)).view()[0].integer(); };
  BOOST_TEST(pause(true) == -1);
  BOOST_TEST(pause(false) == -1);
  BOOST_TEST(redis.keys().empty());
  const auto last = serve("{}").last;
  set_last(last - 1000s);
  BOOST_TEST(pause(false) == 0);
  BOOST_TEST((serve("{}").last == last - 1000s));
  BOOST_TEST(pause(true) == 1);
  BOOST_TEST(pause(true) == 0);
  BOOST_TEST((serve("{}").last == last - 1000s));
  BOOST_TEST(pause(false) == 1);
  BOOST_TEST(!serve("{}").paused);
  BOOST_TEST((serve("{}").last >= last));
  // A tick claimed ahead of the clock is not claimed again.
  BOOST_TEST(pause(true) == 1);
  set_last(last + 200s);
  BOOST_TEST(pause(false) == 1);
  BOOST_TEST((serve("{}").last == last + 200s));
  redis.command({"HDEL", state, "last"});
  BOOST_TEST(pause(true) == 1);
  BOOST_TEST(pause(false) == 1);
  BOOST_TEST(redis.hget(state, "last").has_value());
}

BOOST_FIXTURE_TEST_CASE(while_the_job_before_has_not_ended_a_tick_is_skipped_or_waits, Site) {
  using WhileHeld = TickClaim::WhileHeld;
  const auto last = serve("{}").last - 1000s;
  set_last(last);
  BOOST_TEST((claim(due(last, last + 60s, WhileHeld::skip)) == Outcome::claimed));
  BOOST_TEST(redis.get(turn).value_or("none") == "a");

  BOOST_TEST((claim(due(last + 60s, last + 120s, WhileHeld::wait)) == Outcome::waits));
  BOOST_TEST((serve("{}").last == last + 60s));
  BOOST_TEST(redis.size_of(history) == 1u);

  BOOST_TEST((claim(due(last + 60s, last + 120s, WhileHeld::skip)) == Outcome::skipped));
  BOOST_TEST((serve("{}").last == last + 120s));
  BOOST_TEST(redis.hget(state, "skipped").value_or("") == "1");
  BOOST_TEST(redis.hget(state, "claimed").value_or("") == "1");
  BOOST_TEST(redis.lrange(history).front() == "skipped");
  BOOST_TEST(redis.size_of("queue:default") == 1u);
  BOOST_TEST(redis.get(turn).value_or("none") == "a");

  redis.command({"DEL", turn});
  BOOST_TEST((claim(due(last + 120s, last + 180s, WhileHeld::wait)) == Outcome::claimed));
  BOOST_TEST(redis.size_of("queue:default") == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_tick_without_a_job_passes_although_a_job_holds_the_turn, Site) {
  const auto last = serve("{}").last - 1000s;
  set_last(last);
  redis.command({"SET", turn, "b"});
  TickClaim passing = due(last, last + 120s, TickClaim::WhileHeld::wait);
  passing.payload = "";
  passing.missed = 2;
  BOOST_TEST((claim(passing) == Outcome::claimed));
  BOOST_TEST((serve("{}").last == last + 120s));
  BOOST_TEST(redis.hget(state, "missed").value_or("") == "2");
  BOOST_TEST(!redis.hget(state, "claimed"));
  BOOST_TEST(!redis.hget(state, "skipped"));
  BOOST_TEST(redis.size_of("queue:default") == 0u);
  BOOST_TEST(redis.lrange(history).front() == "claimed");
  BOOST_TEST(redis.get(turn).value_or("none") == "b");
}

BOOST_FIXTURE_TEST_CASE(a_job_that_is_wanted_now_costs_no_tick, Site) {
  const auto last = serve("{}").last - 1000s;
  set_last(last);
  connection.run(pause_periodic("report", true));
  TickClaim now = due({}, {});
  now.tick.reset();
  now.rule = "";
  ClaimedTick answer;
  BOOST_TEST((claim(now, &answer) == Outcome::claimed));
  BOOST_TEST((answer.last == last));
  BOOST_TEST((serve("{}").last == last));
  BOOST_TEST(redis.size_of("queue:default") == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_tick_with_a_score_goes_into_the_schedule, Site) {
  const auto last = serve("{}").last - 1000s;
  set_last(last);
  TickClaim later = due(last, last + 60s, TickClaim::WhileHeld::skip);
  later.score = "12345.5";
  redis.command({"ZADD", "schedule", "1", "another"});
  BOOST_TEST((claim(later) == Outcome::claimed));
  redis.command({"ZREM", "schedule", "another"});
  BOOST_TEST((redis.zrange("schedule") == std::vector<std::pair<std::string, double>>{{payload, 12345.5}}));
  BOOST_TEST(redis.size_of("queue:default") == 0u);
  BOOST_TEST(redis.size_of("queues") == 0u);
  BOOST_TEST(redis.get(turn).value_or("none") == "a");
}

BOOST_FIXTURE_TEST_CASE(a_hundred_ticks_are_remembered, Site) {
  const auto last = serve("{}").last - 1000s;
  set_last(last);
  for (int i = 0; i < 110; ++i) redis.command({"RPUSH", history, "older " + std::to_string(i)});
  BOOST_TEST((claim(due(last, last + 60s)) == Outcome::claimed));
  const auto kept = redis.lrange(history);
  BOOST_TEST(kept.size() == most_periodic_history);
  BOOST_TEST(kept.front() == "claimed");
  BOOST_TEST(kept.back() == "older 98");
}

BOOST_FIXTURE_TEST_CASE(a_count_that_can_grow_no_more_makes_no_tick_come_twice, Site) {
  const auto last = serve("{}").last;
  set_last(last - 120s);
  redis.command({"HSET", state, "claimed", "9223372036854775807"});
  BOOST_TEST(connection.run(claim_tick(due(last - 120s, last - 60s))).view().is_error());
  BOOST_TEST(redis.size_of("queue:default") == 1u);
  BOOST_TEST((claim(due(last - 120s, last - 60s)) == Outcome::lost));
  BOOST_TEST(redis.size_of("queue:default") == 1u);
}

BOOST_FIXTURE_TEST_CASE(the_time_of_its_registration_is_no_tick, Site) {
  const auto known = [&] { return read_periodic(connection.call(ask_periodic("report")).view()).value(); };
  serve("{}");
  BOOST_TEST(!known().last.has_value());
  const auto now = std::chrono::floor<std::chrono::seconds>(serve("{}").now);
  set_last(now - 60s);
  BOOST_REQUIRE((claim(due(now - 60s, now - 1s)) == Outcome::claimed));
  BOOST_TEST((known().last.value() == now - 1s));
  serve("{}", true, "@daily UTC");  // counted from now on
  BOOST_TEST(!known().last.has_value());
}
