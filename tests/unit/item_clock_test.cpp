#include "worker/job/item_clock.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr SteadyTime start{1000s};

ItemClock begun(ItemClock::Timeout timeout = 5s) {
  ItemClock clock;
  clock.begin(start, timeout);
  return clock;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_without_items_is_no_iterable_jobs) {
  ItemClock clock = begun();
  BOOST_TEST(!clock.iterates());
  clock.next_item(start, 5s);
  BOOST_TEST(clock.iterates());
}

BOOST_AUTO_TEST_CASE(each_item_has_all_of_the_timeout) {
  ItemClock clock = begun();
  SteadyTime now = start;
  for (int item = 0; item < 10; ++item) {
    clock.next_item(now, 5s - (item == 0 ? 0s : 4s));
    now += 4s;
    BOOST_TEST(!clock.overran(now, 1s));
  }
  BOOST_TEST(clock.overran(now + 2s, -1s));
}

BOOST_AUTO_TEST_CASE(one_that_took_longer_is_remembered) {
  ItemClock clock = begun();
  clock.next_item(start, 5s);
  clock.next_item(start + 6s, -1s);
  BOOST_TEST(clock.overran(start + 6s, 5s));
  clock.begin(start + 7s, 5s);
  BOOST_TEST(!clock.overran(start + 7s, 5s));
}

BOOST_AUTO_TEST_CASE(an_item_that_asked_for_more_time_has_it) {
  ItemClock clock = begun();
  clock.next_item(start, 5s);
  clock.next_item(start + 8s, 3s);
  BOOST_TEST(!clock.overran(start + 8s, 3s));
}

BOOST_AUTO_TEST_CASE(an_item_whose_run_had_no_time_left_for_it_has_not_taken_too_long) {
  ItemClock clock = begun();
  clock.next_item(start, 5s);
  clock.next_item(start + 4s, 1s);
  BOOST_TEST(!clock.overran(start + 6s, -1s));
}

BOOST_AUTO_TEST_CASE(another_item_fits_if_there_is_time_for_the_longest) {
  ItemClock clock = begun();
  BOOST_TEST(clock.fits_another(0s));
  clock.next_item(start, 5s);
  BOOST_TEST(clock.fits_another(0s));
  clock.next_item(start + 2s, 3s);
  clock.next_item(start + 3s, 2s);
  BOOST_TEST(clock.fits_another(2s));
  BOOST_TEST(!clock.fits_another(1s));
  BOOST_TEST(clock.fits_another(std::nullopt));
}

BOOST_AUTO_TEST_CASE(without_a_timeout_nothing_takes_too_long) {
  ItemClock clock = begun(std::nullopt);
  clock.next_item(start, std::nullopt);
  BOOST_TEST(!clock.overran(start + 1h, std::nullopt));
}
