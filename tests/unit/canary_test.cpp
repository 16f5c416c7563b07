#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <random>

#include "supervisor/restart/canary.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Way = Canary::Way;

namespace {

// A sanitizer makes this arithmetic ten times slower, and finds nothing more by the hundredth fleet.
#if defined(__SANITIZE_ADDRESS__)
constexpr unsigned rolls_made = 10;
#else
constexpr unsigned rolls_made = 200;
#endif

// One class, or several, whose runs are given to a canary second by second.
struct Watched {
  Canary canary;
  Canary::Totals present = Canary::Totals(4), coming = Canary::Totals(4);
  SteadyTime now{12h};

  Watched() { canary.note(present, coming, now); }
  std::optional<Canary::Alarm> second() {
    now += 1s;
    canary.note(present, coming, now);
    return canary.alarm();
  }
  void begin() { canary.begin(coming); }
  std::optional<Canary::Alarm> seconds(int count, const std::function<void()>& each) {
    for (int i = 0; i < count; ++i) {
      each();
      if (const auto alarm = second()) return alarm;
    }
    return std::nullopt;
  }
};

void run(RunTally& tally, std::uint64_t runs, std::uint64_t failed = 0, std::uint64_t crashed = 0) {
  tally.runs += runs;
  tally.failed += failed;
  tally.crashed += crashed;
}

// A fleet whose jobs go wrong at random.  Each probability may depend on the second and on the generation that runs the
// job.
struct Fleet {
  double jobs_a_second = 20;
  int classes = 1;
  std::function<double(int second, bool is_new)> fails = [](int, bool) { return 0.0; };
  std::function<double(int second, bool is_new)> crashes = [](int, bool) { return 0.0; };
  int before = 180, roll = 10, watch = 30;  // seconds

  // The second of the roll in which there was an alarm.
  std::optional<int> rolls(unsigned seed) const {
    std::mt19937 random(seed);
    Watched watched;
    for (int second = -before; second < roll + watch; ++second) {
      if (second == 0) watched.begin();
      const double share_of_new = std::clamp((second + 1.0) / roll, 0.0, 1.0);
      const double failing[] = {fails(second, false), fails(second, true)},
                   crashing[] = {crashes(second, false), crashes(second, true)};
      for (int job_class = 0; job_class < classes; ++job_class) {
        const int jobs = std::poisson_distribution<int>(jobs_a_second / classes)(random);
        for (int job = 0; job < jobs; ++job) {
          const bool is_new = second >= 0 && std::bernoulli_distribution(share_of_new)(random);
          const bool crashed = std::bernoulli_distribution(crashing[is_new])(random);
          const bool failed = !crashed && std::bernoulli_distribution(failing[is_new])(random);
          auto& totals = is_new ? watched.coming : watched.present;
          run(totals[static_cast<std::size_t>(job_class)], 1, failed ? 1 : 0, crashed ? 1 : 0);
        }
      }
      if (watched.second()) return second;
    }
    return std::nullopt;
  }

  unsigned alarms() const {
    unsigned alarms = 0;
    for (unsigned seed = 0; seed < rolls_made; ++seed) alarms += rolls(seed).has_value();
    return alarms;
  }
};

// The same for old and new.
std::function<double(int, bool)> always(double chance) {
  return [=](int, bool) { return chance; };
}
// Zero except for `length` seconds now and then, which differ with the seed.
std::function<double(int, bool)> in_bursts(double chance, int length, int apart, unsigned seed) {
  return [=](int second, bool) {
    const int slot = (second + 1'000'000) / apart;
    const int begins = static_cast<int>(std::mt19937(seed * 7919U + static_cast<unsigned>(slot))() %
                                        static_cast<unsigned>(apart - length + 1));
    const int at = (second + 1'000'000) % apart;
    return at >= begins && at < begins + length ? chance : 0.0;
  };
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_tail_of_fishers_test_is_that_of_tea_and_milk) {
  // Fisher's tea: of 70 ways to pick four of eight cups one has all four right; 17 have three or more.
  BOOST_TEST(fisher_tail(0, 4, 4, 4) == 1.0 / 70, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(fisher_tail(1, 4, 3, 4) == 17.0 / 70, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(fisher_tail(4, 4, 0, 4) == 1.0);
  BOOST_TEST(fisher_tail(0, 0, 4, 4) == 1.0);
  BOOST_TEST(fisher_tail(0, 1e9, 1e6, 1e9) < 1e-300);  // and it takes no age
}

BOOST_AUTO_TEST_CASE(what_goes_wrong_in_one_second_counts_for_little) {
  ClusteredRuns even, burst;
  for (int second = 0; second < 30; ++second) {
    even.add(20, second % 3 == 0 ? 2 : 0);
    burst.add(20, second == 7 ? 20 : 0);
  }
  BOOST_TEST(even.bad() == burst.bad());
  BOOST_TEST(even.design_effect() < 2);
  BOOST_TEST(burst.design_effect() == 20, boost::test_tools::tolerance(0.1));
  ClusteredRuns none, all;
  for (int second = 0; second < 30; ++second) none.add(20, 0), all.add(20, 20);
  BOOST_TEST(none.design_effect() == 1);
  BOOST_TEST(all.design_effect() == 1);
}

BOOST_AUTO_TEST_CASE(a_class_that_always_crashes_under_the_new_workers_alarms) {
  Watched watched;
  watched.seconds(60, [&] { run(watched.present[1], 5); });
  watched.begin();
  const auto alarm = watched.seconds(5, [&] { run(watched.coming[1], 5, 0, 5); });
  BOOST_TEST_REQUIRE(alarm.has_value());
  BOOST_TEST(alarm->job_class == 1);
  BOOST_TEST((alarm->way == Way::crashed));
  BOOST_TEST(alarm->runs_before == 300);
  BOOST_TEST(alarm->bad_before == 0);
  BOOST_TEST(alarm->bad_after == alarm->runs_after);
  BOOST_TEST(alarm->certainty > 0.999);
}

BOOST_AUTO_TEST_CASE(a_class_that_the_old_workers_never_ran_cannot_be_compared) {
  Watched watched;
  watched.seconds(60, [&] { run(watched.present[1], 5); });
  watched.begin();
  BOOST_TEST(!watched.seconds(60, [&] { run(watched.coming[2], 5, 0, 5); }));
  BOOST_TEST(watched.canary.may_end({}, watched.coming));
}

BOOST_AUTO_TEST_CASE(one_burst_is_no_alarm) {
  Watched watched;
  watched.seconds(60, [&] { run(watched.present[1], 50); });
  watched.begin();
  watched.seconds(20, [&] { run(watched.coming[1], 50); });
  run(watched.coming[1], 50, 50);
  BOOST_TEST(!watched.second());
  run(watched.coming[1], 50, 50);
  BOOST_TEST(!watched.second());
}

BOOST_AUTO_TEST_CASE(what_is_scribbled_counts_nothing) {
  Watched watched;
  watched.seconds(60, [&] { run(watched.present[1], 50); });
  watched.begin();
  int second = 0;
  BOOST_TEST(!watched.seconds(20, [&] {
    watched.coming[1] = {.runs = ~0ULL >> (++second % 13), .failed = ~0ULL >> (second % 7), .crashed = ~0ULL};
  }));
}

BOOST_AUTO_TEST_CASE(a_quiet_fleet_is_not_waited_for) {
  Watched watched;
  watched.seconds(60, [&] { run(watched.present[1], 5); });
  watched.begin();
  BOOST_TEST(watched.canary.may_end({}, watched.coming));   // nothing ran
  BOOST_TEST(watched.canary.may_end({3}, watched.coming));  // nor do the old workers know what runs now
  BOOST_TEST(!watched.canary.may_end({1}, watched.coming));
  run(watched.coming[1], 1);
  BOOST_TEST(!watched.canary.may_end({}, watched.coming));  // not even looked at
  watched.second();
  BOOST_TEST(!watched.canary.may_end({}, watched.coming));
  watched.second();
  watched.second();
  BOOST_TEST(watched.canary.may_end({}, watched.coming));
  BOOST_TEST(!watched.canary.may_end({1}, watched.coming));
}

BOOST_AUTO_TEST_CASE(enough_good_runs_are_enough) {
  Watched watched;
  watched.seconds(60, [&] { run(watched.present[1], 50, 5); });
  watched.begin();
  run(watched.coming[1], 299, 30);
  watched.second();
  BOOST_TEST(!watched.canary.may_end({1}, watched.coming));
  run(watched.coming[1], 1000, 0, 100);  // which were not looked at
  BOOST_TEST(!watched.canary.may_end({1}, watched.coming));
  watched.coming[1] = {.runs = 300, .failed = 30};
  watched.second();
  BOOST_TEST(watched.canary.may_end({1}, watched.coming));
  run(watched.coming[1], 300, 90);  // which must be looked at
  watched.second();
  BOOST_TEST(!watched.canary.may_end({1}, watched.coming));
}

BOOST_AUTO_TEST_CASE(what_was_adopted_is_compared_with_the_next) {
  Watched watched;
  watched.seconds(60, [&] { run(watched.present[1], 20, 2); });
  watched.begin();
  watched.seconds(10, [&] { run(watched.coming[1], 20, 2); });
  watched.canary.end(true);
  watched.present = watched.coming;
  watched.coming = Canary::Totals(4);
  watched.begin();
  const auto alarm = watched.seconds(20, [&] { run(watched.coming[1], 20, 10); });
  BOOST_TEST_REQUIRE(alarm.has_value());
  BOOST_TEST((alarm->way == Way::failed));
  BOOST_TEST(alarm->runs_before == 200);
}

BOOST_AUTO_TEST_CASE(what_was_taken_back_is_forgotten) {
  Watched watched;
  watched.seconds(60, [&] { run(watched.present[1], 20); });
  watched.begin();
  BOOST_TEST(watched.seconds(20, [&] { run(watched.coming[1], 20, 0, 3); }).has_value());
  watched.canary.end(false);
  watched.begin();
  BOOST_TEST(!watched.seconds(20, [&] { run(watched.coming[1], 20); }));
}

BOOST_AUTO_TEST_CASE(only_ten_minutes_are_remembered) {
  Watched watched;
  watched.seconds(60, [&] { run(watched.present[1], 20, 20); });
  watched.seconds(660, [&] { run(watched.present[1], 20); });
  watched.begin();
  BOOST_TEST(watched.seconds(20, [&] { run(watched.coming[1], 20, 5); }).has_value());
}

// ---- Rolls in which nothing changed

BOOST_AUTO_TEST_CASE(nothing_changed_and_nothing_goes_wrong) { BOOST_TEST(Fleet{}.alarms() == 0); }

BOOST_AUTO_TEST_CASE(a_class_that_often_fails_goes_on_failing) {
  for (const double chance : {0.02, 0.1, 0.3, 0.6, 0.95}) BOOST_TEST(Fleet{.fails = always(chance)}.alarms() == 0);
}

BOOST_AUTO_TEST_CASE(rare_crashes_stay_rare) {
  for (const double chance : {0.0002, 0.001, 0.005}) BOOST_TEST(Fleet{.crashes = always(chance)}.alarms() == 0);
}

BOOST_AUTO_TEST_CASE(few_jobs_say_little) {
  for (const double jobs : {0.1, 0.5, 2.0}) {
    const Fleet fleet{.jobs_a_second = jobs, .fails = always(0.1), .crashes = always(0.05)};
    BOOST_TEST(fleet.alarms() == 0);
  }
}

BOOST_AUTO_TEST_CASE(many_classes_have_many_chances) {
  const Fleet fleet{.jobs_a_second = 60, .classes = 4, .fails = always(0.05), .crashes = always(0.01)};
  BOOST_TEST(fleet.alarms() == 0);
}

BOOST_AUTO_TEST_CASE(bursts_hit_old_and_new) {
  int alarms = 0;
  for (unsigned seed = 0; seed < rolls_made; ++seed) {
    const int length = 1 + static_cast<int>(seed % 3);
    Fleet fleet{.fails = in_bursts(1, length, 60, seed)};
    alarms += fleet.rolls(seed).has_value();
    fleet = {.fails = in_bursts(0.5, length, 20, seed), .crashes = in_bursts(0.3, 1, 60, seed)};
    alarms += fleet.rolls(seed).has_value();
  }
  BOOST_TEST(alarms == 0);
}

BOOST_AUTO_TEST_CASE(a_burst_that_the_old_workers_never_saw_is_none_of_the_new_ones_doing) {
  int alarms = 0;
  for (unsigned seed = 0; seed < rolls_made; ++seed) {
    const int from = static_cast<int>(seed % 35);
    const Fleet fleet{.fails = [=](int second, bool) { return second >= from && second < from + 3 ? 1.0 : 0.0; }};
    alarms += fleet.rolls(seed).has_value();
  }
  BOOST_TEST(alarms == 0);
}

BOOST_AUTO_TEST_CASE(an_outage_that_began_before_the_old_ones_left_hits_both) {
  int alarms = 0;
  for (unsigned seed = 0; seed < rolls_made; ++seed) {
    const int from = 10 + static_cast<int>(seed % 110);  // seconds before the roll
    const Fleet fleet{.fails = [=](int second, bool) { return second >= -from ? 1.0 : 0.0; }};
    alarms += fleet.rolls(seed).has_value();
  }
  BOOST_TEST(alarms == 0);
}

// ---- Rolls that bring something worse

BOOST_AUTO_TEST_CASE(new_workers_that_crash_in_five_percent_are_found) {
  const Fleet fleet{.jobs_a_second = 20, .crashes = [](int, bool is_new) { return is_new ? 0.05 : 0.0; }};
  BOOST_TEST(fleet.alarms() == rolls_made);
}

BOOST_AUTO_TEST_CASE(they_are_found_among_classes_that_fail_all_the_time) {
  const Fleet fleet{
      .jobs_a_second = 40, .fails = always(0.2), .crashes = [](int, bool is_new) { return is_new ? 0.05 : 0.0; }};
  BOOST_TEST(fleet.alarms() == rolls_made);
}

BOOST_AUTO_TEST_CASE(new_workers_that_fail_in_ten_percent_are_found) {
  const Fleet fleet{.jobs_a_second = 20, .fails = [](int, bool is_new) { return is_new ? 0.1 : 0.005; }};
  BOOST_TEST(fleet.alarms() == rolls_made);
}

BOOST_AUTO_TEST_CASE(the_worse_they_are_the_sooner_they_are_found) {
  const Fleet worse{.crashes = [](int, bool is_new) { return is_new ? 0.5 : 0.0; }};
  for (unsigned seed = 0; seed < 50; ++seed) {
    const auto second = worse.rolls(seed);
    BOOST_TEST_REQUIRE(second.has_value());
    BOOST_TEST(*second < 10);
  }
}
