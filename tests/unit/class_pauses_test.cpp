#include "shared/store/queues/class_pauses.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

#include "supervisor/queues/class_pause_ends.hpp"

using namespace brood;

BOOST_AUTO_TEST_CASE(a_pause_is_read_with_its_times_and_its_reason) {
  const ClassPause pause = ClassPause::read("1700000000 1700003600 the ERP is down");
  BOOST_TEST(pause.since.value() == 1'700'000'000);
  BOOST_TEST(pause.until.value() == 1'700'003'600);
  BOOST_TEST(pause.reason == "the ERP is down");
  const ClassPause endless = ClassPause::read("1700000000 0 ");
  BOOST_TEST(!endless.until.has_value());
  BOOST_TEST(endless.reason.empty());
}

BOOST_AUTO_TEST_CASE(what_another_program_has_written_is_a_pause_without_end) {
  for (const std::string text : {"", " ", "x", "x y z", "-5 -7 a", "99999999999999999999 99999999999999999999 a",
                                 "9223372036854775807 9223372036854775807 a", "9000000001 9000000001 a"}) {
    const ClassPause pause = ClassPause::read(text);
    BOOST_TEST(!pause.since.has_value(), text);
    BOOST_TEST(!pause.until.has_value(), text);
    BOOST_TEST(pause.text == text);
  }
  BOOST_TEST(ClassPause::read("9000000000 9000000000 a").since.value() == 9'000'000'000);
  BOOST_TEST(ClassPause::read("9000000000 9000000000 a").until.value() == 9'000'000'000);
  BOOST_TEST(ClassPause::read("1 2 " + std::string(10'000, 'x')).reason.size() == longest_pause_reason);
}

BOOST_AUTO_TEST_CASE(the_earliest_end_comes_next) {
  BOOST_TEST(!next_end_of({}).has_value());
  BOOST_TEST(!next_end_of({{"a", ClassPause::read("1 0 ")}}).has_value());
  const ClassPauses pauses{
      {"a", ClassPause::read("1 30 ")}, {"b", ClassPause::read("1 20 ")}, {"c", ClassPause::read("1 0 ")}};
  BOOST_TEST(next_end_of(pauses).value() == 20);
}
