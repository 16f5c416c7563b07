#include "supervisor/report/metrics.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>

#include "shared/base/histogram.hpp"
#include "shared/store/report/metric_keys.hpp"
#include "supervisor/upgrade/handover_record.hpp"
#include "tests/support/vectors.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t all = 1'000;

SteadyTime at(std::chrono::nanoseconds since_start) { return SteadyTime(1h + since_start); }

ClassUsage usage(const std::string& job_class, std::uint64_t runs, std::uint64_t failed = 0, std::uint64_t ms = 0) {
  ClassUsage used;
  used.job_class = job_class;
  used.runs = runs;
  used.failed = failed;
  used.ms = ms;
  used.histogram[0] = runs - failed;
  used.cpu_us = runs * 10;
  used.wall_us = runs * 20;
  return used;
}

ClassUsage only(const Metrics& metrics) {
  const std::vector<ClassUsage> told = metrics.unflushed(all);
  BOOST_REQUIRE(told.size() == 1u);
  return told[0];
}

WallTime utc(const std::string& text) {  // 2025-02-14T08:03:00Z
  const auto number = [&](std::size_t from, std::size_t length) { return std::stoi(text.substr(from, length)); };
  const std::chrono::year_month_day date{std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  return WallTime(std::chrono::sys_days(date)) + std::chrono::hours(number(11, 2)) +
         std::chrono::minutes(number(14, 2)) + std::chrono::seconds(number(17, 2));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_falls_into_the_bucket_that_sidekiq_puts_it_into) {
  for (const test::Vector& vector : test::vectors("histogram-")) {
    const auto ms = static_cast<std::uint64_t>(vector.input["ms"].number());
    BOOST_TEST(static_cast<double>(histogram_bucket(ms)) == vector.expect["bucket"].number(), vector.id);
  }
  BOOST_TEST(histogram_bucket(std::numeric_limits<std::uint64_t>::max()) == 25u);
}

BOOST_AUTO_TEST_CASE(keys_are_spelled_as_both_releases_spell_them) {
  for (const test::Vector& vector : test::vectors("metric-keys-")) {
    const WallTime when = utc(vector.input["utc"].text);
    const std::string& job_class = vector.input["class"].text;
    const auto &v7 = vector.expect["v7"], &v8 = vector.expect["v8"];
    BOOST_TEST(keys::metrics_of_minute_in_7(when).name() == v7["minute"].text, vector.id);
    BOOST_TEST(keys::histogram_of_minute_in_7(job_class, when).name() == v7["histogram"].text, vector.id);
    BOOST_TEST(keys::metrics_of_minute(when).name() == v8["minute"].text, vector.id);
    BOOST_TEST(keys::metrics_of_ten_minutes(when).name() == v8["ten_minutes"].text, vector.id);
    BOOST_TEST(keys::histogram_of_minute(job_class, when).name() == v8["histogram"].text, vector.id);
  }
}

BOOST_AUTO_TEST_CASE(a_new_class_counts_from_zero_and_then_by_differences) {
  Metrics metrics;
  metrics.observe({usage("A", 5, 1, 40), usage("B", 2)}, at(0s));
  metrics.flushed(metrics.unflushed(all));
  BOOST_TEST(metrics.unflushed(all).empty());

  metrics.observe({usage("A", 8, 1, 100), usage("B", 2)}, at(10s));

  const ClassUsage gained = only(metrics);
  BOOST_TEST(gained.job_class == "A");
  BOOST_TEST(gained.runs == 3u);
  BOOST_TEST(gained.failed == 0u);
  BOOST_TEST(gained.ms == 60u);
  BOOST_TEST(gained.histogram[0] == 3u);
  BOOST_TEST(gained.cpu_us == 30u);
  BOOST_TEST(gained.wall_us == 60u);
}

BOOST_AUTO_TEST_CASE(what_was_not_flushed_is_kept_and_what_was_is_not_repeated) {
  Metrics metrics;
  metrics.observe({usage("A", 5)}, at(0s));
  const auto told = metrics.unflushed(all);
  metrics.observe({usage("A", 9)}, at(10s));
  BOOST_TEST(only(metrics).runs == 9u);
  metrics.flushed(told);
  BOOST_TEST(only(metrics).runs == 4u);
}

BOOST_AUTO_TEST_CASE(a_few_classes_are_told_at_a_time_until_all_are) {
  Metrics metrics;
  std::vector<ClassUsage> seen;
  for (int i = 0; i < 40; ++i) seen.push_back(usage("Class" + std::to_string(i), 1));
  metrics.observe(seen, at(0s));
  std::size_t told = 0, turns = 0;
  for (auto some = metrics.unflushed(16); !some.empty(); some = metrics.unflushed(16), ++turns) {
    told += some.size();
    metrics.flushed(some);
  }
  BOOST_TEST(told == 40u);
  BOOST_TEST(turns == 3u);
}

BOOST_AUTO_TEST_CASE(the_peak_is_the_highest_since_it_was_told) {
  Metrics metrics;
  ClassUsage seen = usage("A", 1);
  seen.peak_rss_kb = 500;
  metrics.observe({seen}, at(0s));
  seen = usage("A", 2);
  seen.peak_rss_kb = 400;
  metrics.observe({seen}, at(2s));
  BOOST_TEST(only(metrics).peak_rss_kb == 500u);
  metrics.flushed(metrics.unflushed(all));
  seen = usage("A", 3);
  seen.peak_rss_kb = 300;
  metrics.observe({seen}, at(4s));
  BOOST_TEST(only(metrics).peak_rss_kb == 300u);
}

BOOST_AUTO_TEST_CASE(a_peak_that_rose_while_a_lower_one_was_told_is_told_next) {
  Metrics metrics;
  ClassUsage seen = usage("A", 1);
  seen.peak_rss_kb = 400;
  metrics.observe({seen}, at(0s));
  const std::vector<ClassUsage> told = metrics.unflushed(all);
  seen = usage("A", 2);
  seen.peak_rss_kb = 500;
  metrics.observe({seen}, at(2s));
  metrics.flushed(told);
  BOOST_TEST(only(metrics).peak_rss_kb == 500u);
}

BOOST_AUTO_TEST_CASE(counters_that_a_job_scribbled_over_gain_nothing_and_go_on_from_there) {
  constexpr std::uint64_t huge = 1ULL << 52;
  const auto scribble = [](auto change) {
    Metrics metrics;
    metrics.observe({usage("A", 100)}, at(0s));
    metrics.flushed(metrics.unflushed(all));
    ClassUsage seen = usage("A", 101);
    change(seen);
    metrics.observe({seen}, at(10s));
    BOOST_TEST(metrics.unflushed(all).empty());
    seen.runs += 2;
    seen.histogram[3] += 2;
    metrics.observe({seen}, at(20s));
    BOOST_TEST(only(metrics).runs == 2u);
  };
  scribble([](ClassUsage& seen) { seen.runs = huge; });
  scribble([](ClassUsage& seen) { seen.failed = huge; });
  scribble([](ClassUsage& seen) { seen.crashed = huge; });
  scribble([](ClassUsage& seen) { seen.ms = huge; });
  scribble([](ClassUsage& seen) { seen.histogram[7] = huge; });
  scribble([](ClassUsage& seen) { seen.cpu_us = std::numeric_limits<std::uint64_t>::max(); });
  scribble([](ClassUsage& seen) { seen.wall_us = huge; });
  scribble([](ClassUsage& seen) { seen.runs = 1; });
  scribble([](ClassUsage& seen) { seen.histogram[0] = 0; });
  Metrics metrics;
  ClassUsage seen = usage("A", 1);
  seen.peak_rss_kb = huge;
  metrics.observe({seen}, at(0s));
  BOOST_TEST(only(metrics).peak_rss_kb == 0u);
}

BOOST_AUTO_TEST_CASE(invented_names_are_never_more_than_the_table_has_room_for) {
  Metrics metrics;
  for (int i = 0; i < 3 * max_usage_classes; ++i)
    metrics.observe({usage("Class" + std::to_string(i), 1), usage("A|p", 1), usage("", 1)}, at(1s * i));
  BOOST_TEST(metrics.unflushed(all).size() == static_cast<std::size_t>(max_usage_classes));
  BOOST_TEST(metrics.known().size() == static_cast<std::size_t>(max_usage_classes));
}

BOOST_AUTO_TEST_CASE(a_name_that_stands_twice_is_read_once) {
  Metrics metrics;
  for (int beat = 0; beat < 3; ++beat) metrics.observe({usage("A", 100), usage("A", 5)}, at(10s * beat));
  BOOST_TEST(only(metrics).runs == 100u);
}

BOOST_AUTO_TEST_CASE(forgotten_runs_are_not_sent_later) {
  Metrics metrics;
  metrics.observe({usage("A", 5)}, at(0s));
  metrics.forget_unflushed();
  metrics.observe({usage("A", 7)}, at(10s));
  BOOST_TEST(only(metrics).runs == 2u);
}

BOOST_AUTO_TEST_CASE(the_next_program_goes_on_where_this_one_was) {
  Metrics before;
  ClassUsage seen = usage("A", 100, 3, 70);
  seen.peak_rss_kb = 9;
  before.observe({seen}, at(0s));
  before.flushed(before.unflushed(all));
  seen.runs += 5;
  seen.histogram[25] += 5;
  before.observe({seen}, at(10s));
  Handover left;
  left.identity.name = "a";
  left.identity.pid = 1;
  left.classes = before.known();

  for (const bool same_memory : {true, false}) {
    Metrics metrics;
    metrics.resume(parse_handover(to_json(left)).classes, same_memory, at(11s));
    BOOST_TEST(only(metrics).runs == 5u);
    BOOST_TEST(only(metrics).histogram[25] == 5u);
    BOOST_TEST(only(metrics).histogram[0] == 0u);
    BOOST_TEST(only(metrics).peak_rss_kb == 9u);
    metrics.flushed(metrics.unflushed(all));
    // The same counters, or new ones that begin at zero.
    metrics.observe({same_memory ? seen : usage("A", 4)}, at(12s));
    if (same_memory)
      BOOST_TEST(metrics.unflushed(all).empty());
    else
      BOOST_TEST(only(metrics).runs == 4u);
  }
}
