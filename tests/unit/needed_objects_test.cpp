#include "worker/job/needed_objects.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

const std::string parted = BROOD_BINARY_DIR "/tests/job_libraries/libparted_jobs.so";
const std::string part = BROOD_BINARY_DIR "/tests/job_libraries/parts_1/libroll_part.so";

}  // namespace

BOOST_AUTO_TEST_CASE(what_the_linker_lists_is_read_line_by_line) {
  const std::vector<NeededObject> objects = parse_list_of_linker(
      "\tlinux-vdso.so.1 (0x00007ffd)\n"
      "\tlibpart.so => /srv/a b/libpart.so (0x00007f1)\n"
      "\tlibgone.so => not found\n"
      "\t/srv/libc.so.6 (0x00007f2)\n"
      "statically linked\n");
  BOOST_TEST_REQUIRE(objects.size() == 2u);
  BOOST_TEST((objects[0].name == "libpart.so" && objects[0].path == "/srv/a b/libpart.so"));
  BOOST_TEST((objects[1].name == "/srv/libc.so.6" && objects[1].path == "/srv/libc.so.6"));
}

BOOST_AUTO_TEST_CASE(a_library_s_own_needs_are_read_from_its_file) {
  const std::vector<std::string> names = names_needed_by(parted);
  BOOST_TEST((std::find(names.begin(), names.end(), "libroll_part.so") != names.end()));
  BOOST_TEST((std::find(names.begin(), names.end(), "libroll_piece.so") == names.end()));
  const TemporaryDirectory directory;
  BOOST_TEST(names_needed_by(directory.write("text", "no library\n")).empty());
  BOOST_TEST(names_needed_by(directory / "none").empty());
}

BOOST_AUTO_TEST_CASE(each_object_comes_after_those_that_it_needs_and_what_this_program_has_is_left_out) {
  const std::vector<NeededObject> objects = find_needed_objects({part, BROOD_BINARY_DIR "/nothing.so"});
  BOOST_TEST_REQUIRE(objects.size() == 1u);
  BOOST_TEST(objects[0].name == "libroll_piece.so");
  BOOST_TEST(objects[0].path == BROOD_BINARY_DIR "/tests/job_libraries/parts_1/libroll_piece.so");
}
