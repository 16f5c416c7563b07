#include "supervisor/report/preceding_classes.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <random>

#include "shared/base/random.hpp"
#include "shared/scoreboard/run_note.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr int victim = 0, culprit = 1, companion = 2;

bool follows(const std::vector<int>& before, int job_class) {
  return std::find(before.begin(), before.end(), job_class) != before.end();
}

// Workers that run jobs of random classes, and crash at random, each second looked at.
struct Workshop {
  int workers = 4, jobs_a_second = 3;
  // How often jobs of each class come to that worker in that second.
  std::function<std::vector<double>(int worker, int second)> classes = [](int, int) {
    return std::vector<double>{4, 1, 1, 2, 2, 1};
  };
  // How likely that run crashes.
  std::function<double(int job_class, const std::vector<int>& before, int worker, int second)> crashes =
      [](int job_class, const std::vector<int>&, int, int) { return job_class == victim ? 0.01 : 0.0; };
  // In capsules of so many workers.
  int workers_of_capsule = 4;

  struct Found {
    int job_class, crashes;
    PrecedingClasses::Suspicion suspicion;
  };
  // The first suspicion within so many seconds.
  std::optional<Found> run(unsigned seed, int seconds) const {
    std::mt19937 random(seed);
    PrecedingClasses preceding;
    std::vector<RecentClasses> recent(static_cast<std::size_t>(workers));
    std::vector<std::uint64_t> runs(static_cast<std::size_t>(workers));
    int crashed = 0;
    for (int second = 0; second < seconds; ++second) {
      const SteadyTime now{12h + std::chrono::seconds(second)};
      for (int worker = 0; worker < workers; ++worker) {
        const auto at = static_cast<std::size_t>(worker);
        const std::vector<double> shares = classes(worker, second);
        std::discrete_distribution<int> draw(shares.begin(), shares.end());
        const auto present = [&] {
          const LastRun last = last_run(recent[at]).value();
          PrecedingClasses::Run one{.job_class = last.index,
                                    .before = {},
                                    .capsule = worker / workers_of_capsule,
                                    .slot = worker,
                                    .number = last.run,
                                    .oldest = last.oldest};
          for (const PrecedingRun& before : preceding_runs(recent[at], last.run)) one.before.push_back(before.index);
          return one;
        };
        for (int job = std::poisson_distribution<int>(jobs_a_second)(random); job > 0; --job) {
          recent[at].note(draw(random), ++runs[at]);
          const PrecedingClasses::Run one = present();
          if (!std::bernoulli_distribution(crashes(one.job_class, one.before, worker, second))(random)) continue;
          preceding.note_crash(one, now);
          recent[at].clear();
          ++crashed;
        }
        if (last_run(recent[at])) preceding.note_run(present(), now);
      }
      for (const auto& verdict : preceding.judge()) {
        if (verdict.suspicion) return Found{verdict.job_class, crashed, *verdict.suspicion};
      }
    }
    return std::nullopt;
  }

  int alarms(int fleets, int seconds) const {
    int alarms = 0;
    for (int seed = 0; seed < fleets; ++seed) alarms += run(static_cast<unsigned>(seed), seconds).has_value();
    return alarms;
  }
};

constexpr int an_hour = 3600;

// A sanitizer makes this arithmetic thirty times slower, and finds nothing more by the hundredth fleet.
#if defined(__SANITIZE_ADDRESS__)
constexpr int fleets = 3;
constexpr unsigned workshops = 3;
#else
constexpr int fleets = 20;
constexpr unsigned workshops = 20;
#endif

}  // namespace

BOOST_AUTO_TEST_CASE(chances_of_draws_are_those_of_the_book) {
  // 3 are drawn of 10, 4 of which are marked: C(4,2) C(6,1) / C(10,3) = 36 / 120.
  BOOST_TEST(hypergeometric(2, 3, 4, 10) == 0.3, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(hypergeometric(3, 3, 10, 10) == 1.0, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(hypergeometric(4, 3, 4, 10) == 0.0);
  BOOST_TEST(hypergeometric(0, 3, 8, 10) == 0.0);
}

BOOST_AUTO_TEST_CASE(a_class_that_spoils_the_memory_of_its_worker_is_named) {
  Workshop spoiled;
  spoiled.crashes = [](int job_class, const std::vector<int>& before, int, int) {
    return job_class == victim && follows(before, culprit) ? 0.03 : 0.0;
  };
  for (unsigned seed = 0; seed < workshops; ++seed) {
    const auto found = spoiled.run(seed, an_hour);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(found->job_class == victim);
    BOOST_TEST(found->suspicion.suspect == culprit);
    BOOST_TEST(found->suspicion.certainty >= 0.99);
    BOOST_TEST(found->suspicion.crashes_after == found->suspicion.crashes);
    BOOST_TEST(found->suspicion.usual < 0.9);
    BOOST_TEST(found->crashes < 100);
  }
}

BOOST_AUTO_TEST_CASE(it_is_named_too_where_the_other_crashes_now_and_then_by_itself) {
  Workshop spoiled;
  spoiled.crashes = [](int job_class, const std::vector<int>& before, int, int) {
    return job_class != victim ? 0.0 : follows(before, culprit) ? 0.03 : 0.004;
  };
  unsigned named = 0;
  for (unsigned seed = 0; seed < workshops; ++seed) {
    const auto found = spoiled.run(seed, 2 * an_hour);
    named += found && found->suspicion.suspect == culprit;
  }
  BOOST_TEST(named >= workshops - 1);
}

BOOST_AUTO_TEST_CASE(independent_crashes_name_no_class) {
  Workshop innocent;
  BOOST_TEST(innocent.alarms(fleets, an_hour) <= 1);
}

BOOST_AUTO_TEST_CASE(many_classes_that_crash_by_themselves_suspect_none) {
  Workshop innocent;
  innocent.classes = [](int, int) { return std::vector<double>(12, 1.0); };
  innocent.crashes = [](int, const std::vector<int>&, int, int) { return 0.01; };
  BOOST_TEST(innocent.alarms(fleets, an_hour) <= 1);
}

// An hourly batch that comes when the input is bad.
BOOST_AUTO_TEST_CASE(a_class_that_only_comes_at_the_same_time_is_not_suspected) {
  Workshop innocent;
  innocent.classes = [](int, int second) {
    return second / 600 % 3 == 1 ? std::vector<double>{4, 4, 2, 2, 1, 1} : std::vector<double>{4, 0.1, 1, 2, 2, 1};
  };
  innocent.crashes = [](int job_class, const std::vector<int>&, int, int second) {
    return job_class == victim ? (second / 600 % 3 == 1 ? 0.03 : 0.001) : 0.0;
  };
  BOOST_TEST(innocent.alarms(fleets, 2 * an_hour) <= 1);
}

// The longer a worker has lived, the more classes it has had; and it may crash for what it has grown to.
BOOST_AUTO_TEST_CASE(a_class_that_is_seen_in_old_workers_alone_is_not_suspected) {
  Workshop innocent;
  innocent.classes = [](int, int) { return std::vector<double>{4, 0.5, 4, 1, 1, 1}; };
  innocent.crashes = [](int job_class, const std::vector<int>& before, int, int) {
    if (job_class == companion) return 0.1;  // so that most are young
    return job_class == victim && before.size() >= 3 ? 0.05 : 0.0;
  };
  BOOST_TEST(innocent.alarms(fleets, an_hour) <= 1);
}

BOOST_AUTO_TEST_CASE(a_class_in_workers_with_less_memory_is_not_suspected) {
  Workshop innocent;
  innocent.workers_of_capsule = 2;
  innocent.classes = [](int worker, int) {
    return worker < 2 ? std::vector<double>{4, 2, 1, 2, 2, 1} : std::vector<double>{4, 0.5, 1, 2, 2, 1};
  };
  innocent.crashes = [](int job_class, const std::vector<int>&, int worker, int) {
    return job_class == victim && worker < 2 ? 0.03 : 0.0;
  };
  BOOST_TEST(innocent.alarms(fleets, an_hour) <= 1);
}

BOOST_AUTO_TEST_CASE(two_crashes_are_too_few) {
  PrecedingClasses preceding;
  const SteadyTime now{12h};
  for (std::uint64_t run = 1; run < 100'000; ++run)
    preceding.note_run({.job_class = victim, .before = {companion}, .number = 2 * run, .oldest = 2 * run - 1}, now);
  for (int crash = 1; crash <= 3; ++crash) {
    preceding.note_crash({.job_class = victim, .before = {culprit}}, now);
    const auto verdicts = preceding.judge();
    BOOST_REQUIRE(verdicts.size() == 1u);
    BOOST_TEST(verdicts[0].suspicion.has_value() == (crash == 3));
  }
  BOOST_TEST(preceding.judge().empty());  // nothing new
}

BOOST_AUTO_TEST_CASE(runs_that_share_what_went_before_are_taken_once) {
  PrecedingClasses preceding;
  const SteadyTime now{12h};
  for (int second = 0; second < 100'000; ++second)
    preceding.note_run({.job_class = victim, .before = {companion}, .number = 7, .oldest = 1}, now);
  for (int crash = 1; crash <= 3; ++crash) preceding.note_crash({.job_class = victim, .before = {culprit}}, now);
  BOOST_TEST(!preceding.judge().at(0).suspicion.has_value());
}

BOOST_AUTO_TEST_CASE(what_is_a_day_old_is_forgotten) {
  for (const auto age : {23h, 25h}) {
    PrecedingClasses preceding;
    const SteadyTime now{12h};
    for (std::uint64_t run = 1; run < 100'000; ++run)
      preceding.note_run({.job_class = victim, .before = {companion}, .number = 2 * run, .oldest = 2 * run - 1}, now);
    for (int crash = 1; crash <= 3; ++crash) preceding.note_crash({.job_class = victim, .before = {culprit}}, now);
    preceding.note_crash({.job_class = victim, .before = {companion}}, now + age);
    BOOST_TEST(preceding.judge().at(0).suspicion.has_value() == (age < 24h));
  }
}
