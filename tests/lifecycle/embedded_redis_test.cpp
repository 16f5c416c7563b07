#include <sysexits.h>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "shared/redis/connection.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// Brood on a machine without a configured Redis.
struct Alone {
  explicit Alone(BroodOptions options = {}) : brood(std::move(options)) {}

  TemporaryDirectory directory;
  Ledger ledger{directory / "ledger"};
  BroodProcess brood;

  // -1 if it has none.
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

  // The server's own answer about its appendfsync.
  std::string syncs() const {
    Connection redis(RedisAddress::parse("unix://" + (brood.home() / "state/redis.sock")), {20s, 20s});
    const Reply reply = redis.call({"CONFIG", "GET", "appendfsync"});
    return std::string(reply.view()[1].text());
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

// Its Redis starts later than the workers.  They wait in it as soon as it is there.  Takes the best of several starts,
// since other work on this machine may delay any of them.
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
  BOOST_REQUIRE_MESSAGE(alone.enqueue("later", {"--in", "15s"}), alone.brood.log_tail());
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

BOOST_AUTO_TEST_CASE(without_a_redis_server_nothing_is_started_and_a_check_says_what_to_install) {
  const TemporaryDirectory empty;
  const std::map<std::string, std::string> no_programs{{"PATH", empty.path()}};
  const CommandResult check =
      run_brood({"run", "--check"}, {{"PATH", empty.path()}, {"STATE_DIRECTORY", empty.path()}});

  BOOST_TEST(check.status == EX_CONFIG, check.output + check.errors);
  BOOST_TEST(check.errors.find("install the package redis-server") != std::string::npos, check.errors);
  BroodProcess brood(BroodOptions{.environment = no_programs});
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == EX_CONFIG, brood.log_tail());
  BOOST_TEST(brood.log().find("install the package redis-server") != std::string::npos, brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_server_that_runs_already_is_used_where_none_is_installed) {
  const TemporaryDirectory empty;
  const Alone alone;
  BOOST_REQUIRE_MESSAGE(alone.enqueue("one"), alone.brood.log_tail());
  auto environment = alone.brood.environment();
  environment["PATH"] = empty.path();

  const CommandResult check = run_brood({"run", "--check"}, environment);

  BOOST_TEST(check.status == 0, check.output + check.errors);
}

BOOST_AUTO_TEST_CASE(a_supervisor_that_shares_the_server_with_another_says_so) {
  const Alone alone;
  BOOST_REQUIRE_MESSAGE(alone.enqueue("one") && alone.performed("one"), alone.brood.log_tail());
  BroodProcess other(BroodOptions{.environment = {{"STATE_DIRECTORY", alone.brood.home() / "state"}}});

  const std::string words = "event=embedded_redis_shared supervisor_pid=" + std::to_string(alone.brood.pid());
  BOOST_TEST(eventually([&] { return other.log().find(words) != std::string::npos; }, 20s), other.log_tail());
  BOOST_TEST(alone.brood.log().find("event=embedded_redis_shared") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_killed_supervisor_finds_its_jobs_again) {
  Alone alone;
  BOOST_REQUIRE_MESSAGE(alone.enqueue("later", {"--in", "3s"}), alone.brood.log_tail());

  alone.brood.kill9();
  alone.brood.start();

  BOOST_TEST(alone.performed("later"), alone.brood.log_tail());
}

namespace {

// A redis-server whose disk becomes slow when slow_down() is called.
class SlowDisk {
 public:
  SlowDisk() {
    const std::string program = directory_ / "redis-server";
    std::ofstream(program) << "#!/bin/sh\nPATH=${PATH#*:}\nexec env LD_PRELOAD=" BROOD_SLOW_FSYNC
                              " redis-server \"$@\"\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  std::map<std::string, std::string> environment() const {
    return {{"PATH", directory_.path() + ":" + std::getenv("PATH")}, {"SLOW_FSYNC", directory_ / "slow"}};
  }
  void slow_down() const { std::ofstream(directory_ / "slow") << "now"; }
  void recover() const { std::filesystem::remove(directory_ / "slow"); }

 private:
  TemporaryDirectory directory_;
};

// The number of pushes, confirmed within 4 s, that a kill -9 of the server loses on a disk that has become slow.
std::int64_t lost_by_a_kill(const std::string& config) {
  const SlowDisk disk;
  const Alone alone({.workers = 1, .config = config, .environment = disk.environment()});
  BOOST_REQUIRE_MESSAGE(alone.enqueue("one") && alone.performed("one"), alone.brood.log_tail());
  const pid_t server = alone.redis_server();
  Connection redis(RedisAddress::parse("unix://" + (alone.brood.home() / "state/redis.sock")), {20s, 20s});

  disk.slow_down();
  std::int64_t answered = 0;
  for (const auto end = std::chrono::steady_clock::now() + 4s; std::chrono::steady_clock::now() < end;)
    answered = redis.call({"LPUSH", "kept", "job"}).view().integer();
  kill(server, SIGKILL);
  disk.recover();

  std::int64_t kept = -1;
  const auto is_back = [&] {
    try {
      const Reply reply = redis.call({"LLEN", "kept"});
      if (!reply.view().is_integer()) return false;  // it is still loading
      kept = reply.view().integer();
      return true;
    } catch (const ConnectionLost&) {
      return false;
    }
  };
  BOOST_REQUIRE_MESSAGE(eventually(is_back, 30s), alone.brood.log_tail());
  BOOST_TEST(answered > 0);
  return answered - kept;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_it_has_answered_survives_its_kill_also_on_a_slow_disk) {
  BOOST_TEST(lost_by_a_kill("") <= 0);
}

// Proves that the disk above is slow enough to show a loss.  A kill may come at a moment when nothing is delayed.
BOOST_AUTO_TEST_CASE(with_everysec_a_kill_on_a_slow_disk_loses_what_the_documents_say) {
  std::int64_t lost = 0;
  for (int kills = 0; kills < 8 && lost <= 0; ++kills) lost = lost_by_a_kill("[redis]\nappendfsync = 'everysec'\n");
  BOOST_TEST(lost > 0);
}

BOOST_AUTO_TEST_CASE(a_restart_sets_how_it_syncs) {
  const TemporaryDirectory directory;
  const std::string config = directory.write("brood.toml", "concurrency = 1\n");
  const Alone alone({.sets_workers = false, .arguments = {"-C", config}});
  BOOST_REQUIRE(eventually([&] { return alone.redis_server() > 0; }, 20s));
  BOOST_TEST(eventually([&] { return alone.brood.log().find("event=ready") != std::string::npos; }, 20s));
  std::ofstream(config) << "concurrency = 1\n[redis]\nappendfsync = 'no'\n";
  BOOST_TEST(run_brood({"restart"}, alone.brood.environment()).status == 0, alone.brood.log_tail());
  BOOST_TEST(eventually([&] { return alone.syncs() == "no"; }, 20s), alone.syncs());
}
