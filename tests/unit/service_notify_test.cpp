#include "supervisor/process/service_notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

// A service manager that reads when the test orders it.
struct Manager {
  TemporaryDirectory directory;
  UniqueFd socket{check("socket", ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};

  Manager() {
    const std::string path = directory / "notify";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    check("bind", bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  std::vector<std::string> read() const {
    std::vector<std::string> words;
    char text[256];
    for (ssize_t got; (got = recv(socket.get(), text, sizeof text, 0)) >= 0;)
      words.emplace_back(text, static_cast<std::size_t>(got));
    return words;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_the_manager_waits_for_is_sent_again_until_it_has_room_for_it) {
  const Manager manager;
  ServiceNotify notify;
  for (int i = 0; i < 1000; ++i) notify.status(std::to_string(i));  // more than its queue takes
  notify.ready();
  notify.repeat();
  for (const std::string& word : manager.read()) BOOST_TEST(word.starts_with("STATUS="));

  notify.repeat();
  BOOST_TEST(manager.read() == std::vector<std::string>{"READY=1"}, boost::test_tools::per_element());
  notify.repeat();
  BOOST_TEST(manager.read().empty());
}

BOOST_AUTO_TEST_CASE(a_supervisor_that_stops_is_not_ready_any_more) {
  const Manager manager;
  ServiceNotify notify;
  for (int i = 0; i < 1000; ++i) notify.status(std::to_string(i));
  notify.ready();
  notify.stopping();
  manager.read();
  notify.repeat();
  BOOST_TEST(manager.read().empty());
}
