#include "supervisor/recovery/dead_files.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>

#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

struct Files {
  TemporaryDirectory directory;
  const std::string scoreboard = directory.write("dead.scoreboard", "");
  DeadFiles files{2};
  bool is_there() const { return std::filesystem::exists(scoreboard); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_file_stays_until_each_shard_has_done_all_for_its_supervisor, Files) {
  files.note_look(0, {"dead", "other"});
  files.note_look(1, {"dead"});
  files.remove(0, "dead", scoreboard);
  BOOST_TEST(is_there());
  files.note_look(1, {"dead"});
  BOOST_TEST(is_there());
  files.remove(1, "dead", scoreboard);
  BOOST_TEST(!is_there());
}

// The process may have listed itself there since.
BOOST_FIXTURE_TEST_CASE(a_look_before_the_death_was_seen_does_not_count, Files) {
  files.note_look(0, {});
  files.note_look(1, {"dead"});
  files.remove(1, "dead", scoreboard);
  BOOST_TEST(is_there());
  files.note_look(0, {"dead"});
  BOOST_TEST(is_there());
  files.remove(0, "dead", scoreboard);
  BOOST_TEST(!is_there());
}

BOOST_FIXTURE_TEST_CASE(where_nothing_was_in_flight_a_look_is_enough, Files) {
  files.remove(1, "dead", scoreboard);
  BOOST_TEST(is_there());
  files.note_look(0, {"other"});
  BOOST_TEST(!is_there());
}
