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
        send(connection,
             serve_periodic({.name = "report", .rule = rule, .definition = definition, .replaces = replaces}))
            .view());
  }
  Reply claim_after(std::chrono::sys_seconds last) {
    return send(connection, claim_tick({.name = "report",
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

BOOST_FIXTURE_TEST_CASE(a_tick_of_a_state_that_has_gone_is_lost_to_nobody_s_rule, Site) {
  const auto last = serve("{}").last;
  redis.flush();
  const ClaimedTick claimed =
      read_claimed_tick(send(connection, claim_tick({.name = "report",
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
