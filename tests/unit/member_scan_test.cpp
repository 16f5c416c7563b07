#include "shared/json/member_scan.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace brood;

namespace {

// The value found for `queue`, whatever the size of the steps.
std::string found(const std::string& text) {
  std::string all;
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
    MemberScan scan("queue");
    int steps = 0;
    while (!scan.go_on(text, step)) BOOST_REQUIRE(++steps < 10'000);
    const std::string now =
        (scan.is_object() ? "" : "no object, ") + (scan.has_member() ? scan.string().value_or("no string") : "none");
    if (!all.empty()) BOOST_TEST(now == all);
    all = now;
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_last_outermost_member_counts) {
  BOOST_TEST(found(R"({"queue":"low"})") == "low");
  BOOST_TEST(found(R"({ "queue" : "low" , "args":[1,"queue",{"queue":"inner"}]})") == "low");
  BOOST_TEST(found(R"({"args":[{"queue":"inner"}],"queue":"low"})") == "low");
  BOOST_TEST(found(R"({"queue":"low","queue":"high"})") == "high");
  BOOST_TEST(found(R"({"queue":"low","queue":7})") == "no string");
  BOOST_TEST(found(R"({"queue":["low"]})") == "no string");
  BOOST_TEST(found(R"({"queue":{"queue":"x"}})") == "no string");
  BOOST_TEST(found(R"({"class":"queue","args":[]})") == "none");
  BOOST_TEST(found("{}") == "none");
}

BOOST_AUTO_TEST_CASE(quotes_and_braces_within_strings_do_not_count) {
  BOOST_TEST(found(R"({"args":["}\",\"queue\":\"a\""],"queue":"low"})") == "low");
  BOOST_TEST(found(R"({"args":["\\"],"queue":"low"})") == "low");
  BOOST_TEST(found(R"({"queue":"l\u006fw \"x\""})") == "low \"x\"");
}

BOOST_AUTO_TEST_CASE(what_is_no_object_is_told) {
  BOOST_TEST(found("") == "no object, none");
  BOOST_TEST(found("[[[[") == "no object, none");
  BOOST_TEST(found(R"(["queue"])") == "no object, none");
  BOOST_TEST(found(R"({"queue":"low")") == "no object, low");
  BOOST_TEST(found(R"({"queue":"low\)") == "no object, no string");
}
