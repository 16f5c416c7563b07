#define BOOST_TEST_MODULE class_usage
#include "shared/class_usage.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <random>

#include "shared/check.hpp"
#include "shared/scoreboard.hpp"

using namespace brood;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(runs_and_crashes_of_a_class_add_up) {
  Scoreboard board = Scoreboard::in_memory(2);
  add_runs(board.usage(), "Resize", {.cpu = 30ms, .wall = 2s, .peak_rss_kb = 500}, 1, 0);
  add_runs(board.usage(), "Resize", {.cpu = 10ms, .wall = 1s, .peak_rss_kb = 400}, 1, 1);
  add_crash(board.usage(), "Resize", {.cpu = 5ms, .wall = 1s, .peak_rss_kb = 900});
  add_runs(board.usage(), "Mail", {.cpu = 1us, .wall = 1us, .peak_rss_kb = 1}, 1, 0);

  const std::vector<ClassUsage> usage = read_class_usage(board);

  BOOST_TEST_REQUIRE(usage.size() == 2u);
  BOOST_TEST(usage[0].job_class == "Mail");
  BOOST_TEST(usage[1].job_class == "Resize");
  BOOST_TEST(usage[1].runs == 3u);
  BOOST_TEST(usage[1].failed == 1u);
  BOOST_TEST(usage[1].crashed == 1u);
  BOOST_TEST(usage[1].cpu_us == 45'000u);
  BOOST_TEST(usage[1].wall_us == 4'000'000u);
  BOOST_TEST(usage[1].peak_rss_kb == 900u);
}

BOOST_AUTO_TEST_CASE(classes_that_find_no_room_are_counted_together) {
  Scoreboard board = Scoreboard::in_memory(1);
  for (int i = 0; i < max_usage_classes + 44; ++i) add_runs(board.usage(), "Class" + std::to_string(i), {}, 1, 0);
  add_runs(board.usage(), "Class0", {}, 1, 0);

  const std::vector<ClassUsage> usage = read_class_usage(board);

  BOOST_TEST_REQUIRE(usage.size() == static_cast<std::size_t>(max_usage_classes) + 1);
  BOOST_TEST(usage.front().job_class == "Class0");
  BOOST_TEST(usage.front().runs == 2u);
  BOOST_TEST(usage.back().job_class == "");
  BOOST_TEST(usage.back().runs == 44u);
}

BOOST_AUTO_TEST_CASE(a_long_name_is_cut_and_stays_one_class) {
  Scoreboard board = Scoreboard::in_memory(1);
  const std::string name(255, 'n');
  add_runs(board.usage(), name, {}, 1, 0);
  add_runs(board.usage(), name, {}, 1, 0);

  const std::vector<ClassUsage> usage = read_class_usage(board);

  BOOST_TEST_REQUIRE(usage.size() == 1u);
  BOOST_TEST(usage[0].runs == 2u);
  BOOST_TEST(usage[0].job_class == name.substr(0, usage[0].job_class.size()));
  BOOST_TEST(usage[0].job_class.size() > 100u);
}

BOOST_AUTO_TEST_CASE(workers_that_claim_an_entry_at_the_same_time_lose_no_run) {
  constexpr int workers = 4, runs = 2'000, classes = 50;
  Scoreboard board = Scoreboard::in_memory(1);
  for (int worker = 0; worker < workers; ++worker) {
    if (check("fork", fork()) != 0) continue;
    for (int i = 0; i < runs; ++i)
      add_runs(board.usage(), "Class" + std::to_string(i % classes), {.cpu = 1us, .peak_rss_kb = 7}, 1,
               i % 2 == 0 ? 1 : 0);
    _exit(0);
  }
  for (int worker = 0; worker < workers; ++worker) check("wait", wait(nullptr));

  const std::vector<ClassUsage> usage = read_class_usage(board);

  BOOST_TEST(usage.size() == static_cast<std::size_t>(classes));
  std::uint64_t seen = 0, failed = 0;
  for (const ClassUsage& one : usage) {
    seen += one.runs;
    failed += one.failed;
    BOOST_TEST(one.cpu_us == one.runs);
  }
  BOOST_TEST(seen == static_cast<std::uint64_t>(workers) * runs);
  BOOST_TEST(failed == seen / 2);
}

BOOST_AUTO_TEST_CASE(an_entry_whose_claimer_died_before_naming_it_is_named_by_the_next) {
  Scoreboard board = Scoreboard::in_memory(1);
  add_runs(board.usage(), "Resize", {}, 1, 0);
  for (UsageEntry& entry : board.usage().entries) {
    if (entry.hash.load() == 0) continue;
    entry.named.store(0);
    std::memset(entry.name, 0, sizeof entry.name);
  }
  BOOST_TEST(read_class_usage(board).empty());

  add_runs(board.usage(), "Resize", {}, 1, 0);

  BOOST_TEST_REQUIRE(read_class_usage(board).size() == 1u);
  BOOST_TEST(read_class_usage(board)[0].runs == 2u);
}

BOOST_AUTO_TEST_CASE(a_scribbled_table_is_read_within_bounds_and_still_counts) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i) {
    Scoreboard board = Scoreboard::in_memory(1);
    auto* const bytes = reinterpret_cast<unsigned char*>(&board.usage());
    for (std::size_t at = 0; at < sizeof(UsageTable); ++at)
      bytes[at] = i == 0 ? 0xff : static_cast<unsigned char>(random());

    for (int run = 0; run < 3; ++run) add_runs(board.usage(), "Resize", {.cpu = 1us, .peak_rss_kb = 1}, 1, 1);

    const std::vector<ClassUsage> usage = read_class_usage(board);
    BOOST_REQUIRE(usage.size() <= static_cast<std::size_t>(max_usage_classes) + 1);
    for (const ClassUsage& one : usage) {
      BOOST_REQUIRE(one.job_class.size() < sizeof(UsageEntry::name));
      BOOST_REQUIRE(one.runs <= 1ULL << 53);
    }
  }
}
