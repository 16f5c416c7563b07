#include "shared/base/paths.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>

#include "shared/base/check.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

constexpr uid_t nobody = 65534;

// The part of this path that the user `nobody` could change, asked as that user; needs root.
std::string changeable_by_nobody(const std::string& path) {
  int ends[2];
  check("pipe", pipe(ends));
  const pid_t child = check("fork", fork());
  if (child == 0) {
    if (setgid(nobody) != 0 || setuid(nobody) != 0) _exit(1);
    const std::string found = changeable_part_of(path, nobody) + "\n";
    _exit(write(ends[1], found.data(), found.size()) < 0 ? 1 : 0);
  }
  close(ends[1]);
  char text[4096] = "";
  const ssize_t size = read(ends[0], text, sizeof text);
  close(ends[0]);
  check("waitpid", waitpid(child, nullptr, 0));
  return size > 0 ? std::string(text, static_cast<std::size_t>(size - 1)) : "no answer";
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_belongs_to_the_user_can_be_changed_by_it) {
  const TemporaryDirectory directory;
  const std::string file = directory.write("users", "ann admin -\n");
  BOOST_TEST(changeable_part_of(file, geteuid()) == std::filesystem::canonical(file).string());
  BOOST_TEST(changeable_part_of(directory / "missing", geteuid()).empty());
}

BOOST_AUTO_TEST_CASE(a_file_is_as_safe_as_each_directory_and_link_that_leads_to_it) {
  if (geteuid() != 0) {
    BOOST_TEST_MESSAGE("skipped: only root can make files that another user may not change");
    return;
  }
  const TemporaryDirectory directory;
  check("chmod", chmod(directory.path().c_str(), 0755));
  const std::string below = directory / "below", inner = below + "/inner", file = inner + "/users";
  std::filesystem::create_directories(inner);
  directory.write("below/inner/users", "ann admin -\n");
  check("chmod", chmod(file.c_str(), 0644));
  BOOST_TEST(changeable_by_nobody(file) == "");
  // The owner of a directory above may rename what lies in it.
  check("chown", chown(below.c_str(), nobody, nobody));
  BOOST_TEST(changeable_by_nobody(file) == below);
  check("chown", chown(below.c_str(), 0, 0));
  check("chmod", chmod(file.c_str(), 0666));
  BOOST_TEST(changeable_by_nobody(file) == file);
  check("chmod", chmod(file.c_str(), 0644));
  check("chmod", chmod(inner.c_str(), 0777));
  BOOST_TEST(changeable_by_nobody(file) == inner);
  check("chmod", chmod(inner.c_str(), 01777));  // as /tmp: files of other users cannot be replaced there
  BOOST_TEST(changeable_by_nobody(file) == "");
  check("chmod", chmod(inner.c_str(), 0755));
  // A link is only as safe as its directory.
  const std::string theirs = directory / "theirs";
  std::filesystem::create_directory(theirs);
  std::filesystem::create_symlink(file, theirs + "/users");
  check("chown", chown(theirs.c_str(), nobody, nobody));
  BOOST_TEST(changeable_by_nobody(theirs + "/users") == theirs);
}
