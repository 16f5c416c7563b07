#include "supervisor/control/progress_throttle.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(a_sentence_is_told_when_it_is_another_one_and_again_every_ten_seconds) {
  const SteadyTime start = steady_now();
  ProgressThrottle told;
  BOOST_TEST(told.is_due("2 jobs still run", start));
  BOOST_TEST(!told.is_due("2 jobs still run", start + 9s));
  BOOST_TEST(told.is_due("2 jobs still run", start + 10s));
  BOOST_TEST(!told.is_due("2 jobs still run", start + 19s));
  BOOST_TEST(told.is_due("1 job still runs", start + 19s));
  BOOST_TEST(told.is_due("1 job still runs", start + 29s));
}

BOOST_AUTO_TEST_CASE(a_later_listener_hears_it_at_once) {
  const SteadyTime start = steady_now();
  ProgressThrottle told;
  BOOST_TEST(told.is_due("1 job still runs", start));
  told.forget();
  BOOST_TEST(told.is_due("1 job still runs", start + 1s));
}
