#include <boost/test/unit_test.hpp>

#include "worker/admission/short_classes.hpp"

using namespace brood;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(a_class_is_short_once_it_has_run_and_was) {
  ShortClasses classes;
  BOOST_TEST(!classes.contain("A"));
  classes.ran("A", 1ms);
  classes.ran("B", 5ms);
  BOOST_TEST(classes.contain("A"));
  BOOST_TEST(!classes.contain("B"));
}

BOOST_AUTO_TEST_CASE(what_a_class_took_last_counts) {
  ShortClasses classes;
  classes.ran("A", 1ms);
  classes.ran("A", 2ms);
  classes.ran("A", 1s);
  BOOST_TEST(!classes.contain("A"));
  classes.ran("B", 1ms);
  classes.ran("A", 1ms);
  BOOST_TEST(classes.contain("A"));
  BOOST_TEST(classes.contain("B"));
}

BOOST_AUTO_TEST_CASE(names_without_end_do_not_fill_memory) {
  ShortClasses classes;
  int known = 0;
  for (int i = 0; i < 10'000; ++i) classes.ran(std::to_string(i), 1ms);
  for (int i = 0; i < 10'000; ++i) known += classes.contain(std::to_string(i));
  BOOST_TEST(known <= 256);
  BOOST_TEST(classes.contain("9999"));
}
