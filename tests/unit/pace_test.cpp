#include <boost/test/unit_test.hpp>

#include "shared/redis/pace.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr SteadyTime begin{24h};
constexpr std::uint64_t megabyte = 1 << 20;

}  // namespace

BOOST_AUTO_TEST_CASE(without_a_byte_the_deadline_stays) {
  Pace pace(begin + 10s, 10s, 500);
  pace.note(500, begin + 9s);
  BOOST_TEST(!pace.is_over(begin + 9999ms));
  BOOST_TEST(pace.is_over(begin + 10s));
}

BOOST_AUTO_TEST_CASE(bytes_that_move_move_the_deadline) {
  Pace pace(begin + 10s, 10s);
  pace.note(megabyte, begin + 8s);
  BOOST_TEST((pace.deadline() == begin + 18s));
  pace.note(2 * megabyte, begin + 17s);
  BOOST_TEST((pace.deadline() == begin + 27s));
  pace.note(2 * megabyte, begin + 26s);  // not one more
  BOOST_TEST((pace.deadline() == begin + 27s));
}

BOOST_AUTO_TEST_CASE(a_drip_is_given_up) {
  Pace pace(begin + 10s, 10s);
  SteadyTime now = begin;
  for (std::uint64_t bytes = 1; !pace.is_over(now); ++bytes) {
    now += 1s;
    pace.note(bytes, now);
  }
  BOOST_TEST((now == begin + 11s));
}

BOOST_AUTO_TEST_CASE(a_line_that_is_faster_than_the_slowest_may_take_as_long_as_it_needs) {
  for (const std::uint64_t rate : {Pace::slowest - 1'000, Pace::slowest, 2 * Pace::slowest}) {
    Pace pace(begin + 2s, 2s);
    SteadyTime now = begin;
    for (int second = 1; second <= 600 && !pace.is_over(now); ++second) {
      now += 1s;
      pace.note(static_cast<std::uint64_t>(second) * rate, now);
    }
    BOOST_TEST(pace.is_over(now) == (rate < Pace::slowest), rate);
  }
}

BOOST_AUTO_TEST_CASE(the_deadline_never_comes_nearer) {
  Pace pace(begin + 60s, 1s);
  pace.note(megabyte, begin + 3s);
  BOOST_TEST((pace.deadline() == begin + 60s));
}
