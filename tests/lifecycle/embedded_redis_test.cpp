#define BOOST_TEST_MODULE embedded_redis
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>

#include "tests/support/brood_process.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// Brood on a machine where nobody configured a Redis.
struct Alone {
  TemporaryDirectory directory;
  Ledger ledger{directory / "ledger"};
  BroodProcess brood{BroodOptions{.workers = 2}};

  // -1 while it has none.
  pid_t redis_server() const {
    for (const pid_t child : children_of(brood.pid())) {
      std::string name;
      std::getline(std::ifstream("/proc/" + std::to_string(child) + "/comm"), name);
      if (name == "redis-server") return child;
    }
    return -1;
  }

  // Enqueues as a user does; tries again while the server is still starting.
  bool enqueue(const std::string& id, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command = {"enqueue", "Ledger", ledger.path(), id};
    command.insert(command.end(), more.begin(), more.end());
    return eventually([&] { return run_brood(command, brood.environment()).status == 0; }, 20s);
  }

  bool performed(const std::string& id) const {
    return eventually([&] { return ledger.done().contains(id); }, 30s);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(with_nothing_configured_a_private_redis_is_started_and_found_by_commands) {
  const Alone alone;

  BOOST_REQUIRE_MESSAGE(alone.enqueue("one"), alone.brood.log_tail());

  BOOST_TEST(alone.performed("one"), alone.brood.log_tail());
  BOOST_TEST(alone.redis_server() > 0);
}

// Its Redis is not there yet when the workers are; they wait in it as soon as it is.  Of several starts, since any of
// them may be held up by what else this machine does.
BOOST_AUTO_TEST_CASE(the_first_job_after_a_start_begins_at_once) {
  std::chrono::nanoseconds least = 1h;
  for (int start = 0; start < 5; ++start) {
    const Alone alone;
    const auto is_ready = [&] { return alone.brood.log().find("event=ready") != std::string::npos; };
    BOOST_REQUIRE_MESSAGE(eventually(is_ready, 20s), alone.brood.log_tail());
    const auto asked = std::chrono::steady_clock::now().time_since_epoch();
    BOOST_REQUIRE_MESSAGE(alone.enqueue("first"), alone.brood.log_tail());
    BOOST_REQUIRE_MESSAGE(alone.performed("first"), alone.brood.log_tail());
    least =
        std::min<std::chrono::nanoseconds>(least, std::chrono::nanoseconds(alone.ledger.runs().front().began) - asked);
  }
  BOOST_TEST((least < 700ms));
}

BOOST_AUTO_TEST_CASE(it_is_stopped_last_and_keeps_its_jobs_over_a_restart) {
  Alone alone;
  BOOST_REQUIRE_MESSAGE(alone.enqueue("later", {"--in", "4s"}), alone.brood.log_tail());
  const pid_t server = alone.redis_server();

  alone.brood.term();
  BOOST_TEST(alone.brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(eventually([&] { return !process_exists(server); }));
  BOOST_TEST(alone.ledger.runs().empty());
  alone.brood.start();

  BOOST_TEST(alone.performed("later"), alone.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(it_is_started_again_when_it_was_killed) {
  const Alone alone;
  BOOST_REQUIRE_MESSAGE(alone.enqueue("before"), alone.brood.log_tail());
  BOOST_REQUIRE(alone.performed("before"));
  const pid_t server = alone.redis_server();

  kill(server, SIGKILL);

  BOOST_TEST(eventually([&] { return alone.redis_server() > 0 && alone.redis_server() != server; }, 20s),
             alone.brood.log_tail());
  BOOST_REQUIRE(alone.enqueue("after"));
  BOOST_TEST(alone.performed("after"), alone.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_killed_supervisor_finds_its_jobs_again) {
  Alone alone;
  BOOST_REQUIRE_MESSAGE(alone.enqueue("later", {"--in", "3s"}), alone.brood.log_tail());

  alone.brood.kill9();
  alone.brood.start();

  BOOST_TEST(alone.performed("later"), alone.brood.log_tail());
}
