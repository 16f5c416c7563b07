#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_clients.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string library = BROOD_BINARY_DIR "/tests/job_libraries/libevent_jobs.so";

using Events = std::vector<std::string>;

const Events beginning{"fork.a", "fork.b", "startup.a", "startup.b", "heartbeat.a", "heartbeat.b", "beat.a", "beat.b"};
const Events end{"quiet.b", "quiet.a", "shutdown.b", "shutdown.a", "exit.b", "exit.a"};

Events operator+(Events some, const Events& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

// Without later beats: a worker beats again after ten seconds, which a busy machine may reach within the test.
Events with_first_beat_alone(const Events& events) {
  Events some;
  for (const std::string& event : events) {
    if (!event.starts_with("beat.") || std::find(some.begin(), some.end(), event) == some.end()) some.push_back(event);
  }
  return some;
}

// A brood with the library that records its events.
struct Listened {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string ledger = directory / "ledger";
  std::optional<BroodProcess> brood;

  explicit Listened(BroodOptions options = {}, const std::string& fault = "") {
    options.libraries = {library};
    options.environment["EVENTS_LEDGER"] = ledger;
    options.environment["EVENTS_FAULT"] = fault;
    brood.emplace(redis, options);
  }
  explicit Listened(const std::string& fault) : Listened(BroodOptions{.workers = 1}, fault) {}

  std::map<pid_t, Events> by_process() const {
    std::map<pid_t, Events> events;
    std::ifstream file(ledger);
    for (std::string line; std::getline(file, line);) {
      const std::size_t space = line.rfind(' ');
      events[std::stoi(line.substr(space + 1))].push_back(line.substr(0, space));
    }
    return events;
  }
  Events of(pid_t pid) const { return with_first_beat_alone(by_process()[pid]); }
  int count(const std::string& event) const {
    int found = 0;
    for (const auto& [pid, events] : by_process()) found += std::count(events.begin(), events.end(), event);
    return found;
  }
  bool happens(const std::string& event, int times = 1, std::chrono::milliseconds timeout = 30s) const {
    const bool seen = eventually([&] { return count(event) >= times; }, timeout);
    BOOST_TEST(seen, event << " was not seen " << times << " times\n" << brood->log_tail());
    return seen;
  }
  void run(const std::string& job_class, const std::string& args = "[]") {
    enqueue(redis, {payload_text(job_class, args)});
  }
  pid_t worker() const {
    BOOST_REQUIRE_MESSAGE(brood->wait_ready(), brood->log_tail());
    return brood->workers().front();
  }
  bool logs(const std::string& text) const {
    return eventually([&] { return brood->log().find(text) != std::string::npos; }, 20s);
  }
};

}  // namespace

#define BOOST_TEST_EVENTS(seen, ...) BOOST_TEST((seen) == (__VA_ARGS__), boost::test_tools::per_element())

BOOST_AUTO_TEST_CASE(handlers_of_a_worker_are_called_before_its_first_job_and_after_its_last) {
  Listened listened{BroodOptions{.workers = 1}};
  listened.run("Ran");
  const pid_t worker = listened.worker();
  listened.happens("ran");
  listened.brood->term();
  BOOST_TEST(listened.brood->wait_exit().value_or(-1) == 0);
  BOOST_TEST_EVENTS(listened.of(worker), beginning + Events{"ran"} + end);
  BOOST_TEST(listened.by_process().size() == 1u);
}

BOOST_AUTO_TEST_CASE(every_worker_has_events_of_its_own) {
  Listened listened{BroodOptions{.workers = 3}};
  listened.happens("beat.b", 3);
  listened.brood->term();
  BOOST_TEST(listened.brood->wait_exit().value_or(-1) == 0);
  const auto events = listened.by_process();
  BOOST_TEST(events.size() == 3u);
  for (const auto& [pid, of_one] : events) BOOST_TEST_EVENTS(with_first_beat_alone(of_one), beginning + end);
}

BOOST_AUTO_TEST_CASE(handlers_of_quiet_are_called_once_when_it_begins) {
  Listened listened{BroodOptions{.workers = 1}};
  const pid_t worker = listened.worker();
  listened.happens("beat.b");
  listened.brood->quiet();
  listened.happens("quiet.a");
  BOOST_TEST_EVENTS(listened.of(worker), beginning + Events{"quiet.b", "quiet.a"});
  listened.brood->quiet();
  listened.brood->term();
  BOOST_TEST(listened.brood->wait_exit().value_or(-1) == 0);
  BOOST_TEST_EVENTS(listened.of(worker), beginning + end);
}

BOOST_AUTO_TEST_CASE(a_running_job_ends_and_is_settled_before_handlers_of_the_end_are_called) {
  Listened listened{BroodOptions{.workers = 1}};
  const std::string file = listened.directory / "go_on";
  listened.run("UntilFile", "[\"" + file + "\"]");
  listened.happens("began");
  const pid_t worker = listened.worker();
  listened.brood->term();
  BOOST_TEST(listened.logs("event=phase from=running to=stopping"));
  std::ofstream(file) << "x";
  BOOST_TEST(listened.brood->wait_exit().value_or(-1) == 0);
  BOOST_TEST_EVENTS(listened.of(worker), beginning + Events{"began", "ended"} + end);
  BOOST_TEST(listened.redis.size_of("queue:default") == 0u);
}

BOOST_AUTO_TEST_CASE(handlers_of_the_end_are_called_in_recycled_and_replaced_workers) {
  Listened listened{BroodOptions{.workers = 1, .config = "[worker]\nmax_jobs = 1\n"}};
  const pid_t first = listened.worker();
  listened.happens("beat.b");
  listened.run("Ran");
  listened.happens("exit.a");
  BOOST_TEST(eventually(
      [&] {
        const auto events = listened.by_process();
        return std::ranges::count_if(events, [](const auto& of) {
                 return std::ranges::find(of.second, "beat.b") != of.second.end();
               }) >= 2;
      },
      30s));
  BOOST_TEST_EVENTS(listened.of(first), beginning + Events{"ran"} + end);
  const pid_t second = listened.worker();
  BOOST_TEST(second != first);
  BOOST_TEST(run_brood({"restart"}, listened.brood->environment()).status == 0);
  listened.happens("exit.a", 2);
  BOOST_TEST_EVENTS(listened.of(second), beginning + end);
}

BOOST_AUTO_TEST_CASE(a_crash_is_reported_in_a_separate_process_and_its_worker_ends_without_events) {
  Listened listened{BroodOptions{.workers = 1}};
  const pid_t worker = listened.worker();
  listened.happens("beat.b");
  listened.run("CrashNow");
  listened.happens("crash CrashNow SIGSEGV with its stack");
  listened.happens("error CrashNow SIGSEGV crashed");
  listened.happens("beat.b", 2);
  BOOST_TEST_EVENTS(listened.of(worker), beginning);
  for (const auto& [pid, events] : listened.by_process()) {
    if (events.front().starts_with("crash "))
      BOOST_TEST_EVENTS(events, Events{"crash CrashNow SIGSEGV with its stack", "error CrashNow SIGSEGV crashed"});
  }
  BOOST_TEST(eventually([&] { return listened.redis.size_of("retry") == 1; }));
}

BOOST_AUTO_TEST_CASE(error_handlers_are_called_in_the_worker_before_a_failure_is_settled) {
  Listened listened{BroodOptions{.workers = 1}};
  const pid_t worker = listened.worker();
  listened.run("FailNow");
  BOOST_TEST(eventually([&] { return listened.redis.size_of("retry") == 1; }));
  const Events events = listened.of(worker);
  BOOST_TEST(events.back() == "error FailNow std::runtime_error");
}

BOOST_AUTO_TEST_CASE(a_heartbeat_follows_each_outage) {
  Listened listened{BroodOptions{.workers = 1}};
  const pid_t worker = listened.worker();
  listened.happens("heartbeat.b");
  listened.redis.kill9();
  listened.redis.restart();
  listened.happens("heartbeat.b", 2);
  listened.happens("beat.b", 2);
  BOOST_TEST(listened.worker() == worker);
}

BOOST_AUTO_TEST_CASE(a_worker_beats_between_jobs_and_when_its_wait_ends) {
  Listened listened{BroodOptions{.workers = 1}};
  const pid_t worker = listened.worker();
  listened.happens("beat.b");
  BOOST_TEST(eventually(
      [&] {
        listened.run("Ran");
        return listened.count("beat.b") == 2;
      },
      60s));
  // When it is idle, only the end of its wait lets it beat.
  BOOST_TEST(eventually(
      [&] {
        for (const RedisClient& client : RedisClient::of(listened.redis, "brood-worker-"))
          listened.redis.command({"CLIENT", "UNBLOCK", client.id});
        return listened.count("beat.b") == 3;
      },
      60s));
  BOOST_TEST(listened.count("heartbeat.b") == 1);
  BOOST_TEST(listened.worker() == worker);
}

BOOST_AUTO_TEST_CASE(what_handlers_throw_is_logged_and_ignored) {
  for (const std::string event : {"fork", "beat", "quiet", "exit"}) {
    Listened listened{event + " throws"};
    const pid_t worker = listened.worker();
    listened.happens("beat.b");
    listened.brood->term();
    BOOST_TEST(listened.brood->wait_exit().value_or(-1) == 0);
    BOOST_TEST(listened.logs("a handler of " + event + " threw std::domain_error: a wrong " + event));
    BOOST_TEST_EVENTS(listened.of(worker), beginning + end);
  }
}

BOOST_AUTO_TEST_CASE(a_copy_of_the_worker_that_comes_back_from_a_handler_is_none) {
  for (const std::string event : {"fork", "startup", "heartbeat"}) {
    Listened listened{event + " forks"};
    const pid_t worker = listened.worker();
    listened.happens("beat.b");
    listened.run("Ran");
    listened.happens("ran");
    listened.brood->term();
    BOOST_TEST(listened.brood->wait_exit().value_or(-1) == 0);
    BOOST_TEST_EVENTS(listened.of(worker), beginning + Events{"ran"} + end);
    BOOST_TEST(listened.by_process().size() == 1u, event);
    BOOST_TEST(listened.logs("copy_of_worker_ended"), event);
  }
}

// For example because a database is not up yet, which no operator has to fix.
BOOST_AUTO_TEST_CASE(a_startup_that_throws_is_tried_again_until_it_does_not) {
  TemporaryDirectory directory;
  const std::string once = directory / "once";
  std::ofstream(once) << "x";
  Listened listened{BroodOptions{.workers = 1, .environment = {{"EVENTS_FAULT_ONCE", once}}}, "startup throws"};
  listened.run("Ran");
  listened.happens("ran");
  BOOST_TEST(listened.logs("event=startup_failed"));
  BOOST_TEST(listened.logs("libevent_jobs.so: a handler of startup threw std::domain_error: a wrong startup"));
  BOOST_TEST(listened.logs("event=ready"));
}

BOOST_AUTO_TEST_CASE(a_startup_that_throws_for_long_is_tried_less_and_less_often_and_status_says_so) {
  Listened listened{BroodOptions{.workers = 2}, "startup throws"};
  BOOST_TEST(listened.happens("startup.a", 8));
  BOOST_TEST(!listened.brood->wait_exit(0ms).has_value());
  BOOST_TEST(eventually(
      [&] {
        auto environment = listened.brood->environment();
        const CommandResult status = run_brood({"status", "--redis", listened.redis.url()}, environment);
        return status.output.find("resting") != std::string::npos;
      },
      20s));
  // Each of the two places has failed at least three times.  Three more failures mean two in one place, with a rest of
  // 0.8 s or more between them, at most a quarter less.
  const auto begun = std::chrono::steady_clock::now();
  const int before = listened.count("startup.a");
  BOOST_TEST(listened.happens("startup.a", before + 3));
  BOOST_TEST((std::chrono::steady_clock::now() - begun > 500ms));
  listened.brood->term();
  BOOST_TEST(listened.brood->wait_exit().value_or(-1) == 0);
}

// Like a startup that throws: it may need something that is not there yet.
BOOST_AUTO_TEST_CASE(a_startup_that_crashes_again_and_again_ends_no_supervisor_either) {
  Listened listened{BroodOptions{.workers = 1}, "startup crashes"};
  BOOST_TEST(listened.happens("startup.a", 6));
  BOOST_TEST(!listened.brood->wait_exit(0ms).has_value());
  BOOST_TEST(listened.brood->log().find("no_worker_became_ready") == std::string::npos);
  listened.brood->term();
  BOOST_TEST(listened.brood->wait_exit().value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(a_check_runs_the_handlers_of_startup_when_it_is_asked_to) {
  const TemporaryDirectory directory;
  const std::map<std::string, std::string> environment{{"EVENTS_LEDGER", directory / "ledger"},
                                                       {"EVENTS_FAULT", "startup throws"}};
  const std::vector<std::string> check{"run", "--check", "-r", library, "--redis", "unix://" + (directory / "no.sock")};
  BOOST_TEST(run_brood(check, environment).status == 0);

  const auto run_with = [&](const std::string& fault, const std::string& boot_timeout = "60s") {
    std::vector<std::string> with_startup = check;
    with_startup.insert(
        with_startup.end(),
        {"--startup", "-C", directory.write("brood.toml", "boot_timeout = \"" + boot_timeout + "\"\n")});
    return run_brood(with_startup, {{"EVENTS_LEDGER", directory / "ledger"}, {"EVENTS_FAULT", fault}});
  };
  const CommandResult refused = run_with("startup throws");
  BOOST_TEST(refused.status == 75, refused.errors);
  BOOST_TEST(refused.errors.find("a handler of startup threw std::domain_error") != std::string::npos, refused.errors);
  const CommandResult crashed = run_with("startup crashes"), hung = run_with("startup hangs", "5s");
  BOOST_TEST(crashed.status == 75, crashed.errors);
  BOOST_TEST(crashed.errors.find("the startup of capsule default ended the process that tried: killed by SIGABRT") !=
                 std::string::npos,
             crashed.errors);
  BOOST_TEST(hung.status == 75, hung.errors);
  BOOST_TEST(hung.errors.find("the startup of capsule default took longer than boot_timeout, 5s") != std::string::npos,
             hung.errors);
  const CommandResult done = run_with("");
  BOOST_TEST(done.status == 0, done.errors);
  BOOST_TEST(done.output.find("startup of capsule default: done") != std::string::npos, done.output);
  BOOST_TEST(run_brood({"run", "--startup", "-r", library}).status == 64);
}

BOOST_AUTO_TEST_CASE(a_restart_whose_new_workers_refuse_to_start_is_rolled_back) {
  TemporaryDirectory directory;
  const std::string once = directory / "once";
  Listened listened{BroodOptions{.workers = 1, .environment = {{"EVENTS_FAULT_ONCE", once}}}, "startup throws"};
  BOOST_REQUIRE(listened.logs("event=ready"));  // its startup is over, so that it does not meet the next fault
  const pid_t worker = listened.worker();
  std::ofstream(once) << "x";
  const CommandResult restart = run_brood({"restart"}, listened.brood->environment());
  BOOST_TEST(restart.status == 70, restart.output << restart.errors);
  listened.run("Ran");
  listened.happens("ran");
  BOOST_TEST(listened.worker() == worker);
}

BOOST_AUTO_TEST_CASE(a_handler_that_crashes_ends_its_worker_and_charges_no_job) {
  for (const std::string event : {"beat", "shutdown"}) {
    TemporaryDirectory directory;
    const std::string once = directory / "once";
    std::ofstream(once) << "x";
    Listened listened{BroodOptions{.workers = 1, .environment = {{"EVENTS_FAULT_ONCE", once}}}, event + " crashes"};
    listened.run("Ran");
    listened.happens("ran");
    listened.brood->term();
    BOOST_TEST(listened.brood->wait_exit().value_or(-1) == 0);
    BOOST_TEST(listened.count("ran") == 1);
    BOOST_TEST(listened.redis.size_of("retry") == 0u);
    BOOST_TEST(listened.redis.size_of("queue:default") == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_handler_that_hangs_is_cut_off_after_the_shutdown_timeout_and_charges_no_job) {
  for (const std::string event : {"beat", "exit"}) {
    TemporaryDirectory directory;
    const std::string once = directory / "once";
    std::ofstream(once) << "x";
    Listened listened{BroodOptions{.workers = 1, .shutdown_timeout = "1", .environment = {{"EVENTS_FAULT_ONCE", once}}},
                      event + " hangs"};
    listened.run("Ran");
    listened.happens("ran");
    listened.brood->term();
    BOOST_TEST(listened.brood->wait_exit().value_or(-1) == 0);
    BOOST_TEST(listened.count("ran") == 1);
    BOOST_TEST(listened.redis.size_of("retry") == 0u);
    if (event == "beat") BOOST_TEST(listened.logs("status=\"killed by SIGKILL\" jid=\"\" class=Event::beat"));
  }
}

BOOST_AUTO_TEST_CASE(what_handlers_print_is_logged_as_theirs) {
  Listened listened{BroodOptions{.workers = 1}};
  listened.run("Ran");
  listened.happens("ran");
  listened.brood->term();
  BOOST_TEST(listened.brood->wait_exit().value_or(-1) == 0);
  for (const std::string event : {"startup", "beat", "exit"})
    BOOST_TEST(listened.logs("class=Event::" + event + " text=\"told of " + event + " in default\""));
}
