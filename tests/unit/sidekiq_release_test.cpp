#include "shared/base/sidekiq_release.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/scoreboard/told_times.hpp"

using namespace brood;

namespace {

SidekiqRelease release(std::string_view text) { return SidekiqRelease::parse(text).value(); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_release_is_read_as_a_process_or_a_person_says_it) {
  BOOST_CHECK((release("7.3.10") == SidekiqRelease{7, 3, 10}));
  BOOST_CHECK((release("8.0.0.beta1") == SidekiqRelease{8, 0, 0}));
  BOOST_CHECK(release("7") > release("7.3.10"));
  BOOST_CHECK(release("7") < release("8.0.0"));
  BOOST_CHECK(release("8.1") > release("8.1.7"));
  for (const char* const text : {"", "x", "0.1.0", "5.2", "7.", "7,3", "-7", "7.x", "99999999999", "1000"})
    BOOST_TEST(!SidekiqRelease::parse(text).has_value());
}

BOOST_AUTO_TEST_CASE(times_are_milliseconds_from_8_on) {
  BOOST_CHECK(SidekiqRelease{}.time_unit() == TimeUnit::float_seconds);
  BOOST_CHECK(release("7.3.10").time_unit() == TimeUnit::float_seconds);
  BOOST_CHECK(release("8.0.0").time_unit() == TimeUnit::integer_milliseconds);
}

BOOST_AUTO_TEST_CASE(retry_for_is_what_each_release_makes_of_it) {
  for (const char* const text : {"6", "6.4.1", "7.0.9", "7.1.2"})
    BOOST_CHECK(release(text).retry_for() == RetryFor::ignored);
  for (const char* const text : {"7.1.3", "7.3.10", "7", "8.0.9", "8.0"})
    BOOST_CHECK(release(text).retry_for() == RetryFor::both);
  for (const char* const text : {"8.1.0", "8.1.7", "8"}) BOOST_CHECK(release(text).retry_for() == RetryFor::alone);
}

BOOST_AUTO_TEST_CASE(the_unit_is_told_by_a_variable) {
  const auto told = [](const char* value) { return told_times([=](const char*) { return value; }); };
  BOOST_CHECK(told("seconds") == TimeUnit::float_seconds);
  BOOST_CHECK(told("milliseconds") == TimeUnit::integer_milliseconds);
  BOOST_TEST(!told("hours").has_value());
  BOOST_TEST(!told(nullptr).has_value());
}
