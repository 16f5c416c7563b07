#include "shared/store/periodic/periodic_rule.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

#include "shared/periodic/local_text.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

std::string why_refused(const std::string& json) {
  try {
    read_periodic_rule(json);
  } catch (const BadPeriodicRule& error) {
    return error.what();
  }
  return "";
}

std::string with(const std::string& members) { return R"({"cron":"@daily","class":"A",)" + members + "}"; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_rule_is_read_as_it_was_written) {
  const std::string json =
      R"({"cron":"30 3 * * *","tz":"Europe/Berlin","class":"Report","args":[1,"two"],"queue":"low","retry":3,)"
      R"("catch_up":"all","within":3600,"overlap":"skip","jitter":60,"enabled_on":["web","db"],"members":{"tags":["x"]}})";
  const PeriodicSettings job = read_periodic_rule(json);
  BOOST_TEST(job.cron == "30 3 * * *");
  BOOST_TEST(job.zone == "Europe/Berlin");
  BOOST_TEST(job.args == R"([1,"two"])");
  BOOST_TEST((job.overlap == PeriodicSettings::Overlap::skip));
  BOOST_TEST((job.late_at_most() == 1h));
  BOOST_TEST(job.members == R"(,"tags":["x"])");
  BOOST_TEST(job.is_enabled_on({"db"}));
  BOOST_TEST(!job.is_enabled_on({"cache"}));
  BOOST_TEST(periodic_rule_json(job) == json);
  BOOST_TEST(periodic_rule_text(job) == "30 3 * * * Europe/Berlin");
}

BOOST_AUTO_TEST_CASE(all_but_rule_and_class_may_be_left_out) {
  const PeriodicSettings job = read_periodic_rule(R"({"cron":"@hourly","class":"A","tz":null,"within":null})");
  BOOST_TEST(job.zone == "UTC");
  BOOST_TEST(job.args == "[]");
  BOOST_TEST(job.queue == "default");
  BOOST_TEST(job.retry == "true");
  BOOST_TEST((job.catches_up() == PeriodicSettings::CatchUp::last));
}

BOOST_AUTO_TEST_CASE(a_rule_may_push_to_the_queue_of_a_tenant) {
  BOOST_TEST(read_periodic_rule(with(R"("queue":"images~acme")")).queue == "images~acme");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_used_is_named) {
  BOOST_TEST(!why_refused("no JSON").empty());
  BOOST_TEST(!why_refused("[]").empty());
  BOOST_TEST(!why_refused("{}").empty());
  BOOST_TEST(why_refused(R"({"cron":"0 25 * * *","class":"A"})") == "the hour \"25\" is not within 0 to 23");
  BOOST_TEST(why_refused(R"({"cron":"@daily"})") == "its class is missing");
  BOOST_TEST(why_refused(with(R"("tz":"Europe/Berlim")")) ==
             "this machine knows no time zone \"Europe/Berlim\"; did you mean \"Europe/Berlin\"?");
  BOOST_TEST(why_refused(with(R"("tz":"../../etc/passwd")")).starts_with("this machine knows no time zone"));
  BOOST_TEST(why_refused(with(R"("tz":7)")) == "its tz is no text");
  BOOST_TEST(why_refused(with(R"("args":{})")) == "its args are no array");
  BOOST_TEST(why_refused(with(R"("queue":"a b")")).starts_with("the queue \"a b\" is not made of"));
  BOOST_TEST(why_refused(with(R"("retry":-1)")).starts_with("its retry is not"));
  BOOST_TEST(why_refused(with(R"("retry":"often")")).starts_with("its retry is not"));
  BOOST_TEST(why_refused(with(R"("catch_up":"some")")) == "its catch_up is not none, last or all, but \"some\"");
  BOOST_TEST(why_refused(with(R"("within":0)")).starts_with("its within is no whole number"));
  BOOST_TEST(why_refused(with(R"("jitter":1e9)")).starts_with("its jitter is no whole number"));
  BOOST_TEST(why_refused(with(R"("enabled_on":"web")")) == "its enabled_on is no array of labels");
  BOOST_TEST(why_refused(with(R"("enabled_on":[7])")) == "its enabled_on is no array of labels");
  BOOST_TEST(why_refused(with(R"("members":[])")) == "its members are no object");
  BOOST_TEST(why_refused(with(R"("members":{"encrypt":true})")).find("cannot have encrypt") != std::string::npos);
  BOOST_TEST(why_refused(with(R"("members":{"unique_until":"done"})")) ==
             "a periodic job has overlap instead of unique_until");
  BOOST_TEST(why_refused(with(R"("members":{"unique_lock":"a"})")) == "its members have unique_lock");
  BOOST_TEST(why_refused(with(R"("members":{"jid":"a"})")) == "its members have jid");
  BOOST_CHECK_THROW(check_periodic_name("a b"), BadPeriodicRule);
  BOOST_CHECK_THROW(check_periodic_name(""), BadPeriodicRule);
  BOOST_CHECK_THROW(check_periodic_name("cron_job:default:a"), BadPeriodicRule);
}

// Another text is another job for earlier releases.
BOOST_AUTO_TEST_CASE(a_pause_of_the_configuration_alone_changes_what_is_known_of_a_job) {
  PeriodicSettings job = read_periodic_rule(R"({"cron":"@daily","class":"A"})");
  const std::string before = periodic_definition(job);
  BOOST_TEST(before.find("paused") == std::string::npos);
  job.paused_at = "brood.toml:3: periodic.a.paused";
  BOOST_TEST(periodic_definition(job).find(R"("paused":true)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_tick_is_shown_by_the_clock_of_its_zone) {
  const std::chrono::sys_seconds moment(std::chrono::seconds(1'774'746'000));
  BOOST_TEST(local_text(moment, 2h) == "2026-03-29 03:00:00 +02:00");
  BOOST_TEST(local_text(moment, 0s) == "2026-03-29 01:00:00 +00:00");
  BOOST_TEST(local_text(moment, -(3h + 30min)) == "2026-03-28 21:30:00 -03:30");
}
