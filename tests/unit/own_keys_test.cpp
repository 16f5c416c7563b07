#include "supervisor/redis/own_keys.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;

BOOST_AUTO_TEST_CASE(the_queues_of_all_capsules_are_tried_and_those_of_jobs_that_are_set_aside) {
  const CapSettings cap{.name = "erp", .queues = {"low"}, .classes = {"Book"}};
  const std::vector<CapsuleSettings> capsules{
      {.queues = QueueOrder({{"high", 0}, {"low", 0}}), .caps = {cap}},
      {.name = "rest", .queues = QueueOrder({{"low", 0}, {"*", 0}}), .caps = {cap}}};
  const OwnKeys own = own_keys(capsules, "me");
  BOOST_TEST(own.queues == (std::vector<std::string>{"high", "low", "low@erp", "*"}), boost::test_tools::per_element());
  BOOST_TEST(own.identity == "me");
}

BOOST_AUTO_TEST_CASE(a_pattern_is_tried_without_its_exclusions) {
  const OwnKeys own = own_keys({{.queues = QueueOrder({{"mail*", 0}, {"!mail_bulk", 0}})}}, "me");
  BOOST_TEST(own.queues == std::vector<std::string>{"mail*"}, boost::test_tools::per_element());
}
