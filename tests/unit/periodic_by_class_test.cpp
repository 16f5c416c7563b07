#include "supervisor/schedule/periodic_by_class.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

#include "shared/classes/rule_by_class.hpp"

using namespace brood;

namespace {

PublishedClasses classes() {
  PublishedClasses all;
  all.add(
      {.name = "b", .runs = true},
      R"({"classes":{"Report":{"options":{"queue":"reports","retry":3,"tags":["slow"],"retry_for":60,"encrypt":true,)"
      R"("unique_until":"done","unique_by":[0]}},"Odd":{"options":{"queue":"a b","retry":"often"}},)"
      R"("Acme":{"options":{"queue":"images~acme"}}}})");
  return all;
}

PeriodicSettings rule_of(const std::string& job_class) {
  PeriodicSettings rule;
  rule.job_class = job_class;
  rule.goes_by_class = true;
  return rule;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_rule_takes_the_options_of_its_class_that_need_no_push) {
  PeriodicJobSettings jobs{{"plain", rule_of("Report")}, {"own", rule_of("Report")},  {"ruby", rule_of("Ruby")},
                           {"odd", rule_of("Odd")},      {"tenant", rule_of("Acme")}, {"library", rule_of("Report")}};
  jobs["own"].queue = "mine";
  jobs["own"].says_queue = jobs["own"].says_retry = true;
  jobs["library"].goes_by_class = false;
  const PeriodicJobSettings taken = by_class(jobs, classes());
  BOOST_TEST(taken.at("plain").queue == "reports");
  BOOST_TEST(taken.at("plain").retry == "3");
  BOOST_TEST(taken.at("plain").members == R"(,"tags":["slow"],"retry_for":60)");
  BOOST_TEST(taken.at("tenant").queue == "images~acme");
  BOOST_TEST(taken.at("own").queue == "mine");
  BOOST_TEST(taken.at("own").retry == "true");
  BOOST_TEST(taken.at("own").members == R"(,"tags":["slow"])");
  for (const char* name : {"ruby", "odd", "library"}) {
    BOOST_TEST(taken.at(name).queue == "default");
    BOOST_TEST(taken.at(name).retry == "true");
    BOOST_TEST(taken.at(name).members == "");
  }
}

BOOST_AUTO_TEST_CASE(a_rule_that_is_added_at_run_time_takes_the_options_of_its_class_that_need_no_push) {
  const auto by_class = [](const std::string& text) {
    const JsonObject rule = JsonObject::parse(text);
    RuleAsPush one = rule_as_push(rule);
    go_by_class(one.push, one.said, classes(), {});
    return with_class_options(rule, one);
  };
  BOOST_TEST(by_class(R"({"class":"Report","queue":null})") ==
             R"({"class":"Report","queue":"reports","retry":3,"members":{"tags":["slow"],"retry_for":60}})");
  const std::string own = R"({"class":"Report","queue":"mine","retry":1,"members":{"tags":[]}})";
  BOOST_TEST(by_class(own) == own);
  BOOST_TEST(by_class(R"({"class":"Ruby"})") == R"({"class":"Ruby","queue":"default","retry":true})");
  // Reading the rule reports what is wrong with it.
  BOOST_TEST(by_class(R"({"class":7,"queue":8,"members":[]})") == R"({"class":7,"queue":8,"members":[],"retry":true})");
  BOOST_CHECK_THROW(by_class(R"({"class":"Reprot"})"), UnfitPush);
}
