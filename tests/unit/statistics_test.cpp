#include "supervisor/report/statistics.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>

using namespace brood;
using namespace std::chrono_literals;

namespace {

SteadyTime at(std::chrono::nanoseconds since_start) { return SteadyTime(1h + since_start); }

void check(const Statistics& statistics, std::uint64_t processed, std::uint64_t failed) {
  BOOST_TEST(statistics.unflushed().processed == processed);
  BOOST_TEST(statistics.unflushed().failed == failed);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_new_slot_counts_from_zero_and_then_by_differences) {
  Statistics statistics;
  statistics.observe(0, {5, 1}, at(0s));
  statistics.observe(1, {2, 0}, at(0s));
  check(statistics, 7, 1);
  statistics.observe(0, {8, 1}, at(10s));
  statistics.observe(1, {2, 0}, at(10s));
  check(statistics, 10, 1);
}

BOOST_AUTO_TEST_CASE(what_was_flushed_is_not_counted_again) {
  Statistics statistics;
  statistics.observe(0, {5, 1}, at(0s));
  const Statistics::Counts sent = statistics.unflushed();
  statistics.observe(0, {9, 2}, at(10s));
  statistics.flushed(sent);
  check(statistics, 4, 1);
}

BOOST_AUTO_TEST_CASE(what_was_not_flushed_is_kept) {
  Statistics statistics;
  statistics.observe(0, {5, 1}, at(0s));
  statistics.observe(0, {5, 1}, at(10s));
  check(statistics, 5, 1);
}

BOOST_AUTO_TEST_CASE(an_adopted_scoreboard_counts_only_what_it_gains) {
  Statistics statistics;
  statistics.start_from(0, {1000, 10}, at(0s));
  statistics.observe(0, {1003, 10}, at(10s));
  check(statistics, 3, 0);
}

BOOST_AUTO_TEST_CASE(a_crash_counts_as_a_failure) {
  Statistics statistics;
  statistics.observe(0, {1, 0}, at(0s));
  statistics.count_failure();
  check(statistics, 1, 1);
}

BOOST_AUTO_TEST_CASE(counters_that_run_backwards_count_nothing_and_go_on_from_there) {
  Statistics statistics;
  statistics.observe(0, {100, 0}, at(0s));
  statistics.flushed(statistics.unflushed());
  statistics.observe(0, {7, 0}, at(10s));
  check(statistics, 0, 0);
  statistics.observe(0, {9, 1}, at(20s));
  check(statistics, 2, 1);
}

BOOST_AUTO_TEST_CASE(counters_scribbled_full_count_nothing) {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  Statistics statistics;
  statistics.observe(0, {most, most}, at(0s));
  statistics.observe(1, {10, most}, at(0s));
  check(statistics, 0, 0);
  statistics.observe(0, {most, most}, at(10s));
  check(statistics, 0, 0);
}

BOOST_AUTO_TEST_CASE(a_fast_worker_is_believed) {
  Statistics statistics;
  statistics.observe(0, {0, 0}, at(0s));
  statistics.observe(0, {2'000'000, 0}, at(10s));
  check(statistics, 2'000'000, 0);
}

BOOST_AUTO_TEST_CASE(days_are_those_of_utc) {
  BOOST_TEST(statistics_day(WallTime(0s)) == "1970-01-01");
  BOOST_TEST(statistics_day(WallTime(1795305599s)) == "2026-11-21");
  BOOST_TEST(statistics_day(WallTime(1795305600s)) == "2026-11-22");
}
