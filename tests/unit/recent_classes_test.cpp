#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

#include "shared/scoreboard/class_usage.hpp"
#include "shared/scoreboard/run_note.hpp"

using namespace brood;

namespace {

std::string read(const RecentClasses& recent, std::uint64_t run) {
  std::string text;
  for (const PrecedingRun& one : preceding_runs(recent, run))
    text += std::to_string(one.index) + ":" + std::to_string(one.ago) + " ";
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(in_a_fresh_process_nothing_ran_before) {
  RecentClasses recent{};
  BOOST_TEST(read(recent, 1) == "");
  recent.note(7, 1);
  BOOST_TEST(read(recent, 1) == "");  // the job itself
}

BOOST_AUTO_TEST_CASE(other_classes_are_named_newest_first_with_how_many_runs_ago) {
  RecentClasses recent{};
  recent.note(1, 1);
  recent.note(2, 2);
  recent.note(2, 3);
  recent.note(3, 4);
  recent.note(1, 5);
  recent.note(4, 6);
  BOOST_TEST(read(recent, 6) == "1:1 3:2 2:3 ");
}

BOOST_AUTO_TEST_CASE(the_class_of_the_job_itself_is_not_one_of_them) {
  RecentClasses recent{};
  recent.note(1, 1);
  recent.note(2, 2);
  recent.note(1, 3);
  BOOST_TEST(read(recent, 3) == "2:1 ");
}

BOOST_AUTO_TEST_CASE(many_runs_of_one_class_do_not_hide_the_others) {
  RecentClasses recent{};
  recent.note(1, 1);
  for (std::uint64_t run = 2; run <= 1'000; ++run) recent.note(2, run);
  recent.note(3, 1'001);
  BOOST_TEST(read(recent, 1'001) == "2:1 1:1000 ");
}

BOOST_AUTO_TEST_CASE(so_many_are_kept_and_no_more) {
  RecentClasses recent{};
  for (int index = 0; index < 20; ++index) recent.note(index, static_cast<std::uint64_t>(index) + 1);
  const std::vector<PrecedingRun> preceding = preceding_runs(recent, 20);
  BOOST_TEST(preceding.size() == recent_classes_kept - 1);
  BOOST_TEST(preceding.front().index == 18);
  recent.clear();
  BOOST_TEST(read(recent, 20) == "");
}

BOOST_AUTO_TEST_CASE(whatever_is_written_there_is_read_within_bounds) {
  RecentClasses recent{};
  recent.newest.store(0xffffffff);
  for (auto& run : recent.runs) run.store(0xffffffffffffffff);
  BOOST_TEST(read(recent, 5) == "");
  for (auto& run : recent.runs) run.store(std::uint64_t{1} << 16 | 60'000);
  BOOST_TEST(read(recent, 5) == "");
}
