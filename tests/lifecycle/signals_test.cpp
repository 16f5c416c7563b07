#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <fstream>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr const char* patient = "\"timeout\":600";  // longer than that of the class, for a slow machine

constexpr const char* unruly_jobs = BROOD_BINARY_DIR "/tests/job_libraries/libunruly_jobs.so";
constexpr const char* examples = BROOD_BINARY_DIR "/worker/examples/libexamples.so";

struct Running {
  RedisServer redis;
  TemporaryDirectory directory;
  Ledger ledger{directory / "ledger"};
  BroodProcess brood;

  explicit Running(BroodOptions options = {.workers = 1}) : brood(redis, with_unruly_jobs(std::move(options))) {
    BOOST_REQUIRE_MESSAGE(logs("event=ready", 30s), brood.log_tail());
  }

  static BroodOptions with_unruly_jobs(BroodOptions options) {
    options.libraries = {examples, unruly_jobs};
    return options;
  }
  bool logs(const std::string& text, std::chrono::milliseconds timeout = 10s) const {
    return eventually([&] { return brood.log().find(text) != std::string::npos; }, timeout);
  }
  // Waits until a Ledger job of that length has begun.
  void begin_ledger_job(int milliseconds) {
    enqueue_ledger_jobs(redis, ledger.path(), 1, milliseconds);
    BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.begun().size() == 1; }, 20s), brood.log_tail());
  }
  bool performs(int number) {
    const std::string id = "after" + std::to_string(number);
    enqueue(redis, {payload_text("Ledger", "[\"" + ledger.path() + "\",\"" + id + "\",0]", 500 + number)});
    return eventually([&] { return ledger.done().contains(id); }, 20s);
  }
  pid_t pid_written_to(const std::string& path) const {
    pid_t pid = 0;
    eventually([&] { return static_cast<bool>(std::ifstream(path) >> pid); }, 20s);
    return pid;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_interrupt_stops_as_a_term_does) {
  Running running;
  running.begin_ledger_job(500);
  running.brood.signal(SIGINT);
  BOOST_TEST(running.brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(running.ledger.has_done(1));
}

// timeout(1) sends one signal to the process and one to its group.  The signals differ here, since equal pending ones
// merge.
BOOST_AUTO_TEST_CASE(two_stops_at_once_from_one_sender_are_one_wish) {
  Running running;
  running.begin_ledger_job(1000);

  running.brood.signal(SIGSTOP);
  running.brood.signal(SIGTERM);
  running.brood.signal(SIGINT);
  running.brood.signal(SIGCONT);

  BOOST_TEST(running.brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(running.logs("signal=SIGTERM", 0ms));
  BOOST_TEST(running.logs("signal=SIGINT", 0ms));
  BOOST_TEST(!running.logs("to=killing", 0ms), running.brood.log_tail());
  BOOST_TEST(running.ledger.has_done(1));
}

BOOST_AUTO_TEST_CASE(stops_sent_without_pause_count_each) {
  Running running({.workers = 1, .shutdown_timeout = "600"});
  running.begin_ledger_job(600'000);

  const bool ended = eventually([&] {
    running.brood.signal(SIGTERM);
    return running.brood.wait_exit(0ms).has_value();
  });

  BOOST_TEST(ended, running.brood.log_tail());
  BOOST_TEST(running.logs("to=killing", 0ms), running.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(signals_of_later_versions_do_not_end_the_supervisor) {
  Running running;
  for (const int signal : {SIGUSR2, SIGPIPE}) running.brood.signal(signal);
  BOOST_TEST(running.performs(1));
  BOOST_TEST(!running.brood.wait_exit(0ms).has_value());
  running.brood.term();
  BOOST_TEST(running.brood.wait_exit().value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(a_dump_names_the_function_of_every_running_job_and_disturbs_none) {
  Running running({.workers = 2});
  enqueue(running.redis, {payload_text("Stubborn", "[60000]", 1, patient), payload_text("PoliteLoop", "[60000]", 2)});
  BOOST_REQUIRE(running.logs("class=Stubborn"));
  BOOST_REQUIRE(running.logs("class=PoliteLoop"));

  // A job that is only about to be called is not in its function yet.
  const auto names_all = [&] {
    running.brood.signal(SIGTTIN);
    return running.logs("Stubborn::perform", 5s) && running.logs("PoliteLoop::perform", 5s);
  };
  BOOST_TEST(eventually(names_all, 30s), running.brood.log_tail());
  BOOST_TEST(eventually([&] { return running.brood.workers().size() == 2U; }));  // the stacks' writer has ended
  BOOST_TEST(running.redis.size_of("retry") == 0U);
  BOOST_TEST(jobs_in_flight(running.redis) == 2U);
}

// The seccomp filter refuses such a signal (see the tests of the shield).  This is the second line of defence.
BOOST_AUTO_TEST_CASE(a_job_cannot_stop_its_supervisor_where_no_filter_keeps_it_from_trying) {
  Running running({.workers = 1, .config = "[worker]\nseccomp = false\n"});
  for (const int signal : {SIGTERM, SIGINT, SIGTSTP}) {
    enqueue(running.redis, {payload_text("TermSupervisor", "[" + std::to_string(signal) + "]", signal)});
    BOOST_TEST(running.performs(signal), running.brood.log_tail());
  }
  BOOST_TEST(running.logs("event=signal_from_a_job_ignored"));
  BOOST_TEST(!running.logs("event=phase", 0ms), running.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(what_a_crashed_job_left_running_is_killed) {
  Running running;
  const std::string path = running.directory / "left";
  enqueue(running.redis, {payload_text("LeaveChild", "[\"" + path + "\"]")});
  const pid_t left = running.pid_written_to(path);
  BOOST_REQUIRE(left > 0);

  BOOST_TEST(eventually([&] { return !process_exists(left); }, 20s), running.brood.log_tail());
  BOOST_TEST(eventually([&] { return running.redis.size_of("retry") == 1; }, 20s), running.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_worker_that_writes_garbage_into_its_control_pipe_is_killed_and_its_job_charged) {
  Running running;
  const pid_t worker = running.brood.workers().at(0);
  enqueue(running.redis, {payload_text("Babble", R"(["some rubbish"])")});

  BOOST_TEST(running.logs("event=worker_broke_protocol", 20s), running.brood.log_tail());
  BOOST_TEST(eventually([&] { return !process_exists(worker); }));
  BOOST_TEST(eventually([&] { return running.redis.size_of("retry") == 1; }, 20s), running.brood.log_tail());
  BOOST_TEST(running.performs(1), running.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_worker_that_reports_ready_without_end_does_no_harm) {
  Running running;
  enqueue(running.redis, {payload_text("Babble", "[\"" + std::string(100'000, 'R') + "\"]")});
  BOOST_REQUIRE(running.logs("class=Babble"));
  running.brood.signal(SIGTTIN);
  BOOST_TEST(running.logs("event=dump"), running.brood.log_tail());
  BOOST_TEST(eventually([&] { return running.brood.workers().size() == 1U; }));
  BOOST_TEST(!running.logs("event=worker_broke_protocol", 0ms));
}

// Its supervisor then expects an incarnation that the worker never took.  The list is found by its field instead.
BOOST_AUTO_TEST_CASE(a_worker_that_asks_for_incarnations_it_does_not_need_loses_nothing) {
  Running running;
  const pid_t worker = running.brood.workers().at(0);
  enqueue(running.redis, {payload_text("Babble", R"(["IIIII"])")});
  const auto begun = [&] {
    int times = 0;
    const std::string log = running.brood.log(), wanted = "class=Babble";
    for (std::size_t at = log.find(wanted); at != std::string::npos; at = log.find(wanted, at + 1))
      times += log.rfind("event=job_started", at) > log.rfind('\n', at);
    return times;
  };
  BOOST_REQUIRE(eventually([&] { return begun() == 1; }));

  kill(worker, SIGKILL);

  BOOST_TEST(eventually([&] { return begun() == 2 || running.redis.size_of("retry") == 1; }, 40s),
             running.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(workers_of_a_killed_supervisor_finish_settle_and_exit) {
  Running running({.workers = 2});
  enqueue_ledger_jobs(running.redis, running.ledger.path(), 5, 6'000);
  BOOST_REQUIRE(eventually([&] { return running.ledger.begun().size() == 2; }, 20s));
  const std::vector<pid_t> workers = running.brood.workers();

  running.brood.kill9();

  for (const pid_t worker : workers) BOOST_TEST(eventually([&] { return !process_exists(worker); }));
  BOOST_TEST(running.ledger.begun().size() == 2U);
  BOOST_TEST(running.ledger.has_done(2));
  BOOST_TEST(jobs_in_flight(running.redis) == 0U);
  BOOST_TEST(running.redis.size_of("queue:default") == 3U);
}

BOOST_AUTO_TEST_CASE(an_orphan_that_does_not_end_is_gone_after_the_shutdown_timeout) {
  Running running({.workers = 1, .shutdown_timeout = "2"});
  enqueue(running.redis, {payload_text("Stubborn", "[60000]", 1, patient)});
  BOOST_REQUIRE(running.logs("class=Stubborn"));
  const pid_t worker = running.brood.workers().at(0);
  const auto start = std::chrono::steady_clock::now();

  running.brood.kill9();

  BOOST_TEST(eventually([&] { return !process_exists(worker); }, 20s));
  const auto lived = std::chrono::steady_clock::now() - start;
  BOOST_TEST((lived > 900ms));
  BOOST_TEST((lived < 10s));
  BOOST_TEST(jobs_in_flight(running.redis) == 1U);  // the next start gives it back
}
