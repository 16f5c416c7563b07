#include "supervisor/schedule/rule_classes.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string first_build = R"({"classes":{"Report":{"options":{"queue":"reports"}}}})";
const std::string next_build = R"({"classes":{"Report":{"options":{"queue":"slow"}}}})";

std::string queue_by(const RuleClasses& rules) { return rules.classes().find("Report").front().known.queue; }

}  // namespace

BOOST_AUTO_TEST_CASE(rules_wait_until_workers_have_told_their_classes) {
  RuleClasses rules;
  const SteadyTime start = steady_now();
  BOOST_TEST(!rules.look(nullptr, start, 300s));
  BOOST_TEST(!rules.look(nullptr, start + 299s, 300s));
  BOOST_TEST(!rules.are_known());
  BOOST_TEST(rules.look(&first_build, start + 299s, 300s));
  BOOST_TEST(rules.are_known());
  BOOST_TEST(queue_by(rules) == "reports");
  BOOST_TEST(!rules.look(&first_build, start + 301s, 300s));
}

BOOST_AUTO_TEST_CASE(rules_keep_the_classes_of_the_generation_before_until_those_of_the_next_are_told) {
  RuleClasses rules;
  const SteadyTime start = steady_now();
  rules.look(&first_build, start, 300s);
  BOOST_TEST(!rules.look(nullptr, start + 1000s, 300s));
  BOOST_TEST(queue_by(rules) == "reports");
  BOOST_TEST(rules.look(&next_build, start + 1001s, 300s));
  BOOST_TEST(queue_by(rules) == "slow");
}

BOOST_AUTO_TEST_CASE(rules_go_on_without_classes_where_none_are_told) {
  RuleClasses none_can_come, none_came;
  const SteadyTime start = steady_now();
  BOOST_TEST(none_can_come.look(nullptr, start, 0s));
  BOOST_TEST(none_can_come.are_known());
  BOOST_TEST(!none_can_come.look(nullptr, start + 1s, 0s));
  none_came.look(nullptr, start, 300s);
  BOOST_TEST(none_came.look(nullptr, start + 300s, 300s));
  BOOST_TEST(none_came.are_known());
  BOOST_TEST(none_came.classes().names().empty());
  BOOST_TEST(none_came.look(&first_build, start + 400s, 300s));
  BOOST_TEST(queue_by(none_came) == "reports");
}
