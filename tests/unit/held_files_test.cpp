#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "shared/base/held_files.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

void write_library(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

BOOST_AUTO_TEST_CASE(an_unchanged_library_is_where_it_was) {
  const TemporaryDirectory directory;
  const std::string path = directory / "lib.so";
  write_library(path, "one");
  HeldFiles kept;
  kept.hold_library(path);
  BOOST_TEST(kept.path_of(path) == path);
  BOOST_TEST(kept.flaw() == "");
  BOOST_TEST(kept.descriptors().size() == 1u);
}

BOOST_AUTO_TEST_CASE(one_that_was_replaced_or_removed_is_still_to_be_had) {
  const TemporaryDirectory directory;
  const std::string path = directory / "lib.so";
  write_library(path, "one");
  HeldFiles kept;
  kept.hold_library(path);
  write_library(path + ".new", "two");
  std::filesystem::rename(path + ".new", path);
  BOOST_TEST(text_of_file(kept.path_of(path)) == "one");
  std::filesystem::remove(path);
  BOOST_TEST(text_of_file(kept.path_of(path)) == "one");
  BOOST_TEST(kept.flaw() == "");
}

BOOST_AUTO_TEST_CASE(behind_a_link_that_leads_elsewhere_it_has_its_own_path) {
  const TemporaryDirectory directory;
  for (const char* release : {"1", "2"}) {
    std::filesystem::create_directory(directory / release);
    write_library(directory / (std::string(release) + "/lib.so"), release);
  }
  std::filesystem::create_directory_symlink("1", directory / "current");
  HeldFiles kept;
  kept.hold_library(directory / "current/lib.so");
  BOOST_TEST(kept.path_of(directory / "current/lib.so") == directory / "current/lib.so");
  std::filesystem::remove(directory / "current");
  std::filesystem::create_directory_symlink("2", directory / "current");
  BOOST_TEST(kept.path_of(directory / "current/lib.so") == std::filesystem::canonical(directory / "1/lib.so").string());
}

BOOST_AUTO_TEST_CASE(what_was_written_over_or_never_there_is_lost) {
  const TemporaryDirectory directory;
  const std::string path = directory / "lib.so";
  write_library(path, "one");
  HeldFiles kept, none;
  kept.hold_library(path);
  none.hold_library(directory / "none.so");
  write_library(path, "two and more");
  BOOST_TEST(kept.flaw().find("was written over") != std::string::npos);
  BOOST_TEST(none.flaw().find("could not be opened") != std::string::npos);
  BOOST_TEST(none.path_of(directory / "none.so") == directory / "none.so");
  BOOST_TEST(none.descriptors().empty());
}

BOOST_AUTO_TEST_CASE(a_library_is_loaded_from_where_it_lies_and_moved_when_it_lies_there_no_more) {
  const TemporaryDirectory directory;
  const std::string path = directory / "lib.so";
  write_library(path, "one");
  HeldFiles held;
  held.hold_library(path);
  BOOST_TEST(held.moved().empty());
  BOOST_TEST(held.path_of_library(path) == std::filesystem::canonical(path).string());
  std::filesystem::rename(path, path + ".old");
  BOOST_TEST(held.moved().size() == 1u);
  BOOST_TEST(descriptor_in(held.path_of_library(path)) == held.descriptors().at(0));
  BOOST_TEST(descriptor_in(path) == -1);
  BOOST_TEST(held.path_of("/not/held") == "/not/held");
}

BOOST_AUTO_TEST_CASE(another_program_in_the_same_process_holds_the_same_files) {
  const TemporaryDirectory directory;
  const std::string path = directory / "lib.so";
  write_library(path, "one");
  HeldFiles before, after;
  before.hold_library(path);
  before.hold_needed({"libneeded.so", path});
  std::filesystem::remove(path);
  for (const HeldFiles::Entry& entry : before.entries()) after.adopt(entry, UniqueFd(dup(entry.descriptor)));
  BOOST_TEST(text_of_file(after.path_of_library(path)) == "one");
  BOOST_TEST_REQUIRE(after.needed().size() == 1u);
  BOOST_TEST(after.needed()[0].name == "libneeded.so");
}
