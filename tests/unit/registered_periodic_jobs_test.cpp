#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <string>

#include "shared/config/periodic_settings.hpp"
#include "supervisor/schedule/registered_periodic_jobs.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

std::string line_of(const std::string& name) {
  return R"({"name":")" + name + R"(","cron":"@daily","class":"A","queue":"q"})" + "\n";
}

// The files of workers, and the supervisor that reads them.
struct Told {
  TemporaryDirectory directory;
  const std::string path = directory / "here.periodic";
  RegisteredPeriodicJobs jobs{path};

  void tell(std::uint32_t generation, const std::string& lines) const {
    tell_registered_periodic(path, generation, lines);
  }
  bool in_force(const std::string& name) const { return jobs.jobs().size() == 1 && jobs.jobs().contains(name); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_the_present_generation_tells_is_in_force_and_a_change_is_seen_once) {
  Told told;
  BOOST_TEST(!told.jobs.look(1, false));
  told.tell(1, line_of("a"));
  BOOST_TEST(told.jobs.look(1, false));
  BOOST_TEST(told.in_force("a"));
  BOOST_TEST(!told.jobs.look(1, false));
  std::filesystem::remove(told.path);
  BOOST_TEST(told.jobs.look(1, false));
  BOOST_TEST(told.jobs.jobs().empty());
}

BOOST_AUTO_TEST_CASE(what_a_coming_generation_tells_is_in_force_once_it_is_the_present_one) {
  Told told;
  told.tell(1, line_of("a"));
  told.jobs.look(1, false);
  told.tell(2, line_of("b"));
  BOOST_TEST(!told.jobs.look(1, true));
  BOOST_TEST(told.in_force("a"));
  told.tell(1, line_of("a"));  // a worker of the old generation that was refilled
  BOOST_TEST(told.jobs.look(2, false));
  BOOST_TEST(told.in_force("b"));
}

BOOST_AUTO_TEST_CASE(what_a_generation_told_that_was_taken_back_makes_way_for_what_was_in_force) {
  Told told;
  told.tell(1, line_of("a"));
  told.jobs.look(1, false);
  told.tell(2, line_of("b"));
  told.jobs.look(1, true);
  BOOST_TEST(!told.jobs.look(1, false));
  BOOST_TEST(told.in_force("a"));
  BOOST_TEST(text_of_file(told.path) == "1\n" + line_of("a"));
  // A program that takes over finds it there, and the present generation may register again.
  RegisteredPeriodicJobs of_another(told.path);
  BOOST_TEST(of_another.look(1, false));
  BOOST_TEST(of_another.jobs().contains("a"));
  told.tell(1, line_of("c"));
  BOOST_TEST(told.jobs.look(1, false));
  BOOST_TEST(told.in_force("c"));
}

BOOST_AUTO_TEST_CASE(what_a_generation_told_that_was_taken_back_is_removed_where_nothing_was_in_force) {
  Told told;
  told.tell(3, line_of("b"));
  BOOST_TEST(!told.jobs.look(1, false));
  BOOST_TEST(!std::filesystem::exists(told.path));
  told.tell(2, line_of("c"));
  BOOST_TEST(told.jobs.look(2, false));
  BOOST_TEST(told.in_force("c"));
}
