#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string hostile = BROOD_BINARY_DIR "/tests/job_libraries/libhostile_jobs.so";
const std::string examples = BROOD_BINARY_DIR "/worker/examples/libexamples.so";

BroodOptions one_worker(std::string shutdown_timeout = "5") {
  return {.workers = 1, .libraries = {hostile, examples}, .shutdown_timeout = std::move(shutdown_timeout)};
}

std::string quoted(const std::string& text) { return "[\"" + text + "\"]"; }

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_copy_of_the_worker_that_comes_back_from_its_job_settles_nothing) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, one_worker());
  std::vector<std::string> jobs;
  for (int i = 0; i < 10; ++i)
    jobs.push_back(payload_text("ForkAndReturn", quoted(directory / ("fork" + std::to_string(i))), i + 1));
  enqueue(redis, jobs);
  enqueue_ledger_jobs(redis, ledger.path(), 100);

  BOOST_TEST(eventually([&] { return ledger.has_done(100); }, 20s), brood.log_tail());
  BOOST_TEST(eventually([&] { return jobs_in_flight(redis) == 0; }));

  const Ledger::Verdict verdict = ledger.judge(100);
  BOOST_TEST(verdict.doubled.empty());
  BOOST_TEST(verdict.overlapped.empty());
  BOOST_TEST(redis.size_of("retry") == 0U);
  BOOST_TEST(brood.workers().size() == 1U);
  BOOST_TEST(count(brood.log(), "job_done") == 110, brood.log_tail());
  BOOST_TEST(brood.log().find("supervisor_is_gone") == std::string::npos, brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_job_that_stops_itself_does_not_hold_up_a_stop) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, one_worker("1"));
  enqueue(redis, {payload_text("StopItself", quoted(directory / "pid"))});
  BOOST_REQUIRE(eventually([&] { return !text_of_file(directory / "pid").empty(); }, 20s));

  brood.term();

  BOOST_TEST(brood.wait_exit(10s).value_or(-1) == 0);
  BOOST_TEST(redis.size_of("queue:default") == 1U);
}

BOOST_AUTO_TEST_CASE(a_job_that_closes_every_descriptor_is_done_once_and_its_worker_replaced_or_mended) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, one_worker());
  enqueue(redis, {payload_text("CloseEverything", "[]")});
  enqueue_ledger_jobs(redis, ledger.path(), 20);

  BOOST_TEST(eventually([&] { return ledger.has_done(20); }, 20s), brood.log_tail());

  BOOST_TEST(redis.size_of("retry") == 0U, brood.log_tail());
  BOOST_TEST(ledger.judge(20).doubled.empty());
  BOOST_TEST(eventually([&] { return jobs_in_flight(redis) == 0; }));
}

BOOST_AUTO_TEST_CASE(a_job_that_exits_with_0_is_charged) {
  RedisServer redis;
  BroodProcess brood(redis, one_worker());
  enqueue(redis, {payload_text("ExitWithZero", "[]")});

  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1; }, 20s), brood.log_tail());
  BOOST_TEST(redis.zrange("retry").front().first.find("UnexpectedExit") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_next_job_finds_the_worker_as_the_first_did) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, one_worker());
  enqueue(redis, {payload_text("LookAround", quoted(directory / "before"), 1)});
  enqueue(redis, {payload_text("LeaveTraces", "[]", 2)});
  enqueue(redis, {payload_text("LookAround", quoted(directory / "after"), 3)});

  BOOST_REQUIRE(eventually([&] { return !text_of_file(directory / "after").empty(); }, 20s));

  BOOST_TEST(text_of_file(directory / "after") == text_of_file(directory / "before"));
}

BOOST_AUTO_TEST_CASE(an_alarm_that_a_job_left_set_does_not_end_a_later_job) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, one_worker());
  enqueue(redis, {payload_text("LeaveAlarm", "[]")});
  enqueue_ledger_jobs(redis, ledger.path(), 1, 2000);

  BOOST_TEST(eventually([&] { return ledger.has_done(1); }, 20s), brood.log_tail());
  BOOST_TEST(redis.size_of("retry") == 0U);
}

BOOST_AUTO_TEST_CASE(timers_and_limits_that_a_job_left_end_no_later_job) {
  // The limit of processor time applies to a worker that has used little of it.
  struct {
    const char *left, *arguments;
    int burnt_ms;
  } const cases[] = {{"LeaveTimer", "[]", 300},
                     {"LeaveLimit", "[0,1,false]", 1'200},  // RLIMIT_CPU, in seconds
                     {"LeaveVirtualTimer", "[1]", 300},     // ITIMER_VIRTUAL
                     {"LeaveVirtualTimer", "[2]", 300},     // ITIMER_PROF
                     {"LeaveLimit", "[7,3,false]", 0}};     // RLIMIT_NOFILE
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, one_worker());
  int number = 0;
  for (const auto& [left, arguments, burnt_ms] : cases) {
    const std::string file = directory / std::to_string(number);
    enqueue(redis, {payload_text(left, arguments, ++number)});
    enqueue(redis, {payload_text("Burn", "[\"" + file + "\"," + std::to_string(burnt_ms) + "]", 100 + number)});

    BOOST_TEST(eventually([&] { return text_of_file(file) == "burnt"; }, 20s), left << arguments << "\n"
                                                                                    << brood.log_tail());
    BOOST_TEST(redis.size_of("retry") == 0U, left << arguments);
  }
  // The stopped timer has left nothing that matters to its library.
  BOOST_TEST(count(brood.log(), "event=worker_recycled") == 1, brood.log_tail());
  BOOST_TEST(brood.log().find("reason=timers") != std::string::npos, brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_worker_whose_limit_a_job_has_lowered_for_good_is_replaced) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodOptions options = one_worker();
  if (geteuid() == 0)
    options.prefix = {"/usr/bin/setpriv", "--bounding-set=-sys_resource"};  // which could raise limits again
  BroodProcess brood(redis, options);
  enqueue(redis, {payload_text("LeaveLimit", "[7,200,true]", 1)});
  enqueue(redis, {payload_text("Burn", "[\"" + (directory / "file") + "\",0]", 2)});

  BOOST_TEST(eventually([&] { return text_of_file(directory / "file") == "burnt"; }, 20s), brood.log_tail());
  BOOST_TEST(brood.log().find("reason=limits") != std::string::npos, brood.log_tail());
  BOOST_TEST(redis.size_of("retry") == 0U);
}

BOOST_AUTO_TEST_CASE(a_scribbled_scoreboard_loses_nothing) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = 3, .libraries = {hostile, examples}, .shutdown_timeout = "5"});
  for (int i = 0; i < 3; ++i) {
    enqueue_ledger_jobs(redis, ledger.path(), 0);
    enqueue(redis, {payload_text("ScribbleOverScoreboard", "[]", 1000 + i)});
  }
  enqueue_ledger_jobs(redis, ledger.path(), 200, 1);

  BOOST_TEST(eventually([&] { return ledger.has_done(200); }, 60s), brood.log_tail());
  brood.term();
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 0, brood.log_tail());
  BOOST_TEST(ledger.judge(200).lost.empty());
}

BOOST_AUTO_TEST_CASE(a_job_cannot_stop_its_supervisor_by_term) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, one_worker());
  enqueue(redis, {payload_text("TermTheSupervisor", "[]")});
  enqueue_ledger_jobs(redis, ledger.path(), 5);

  BOOST_TEST(eventually([&] { return ledger.has_done(5); }, 20s), brood.log_tail());
  BOOST_TEST(!brood.wait_exit(300ms).has_value());
}

// timeout(1) and some container runtimes signal the process and at once its group.
BOOST_AUTO_TEST_CASE(two_terms_of_one_sender_at_once_are_one_wish) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, one_worker("20"));
  enqueue_ledger_jobs(redis, ledger.path(), 1, 1500);
  BOOST_REQUIRE(eventually([&] { return ledger.begun().size() == 1; }, 20s));

  // Two signals that the kernel does not merge, at about the same time.
  brood.signal(SIGSTOP);
  brood.signal(SIGTERM);
  brood.signal(SIGINT);
  brood.signal(SIGCONT);

  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 0);
  BOOST_TEST(ledger.has_done(1), brood.log_tail());
}

// A job that cannot go back to its queue must not keep other jobs in flight.
BOOST_AUTO_TEST_CASE(a_queue_of_the_wrong_type_holds_up_only_its_own_recovery) {
  RedisServer redis;
  BroodOptions options = one_worker();
  options.workers = 2;
  options.queues = {"bad", "good"};
  BroodProcess brood(redis, options);
  enqueue(redis, {payload_text("Sleep", "[60000]", 1)}, "bad");
  BOOST_REQUIRE(eventually([&] { return jobs_in_flight(redis) == 1; }, 20s));
  enqueue(redis, {payload_text("Sleep", "[60001]", 2)}, "good");
  BOOST_REQUIRE(eventually([&] { return count(brood.log(), "job_started") == 2; }, 20s));
  const std::vector<pid_t> children = children_of(brood.pid());
  brood.signal(SIGSTOP);  // so that it does not refill meanwhile
  for (const pid_t child : children) kill(child, SIGKILL);
  brood.kill9();
  redis.command({"SET", "queue:bad", "no list"});

  brood.start();

  // The new workers fetch the job as soon as it is back.
  BOOST_TEST(eventually(
                 [&] {
                   return redis.size_of("brood:processes") > 0 && count(brood.log(), "[60001]") == 0 &&
                          count(brood.log(), "job_started") == 3;
                 },
                 20s),
             brood.log_tail());
}

// A process that a job has stopped finishes nothing, and no alarm ends it.
BOOST_AUTO_TEST_CASE(a_stopped_orphan_is_ended_and_its_job_given_back, *boost::unit_test::timeout(120)) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, one_worker());
  enqueue(redis, {payload_text("StopItself", quoted(directory / "pid"))});
  BOOST_REQUIRE(eventually([&] { return !text_of_file(directory / "pid").empty(); }, 20s));
  const pid_t orphan = std::stoi(text_of_file(directory / "pid"));
  brood.kill9();

  brood.start();

  BOOST_TEST(eventually([&] { return !process_exists(orphan); }, 90s), brood.log_tail());
  BOOST_TEST(eventually([&] { return count(brood.log(), "job_started") == 2; }, 20s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(an_embedded_redis_whose_starter_is_gone_is_started_again) {
  const auto home = std::make_shared<TemporaryDirectory>();
  BroodProcess first(BroodOptions{.workers = 1, .home = home});
  const std::string socket = *home / "state" + "/redis.sock";
  BOOST_REQUIRE(eventually([&] { return first.log().find("event=ready") != std::string::npos; }, 20s));
  BOOST_REQUIRE(eventually([&] { return std::filesystem::exists(socket); }, 20s));
  std::vector<pid_t> servers = children_of(first.pid());
  std::erase_if(servers,
                [](pid_t pid) { return text_of_file("/proc/" + std::to_string(pid) + "/comm") != "redis-server\n"; });
  BOOST_REQUIRE(servers.size() == 1U);
  BroodProcess second(BroodOptions{.workers = 1, .home = home});
  BOOST_REQUIRE(eventually([&] { return second.log().find("embedded_redis_adopted") != std::string::npos; }, 20s));
  first.kill9();

  kill(servers.front(), SIGKILL);

  BOOST_TEST(eventually([&] { return count(second.log(), "event=embedded_redis_started") == 2; }, 20s),
             second.log_tail());
  BOOST_TEST(eventually([&] { return run_brood({"status"}, second.environment()).status == 0; }, 20s),
             second.log_tail());
  second.term();
  BOOST_TEST(second.wait_exit(30s).value_or(-1) == 0);
}
