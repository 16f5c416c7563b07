#include <boost/test/unit_test.hpp>

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr const char* unruly_jobs = BROOD_BINARY_DIR "/tests/job_libraries/libunruly_jobs.so";

// The other end of sd_notify(3).  Reads in a separate thread: a socket holds only ten unread messages, and further ones
// are lost.
class ServiceManager {
 public:
  ServiceManager() : socket_(check("socket", socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0))) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    check("bind", bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
    hearing_ = std::thread([this] { hear(); });
  }
  ~ServiceManager() {
    shutdown(socket_.get(), SHUT_RD);
    hearing_.join();
  }
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  std::string path() const { return directory_ / "notify"; }
  std::map<std::string, std::string> environment(std::map<std::string, std::string> more = {}) const {
    more["NOTIFY_SOCKET"] = path();
    return more;
  }

  std::vector<std::string> heard() {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  std::ptrdiff_t count(const std::string& state) {
    const std::vector<std::string> all = heard();
    return std::count(all.begin(), all.end(), state);
  }
  bool hears(const std::string& state, std::chrono::milliseconds timeout = 20s) {
    return eventually([&] { return count(state) > 0; }, timeout);
  }
  // The unit's present status line.
  std::string status() {
    std::string last;
    for (const std::string& state : heard()) {
      if (state.starts_with("STATUS=")) last = state.substr(7);
    }
    return last;
  }
  bool status_says(const std::string& part, std::chrono::milliseconds timeout = 30s) {
    return eventually([&] { return status().find(part) != std::string::npos; }, timeout);
  }
  // For WATCHDOG_USEC=400000.  Six messages, each half that time after the previous one, take three times as long as
  // systemd would wait.
  bool is_fed() {
    const auto fed = count("WATCHDOG=1");
    return eventually([&] { return count("WATCHDOG=1") >= fed + 6; }, 10s);
  }

 private:
  void hear() {
    char text[4096];
    for (ssize_t got; (got = recv(socket_.get(), text, sizeof text, 0)) > 0;) {
      const std::lock_guard lock(mutex_);
      heard_.emplace_back(text, static_cast<std::size_t>(got));
    }
  }

  TemporaryDirectory directory_;
  UniqueFd socket_;
  std::mutex mutex_;
  std::vector<std::string> heard_;
  std::thread hearing_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_unit_is_ready_when_every_worker_is_and_not_before) {
  RedisServer redis;
  ServiceManager systemd;
  const TemporaryDirectory gate;
  BroodProcess brood(redis, {.workers = 3,
                             .libraries = {unruly_jobs},
                             .config = "[worker]\npreload = false\n",  // only workers load the library
                             .environment = systemd.environment({{"BROOD_TEST_GATE", gate.path()}})});
  BOOST_REQUIRE_MESSAGE(systemd.status_says("running: 1 of 3 workers"), brood.log_tail());
  BOOST_TEST(systemd.count("READY=1") == 0);

  gate.write("open", "");

  BOOST_TEST(systemd.hears("READY=1"), brood.log_tail());
  BOOST_TEST(systemd.status_says("running: 3 of 3 workers, 0 busy"));
  BOOST_TEST(systemd.count("READY=1") == 1);
  BOOST_TEST(systemd.count("STOPPING=1") == 0);
}

BOOST_AUTO_TEST_CASE(while_workers_do_not_start_the_status_says_so_and_the_service_manager_is_asked_to_wait) {
  RedisServer redis;
  ServiceManager systemd;
  const TemporaryDirectory gate;
  BroodProcess brood(redis, {.workers = 2,
                             .libraries = {unruly_jobs},
                             .config = "boot_timeout = \"3s\"\n[worker]\npreload = false\n",
                             .environment = systemd.environment({{"BROOD_TEST_GATE", gate.path()}})});
  BOOST_TEST(systemd.status_says("1 of 2 workers do not start, each is tried again after"), brood.log_tail());
  BOOST_TEST(systemd.hears("EXTEND_TIMEOUT_USEC=60000000"));
  BOOST_TEST(systemd.count("READY=1") == 0);

  gate.write("open", "");

  BOOST_TEST(systemd.hears("READY=1", 60s), brood.log_tail());
  BOOST_TEST(eventually([&] { return systemd.status().find("do not start") == std::string::npos; }, 20s));
}

BOOST_AUTO_TEST_CASE(a_stop_is_reported_once_and_before_the_end) {
  RedisServer redis;
  ServiceManager systemd;
  BroodProcess brood(redis, {.workers = 1, .environment = systemd.environment()});
  BOOST_REQUIRE(systemd.hears("READY=1"));
  enqueue(redis, {payload_text("PoliteLoop", "[60000]")});
  BOOST_REQUIRE(systemd.status_says("1 busy"));

  brood.term();

  BOOST_TEST(systemd.hears("STOPPING=1"));
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(systemd.count("STOPPING=1") == 1);
  BOOST_TEST(systemd.count("READY=1") == 1);
}

BOOST_AUTO_TEST_CASE(the_status_says_quiet) {
  RedisServer redis;
  ServiceManager systemd;
  BroodProcess brood(redis, {.workers = 1, .environment = systemd.environment()});
  BOOST_REQUIRE(systemd.hears("READY=1"));
  brood.quiet();
  BOOST_TEST(systemd.status_says("quiet: 1 of 1 workers"));
  BOOST_TEST(systemd.count("STOPPING=1") == 0);
}

BOOST_AUTO_TEST_CASE(a_restart_is_reported_from_its_beginning_to_its_end_and_the_status_shows_why_it_was_refused) {
  RedisServer redis;
  ServiceManager systemd;
  const TemporaryDirectory directory;
  const std::string config = directory / "brood.toml";
  std::ofstream(config) << "tag = \"one\"\n";
  BroodProcess brood(redis, {.workers = 1, .arguments = {"-C", config}, .environment = systemd.environment()});
  BOOST_REQUIRE(systemd.hears("READY=1"));
  const auto reloadings = [&] {
    const std::vector<std::string>& heard = systemd.heard();
    return std::count_if(heard.begin(), heard.end(),
                         [](const std::string& state) { return state.starts_with("RELOADING=1\nMONOTONIC_USEC="); });
  };

  brood.signal(SIGHUP);
  BOOST_TEST(eventually([&] { return reloadings() == 1; }, 20s));
  BOOST_TEST(eventually([&] { return systemd.count("READY=1") == 2; }, 20s), brood.log_tail());

  std::ofstream(config) << "tga = \"two\"\n";
  brood.signal(SIGHUP);
  BOOST_TEST(systemd.status_says("the last restart was refused"), systemd.status());
  BOOST_TEST(systemd.status_says("did you mean"), systemd.status());
  BOOST_TEST(eventually([&] { return systemd.count("READY=1") == 3; }, 20s));
  BOOST_TEST(reloadings() == 2);
}

BOOST_AUTO_TEST_CASE(the_status_says_that_redis_is_away_and_that_it_is_back) {
  RedisServer redis;
  ServiceManager systemd;
  BroodProcess brood(redis, {.workers = 2, .environment = systemd.environment()});
  BOOST_REQUIRE(systemd.hears("READY=1"));
  BOOST_TEST(systemd.status().find("Redis is away") == std::string::npos);

  redis.kill9();
  BOOST_TEST(systemd.status_says("Redis is away"), brood.log_tail());
  redis.restart();
  BOOST_TEST(eventually([&] { return systemd.status().find("away") == std::string::npos; }, 30s), brood.log_tail());
  BOOST_TEST(systemd.count("READY=1") == 1);
  BOOST_TEST(brood.workers().size() == 2U);
}

// A stopped Redis accepts connections and never answers.
BOOST_AUTO_TEST_CASE(while_redis_stands_still_the_status_says_so_and_the_watchdog_is_fed) {
  RedisServer redis;
  ServiceManager systemd;
  BroodProcess brood(redis, {.workers = 1, .environment = systemd.environment({{"WATCHDOG_USEC", "1000000"}})});
  BOOST_REQUIRE(systemd.hears("READY=1"));

  redis.pause();
  BOOST_TEST(systemd.status_says("Redis is away", 60s), brood.log_tail());
  const auto fed = systemd.count("WATCHDOG=1");
  BOOST_TEST(eventually([&] { return systemd.count("WATCHDOG=1") >= fed + 3; }));
  redis.resume();
  BOOST_TEST(eventually([&] { return systemd.status().find("away") == std::string::npos; }, 60s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(the_watchdog_is_fed_at_twice_the_pace_it_asks_for) {
  RedisServer redis;
  ServiceManager systemd;
  const auto start = std::chrono::steady_clock::now();
  BroodProcess brood(redis, {.workers = 1, .environment = systemd.environment({{"WATCHDOG_USEC", "1000000"}})});
  BOOST_TEST(eventually([&] { return systemd.count("WATCHDOG=1") >= 6; }), brood.log_tail());
  // Five pauses of half a second, not one datagram a turn of the loop.
  BOOST_TEST((std::chrono::steady_clock::now() - start >= 2400ms));
}

BOOST_AUTO_TEST_CASE(a_watchdog_of_another_process_is_not_fed) {
  RedisServer redis;
  ServiceManager systemd;
  BroodProcess brood(
      redis, {.workers = 1, .environment = systemd.environment({{"WATCHDOG_USEC", "100000"}, {"WATCHDOG_PID", "1"}})});
  BOOST_REQUIRE(systemd.hears("READY=1"));
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(systemd.count("WATCHDOG=1") == 0);
}

BOOST_AUTO_TEST_CASE(workers_cannot_speak_for_the_service) {
  RedisServer redis;
  ServiceManager systemd;
  BroodProcess brood(
      redis,
      {.workers = 1, .libraries = {unruly_jobs}, .environment = systemd.environment({{"WATCHDOG_USEC", "1000000"}})});
  const std::string told = brood.home() / "told";
  const std::vector<std::string> asked{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "RUNTIME_DIRECTORY"};
  const auto ask = [&] {
    int number = 0;
    for (const std::string& name : asked)
      enqueue(redis, {payload_text("TellEnvironment", "[\"" + name + "\",\"" + told + "\"]", ++number)});
  };

  const auto lines = [&] {
    std::ifstream file(told);
    std::vector<std::string> found;
    for (std::string line; std::getline(file, line);) found.push_back(line);
    return found;
  };
  // Everything else is inherited.
  const std::vector<std::string> expected{"unset", "unset", "unset", brood.home() / "run"};
  ask();
  BOOST_TEST(eventually([&] { return lines() == expected; }, 20s), brood.log_tail());
  BOOST_REQUIRE(systemd.hears("READY=1"));
  BOOST_TEST(systemd.count("READY=1") == 1);

  // The next program in this process does not pass them on either, but itself goes on sending.
  brood.signal(SIGUSR2);
  BOOST_REQUIRE(eventually([&] { return systemd.count("READY=1") >= 2; }, 30s));
  std::filesystem::remove(told);
  ask();
  BOOST_TEST(eventually([&] { return lines() == expected; }, 20s), brood.log_tail());
}

// Each of these disturbances lasts longer than the watchdog waits.
BOOST_AUTO_TEST_CASE(the_watchdog_is_fed_for_as_long_as_the_process_lives) {
  RedisServer redis;
  ServiceManager systemd;
  const TemporaryDirectory directory;
  const std::string program = directory / "brood";
  const auto install = [&](const std::string& file) {
    std::filesystem::copy_file(file, program + ".new", std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(program + ".new", program);
  };
  install(BROOD_BINARY_DIR "/bin/brood");
  BroodProcess brood(
      redis, {.workers = 1, .environment = systemd.environment({{"WATCHDOG_USEC", "400000"}}), .program = program});
  const auto says_ready = [&](std::ptrdiff_t times) {
    return eventually([&] { return systemd.count("READY=1") == times; }, 30s);
  };
  const auto statuses = [&] {
    const std::vector<std::string>& heard = systemd.heard();
    return std::count_if(heard.begin(), heard.end(), [](const auto& state) { return state.starts_with("STATUS="); });
  };
  BOOST_TEST(says_ready(1));
  BOOST_TEST(systemd.is_fed());

  brood.signal(SIGHUP);
  BOOST_TEST(says_ready(2));
  BOOST_TEST(systemd.is_fed());

  for (int upgrade = 0; upgrade < 2; ++upgrade) {
    const auto said = statuses();
    brood.signal(SIGUSR2);
    BOOST_TEST(says_ready(3 + upgrade), brood.log_tail());
    BOOST_TEST(systemd.is_fed(), brood.log_tail());
    BOOST_TEST(statuses() > said);
  }

  install("/bin/false");
  brood.signal(SIGUSR2);
  BOOST_TEST(systemd.status_says("the last upgrade was refused"), brood.log_tail());
  BOOST_TEST(systemd.is_fed());
  BOOST_TEST(systemd.count("READY=1") == 4);

  install(BROOD_BINARY_DIR "/bin/brood");
  brood.signal(SIGUSR2);
  BOOST_TEST(says_ready(5), brood.log_tail());
  BOOST_TEST(systemd.is_fed());
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(systemd.count("STOPPING=1") == 1);
}

// The previous program is executed again, fails too, and so does every later attempt.
BOOST_AUTO_TEST_CASE(the_watchdog_is_fed_while_no_program_can_take_over_and_afterwards) {
  RedisServer redis;
  ServiceManager systemd;
  const TemporaryDirectory directory;
  const std::string program = directory / "brood", real = directory / "real", gone = directory / "gone";
  std::filesystem::copy_file(BROOD_BINARY_DIR "/bin/brood", program);
  std::filesystem::copy_file(program, real);
  BroodProcess brood(
      redis, {.workers = 1, .environment = systemd.environment({{"WATCHDOG_USEC", "400000"}}), .program = program});
  BOOST_REQUIRE(systemd.hears("READY=1"));
  const std::string run = brood.home() / "run";
  const std::vector<pid_t> workers = brood.workers();
  // The real program, except in a trial.  Once it has the supervisor's place, its directory is removed.
  directory.write("new", "#!/bin/sh\nif [ $$ = " + std::to_string(brood.pid()) + " ]; then mv " + run + " " + gone +
                             "; touch " + run + "; fi\nexec " + real + " \"$@\"\n");
  std::filesystem::permissions(directory / "new", std::filesystem::perms::owner_all);
  std::filesystem::rename(directory / "new", program);
  const auto tries = [&] {
    const std::vector<std::string>& heard = systemd.heard();
    return std::count_if(heard.begin(), heard.end(), [](const auto& state) {
      return state.starts_with("STATUS=the workers run on without a supervisor");
    });
  };

  brood.signal(SIGUSR2);

  for (int told = 1; told <= 3; ++told) {
    BOOST_TEST(eventually([&] { return tries() >= told; }, 30s), brood.log_tail());
    BOOST_TEST(systemd.is_fed(), brood.log_tail());
  }
  std::filesystem::remove(run);
  std::filesystem::rename(gone, run);
  BOOST_TEST(systemd.status_says("running: 1 of 1 workers"), brood.log_tail());
  BOOST_TEST(systemd.is_fed(), brood.log_tail());
  BOOST_TEST((brood.workers() == workers));
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(with_a_redis_of_its_own_the_service_speaks_on_after_an_upgrade_too) {
  ServiceManager systemd;
  BroodProcess brood(BroodOptions{.workers = 1, .environment = systemd.environment({{"WATCHDOG_USEC", "400000"}})});
  BOOST_REQUIRE(systemd.hears("READY=1", 60s));

  brood.signal(SIGUSR2);

  BOOST_TEST(eventually([&] { return systemd.count("READY=1") == 2; }, 30s), brood.log_tail());
  BOOST_TEST(systemd.is_fed(), brood.log_tail());
  brood.term();
  BOOST_TEST(brood.wait_exit(60s).value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(a_service_manager_that_does_not_read_does_not_hold_up_the_loop) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(
      redis, {.workers = 1, .environment = {{"NOTIFY_SOCKET", directory / "nobody"}, {"WATCHDOG_USEC", "20000"}}});
  enqueue(redis, {payload_text("Greet", "[\"systemd\"]")});
  BOOST_TEST(eventually([&] { return redis.size_of("queue:default") == 0; }, 20s), brood.log_tail());
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
}
