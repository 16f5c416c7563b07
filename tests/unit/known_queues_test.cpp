#include "shared/store/queues/known_queues.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;
using Names = std::vector<std::string>;

BOOST_AUTO_TEST_CASE(a_star_stands_for_the_known_queues_that_are_not_listed) {
  const KnownQueues known{.names = {"a", "b", "c", "d"}, .paused = {}};
  BOOST_TEST(expand_queues({"*"}, known) == (Names{"a", "b", "c", "d"}), boost::test_tools::per_element());
  BOOST_TEST(expand_queues({"c", "*", "a"}, known) == (Names{"c", "b", "d", "a"}), boost::test_tools::per_element());
  BOOST_TEST(expand_queues({"x", "a"}, known) == (Names{"x", "a"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(paused_queues_are_left_out_whoever_names_them) {
  const KnownQueues known{.names = {"a", "b", "c"}, .paused = {"a", "b", "elsewhere"}};
  BOOST_TEST(expand_queues({"a", "*", "x"}, known) == (Names{"c", "x"}), boost::test_tools::per_element());
  BOOST_TEST(expand_queues({"a", "b"}, known).empty());
}
