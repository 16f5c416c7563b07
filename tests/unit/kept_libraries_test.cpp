#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "supervisor/workers/generation/kept_libraries.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

void write_library(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string read_library(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_library_that_nobody_touched_is_where_it_was) {
  const TemporaryDirectory directory;
  const std::string path = directory / "lib.so";
  write_library(path, "one");
  const KeptLibraries kept({path});
  BOOST_TEST(kept.paths() == std::vector{path});
  BOOST_TEST(kept.flaw() == "");
  BOOST_TEST(kept.descriptors().size() == 1u);
}

BOOST_AUTO_TEST_CASE(one_that_was_replaced_or_removed_is_still_to_be_had) {
  const TemporaryDirectory directory;
  const std::string path = directory / "lib.so";
  write_library(path, "one");
  const KeptLibraries kept({path});
  write_library(path + ".new", "two");
  std::filesystem::rename(path + ".new", path);
  BOOST_TEST(read_library(kept.paths().at(0)) == "one");
  std::filesystem::remove(path);
  BOOST_TEST(read_library(kept.paths().at(0)) == "one");
  BOOST_TEST(kept.flaw() == "");
}

BOOST_AUTO_TEST_CASE(behind_a_link_that_leads_elsewhere_it_has_its_own_path) {
  const TemporaryDirectory directory;
  for (const char* release : {"1", "2"}) {
    std::filesystem::create_directory(directory / release);
    write_library(directory / (std::string(release) + "/lib.so"), release);
  }
  std::filesystem::create_directory_symlink("1", directory / "current");
  const KeptLibraries kept({directory / "current/lib.so"});
  BOOST_TEST(kept.paths().at(0) == directory / "current/lib.so");
  std::filesystem::remove(directory / "current");
  std::filesystem::create_directory_symlink("2", directory / "current");
  BOOST_TEST(kept.paths().at(0) == std::filesystem::canonical(directory / "1/lib.so").string());
}

BOOST_AUTO_TEST_CASE(what_was_written_over_or_never_there_is_lost) {
  const TemporaryDirectory directory;
  const std::string path = directory / "lib.so";
  write_library(path, "one");
  const KeptLibraries kept({path}), none({directory / "none.so"});
  write_library(path, "two and more");
  BOOST_TEST(kept.flaw().find("was written over") != std::string::npos);
  BOOST_TEST(none.flaw().find("could not be opened") != std::string::npos);
  BOOST_TEST(none.paths().at(0) == directory / "none.so");
  BOOST_TEST(none.descriptors().empty());
}
