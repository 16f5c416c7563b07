#include "supervisor/cli/bench/quantile.hpp"

#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <vector>

using namespace brood;

BOOST_AUTO_TEST_CASE(it_is_the_least_value_that_so_large_a_share_of_them_does_not_exceed) {
  const std::vector<double> unsorted = {4, 1, 3, 2};
  BOOST_TEST(quantile(unsorted, 0) == 1);
  BOOST_TEST(quantile(unsorted, 0.25) == 1);
  BOOST_TEST(quantile(unsorted, 0.26) == 2);
  BOOST_TEST(quantile(unsorted, 0.5) == 2);
  BOOST_TEST(quantile(unsorted, 0.99) == 4);
  BOOST_TEST(quantile(unsorted, 1) == 4);
  BOOST_TEST(quantile({7, 5, 6}, 0.5) == 6);
}

BOOST_AUTO_TEST_CASE(no_values_have_no_quantile) { BOOST_CHECK_THROW(quantile({}, 0.5), std::runtime_error); }
