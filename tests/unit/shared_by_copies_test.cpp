#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "supervisor/workers/template/shared_by_copies.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

bool names(const std::vector<std::string>& shared, const std::string& what) {
  return std::any_of(shared.begin(), shared.end(), [&](const std::string& one) { return one.starts_with(what); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_process_that_has_nothing_of_its_own_shares_nothing) {
  BOOST_TEST(shared_by_copies(open_descriptors()).empty());
}

BOOST_AUTO_TEST_CASE(a_socket_and_a_pipe_are_named_with_their_descriptors) {
  const std::set<int> known = open_descriptors();
  int both[2];
  BOOST_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) == 0);
  const UniqueFd one(both[0]), other(both[1]);
  BOOST_REQUIRE(pipe2(both, O_CLOEXEC) == 0);
  const UniqueFd read_end(both[0]), write_end(both[1]);
  const std::vector<std::string> shared = shared_by_copies(known);
  BOOST_TEST(shared.size() == 4u);
  BOOST_TEST(names(shared, "a socket (descriptor " + std::to_string(one.get()) + ")"));
  BOOST_TEST(names(shared, "a pipe (descriptor " + std::to_string(write_end.get()) + ")"));
  BOOST_TEST(shared_by_copies(open_descriptors()).empty());  // now they are known
}

BOOST_AUTO_TEST_CASE(files_directories_and_devices_without_state_may_be_shared) {
  const TemporaryDirectory directory;
  const std::set<int> known = open_descriptors();
  const UniqueFd file(open((directory / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const UniqueFd folder(open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd nothing(open("/dev/null", O_RDWR | O_CLOEXEC)), random(open("/dev/urandom", O_RDONLY | O_CLOEXEC));
  BOOST_REQUIRE(file.get() >= 0);
  BOOST_REQUIRE(folder.get() >= 0);
  BOOST_TEST(shared_by_copies(known).empty());
}

BOOST_AUTO_TEST_CASE(an_alarm_is_named_until_it_is_taken_back) {
  alarm(3'600);
  BOOST_TEST(names(shared_by_copies(open_descriptors()), "an interval timer, or an alarm"));
  alarm(0);
  BOOST_TEST(shared_by_copies(open_descriptors()).empty());
}
