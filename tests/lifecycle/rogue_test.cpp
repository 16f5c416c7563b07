#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string rogues = BROOD_BINARY_DIR "/tests/job_libraries/librogue_jobs.so";
const std::string examples = BROOD_BINARY_DIR "/worker/examples/libexamples.so";

BroodOptions workers(int count) { return {.workers = count, .libraries = {rogues, examples}, .shutdown_timeout = "5"}; }

std::string quoted(const std::string& text) { return "[\"" + text + "\"]"; }

std::string jid(long number) {
  char digits[25];
  std::snprintf(digits, sizeof digits, "%024lx", static_cast<unsigned long>(number));
  return digits;
}

bool logged(const BroodProcess& brood, const std::string& text) { return brood.log().find(text) != std::string::npos; }

// Including zombies.
std::size_t children_of_any_state(pid_t parent) {
  const std::string list =
      text_of_file("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  return static_cast<std::size_t>(std::count(list.begin(), list.end(), ' '));
}

std::size_t descriptors_of(pid_t pid) {
  const std::filesystem::directory_iterator fds("/proc/" + std::to_string(pid) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(fds), end(fds)));
}

// Checks that good jobs are performed beside and after the test's actions, and that the supervisor is still the same.
void require_service(RedisServer& redis, BroodProcess& brood, const TemporaryDirectory& directory, int jobs = 50) {
  const Ledger ledger(directory / "ledger");
  enqueue_ledger_jobs(redis, ledger.path(), jobs);
  BOOST_TEST(eventually([&] { return ledger.has_done(static_cast<std::size_t>(jobs)); }, 20s), brood.log_tail());
  BOOST_TEST(ledger.judge(jobs).doubled.empty());
  BOOST_TEST(!brood.wait_exit(10ms).has_value());
}

void require_stop(BroodProcess& brood) {
  brood.term();
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 0, brood.log_tail());
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_job_prints_is_logged_line_by_line_with_jid_and_class) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, workers(1));
  for (int i = 1; i <= 20; ++i) enqueue(redis, {payload_text("PrintLines", quoted("p" + std::to_string(i)), i)});
  for (int i = 1; i <= 20; ++i) {
    for (const std::string way : {"cout", "printf", "cerr", "write", "child"}) {
      const std::string line = "jid=" + jid(i) + " class=PrintLines text=\"p" + std::to_string(i) + " " + way + "\"\n";
      BOOST_TEST(eventually([&] { return logged(brood, line); }), line << brood.log_tail());
    }
  }
  BOOST_TEST(times_logged(brood, "job_output") == 100u);
  require_service(redis, brood, directory);
  BOOST_TEST(times_logged(brood, "job_output") == 100u);
  require_stop(brood);
}

BOOST_AUTO_TEST_CASE(escape_sequences_and_forged_lines_are_framed) {
  RedisServer redis;
  BroodProcess brood(redis, workers(1));
  // ESC ] 0 ; x BEL, NUL, 0xff, newline, `event=worker_crashed`, newline, `{"event":"x"}`, newline
  enqueue(redis, {payload_text("PrintRaw",
                               quoted("1b5d303b780700ff0a6576656e743d776f726b65725f637261736865640a7b226576656e74223a"
                                      "2278227d0a"))});
  BOOST_TEST(eventually([&] { return logged(brood, R"(text="\x1b]0;x\x07\x00\xff")"); }), brood.log_tail());
  BOOST_TEST(eventually([&] { return logged(brood, R"(class=PrintRaw text="event=worker_crashed")"); }));
  BOOST_TEST(eventually([&] { return logged(brood, R"(text="{\"event\":\"x\"}")"); }));
  const std::string log = brood.log();
  for (const char c : log) BOOST_REQUIRE((c == '\n' || (c >= ' ' && c <= '~')));
  require_stop(brood);
}

BOOST_AUTO_TEST_CASE(the_last_words_before_a_crash_are_logged) {
  RedisServer redis;
  BroodProcess brood(redis, workers(1));
  for (int i = 1; i <= 10; ++i)
    enqueue(redis, {payload_text("PrintAndCrash", quoted("w" + std::to_string(i)), i, R"("retry":0)")});
  BOOST_TEST(eventually([&] { return redis.size_of("dead") == 10; }, 20s), brood.log_tail());
  for (int i = 1; i <= 10; ++i) {
    const std::string begin = "jid=" + jid(i) + " class=PrintAndCrash text=";
    BOOST_TEST(logged(brood, begin + "w" + std::to_string(i) + "\n"), brood.log_tail());
    BOOST_TEST(logged(brood, begin + "\"w" + std::to_string(i) + " cut off\"\n"), brood.log_tail());
  }
  require_stop(brood);
}

BOOST_AUTO_TEST_CASE(jobs_that_print_for_ever_hold_up_no_other_and_do_not_flood_the_log) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, workers(3));
  enqueue(redis, {payload_text("PrintForever", "[3000]", 1), payload_text("PrintForever", "[3000]", 2)});
  BOOST_TEST_REQUIRE(eventually([&] { return times_logged(brood, "job_output_dropped") > 0; }, 20s), brood.log_tail());

  require_service(redis, brood, directory, 500);

  BOOST_TEST(eventually([&] { return jobs_in_flight(redis) == 0; }, 20s));
  BOOST_TEST(times_logged(brood, "job_output") < 30'000u);
  BOOST_TEST(sum_logged(brood, "job_output_dropped", "lines") > 1000);
  BOOST_TEST(times_logged(brood, "log_lines_dropped") == 0u);
  require_stop(brood);
}

BOOST_AUTO_TEST_CASE(a_job_that_closes_its_output_takes_it_from_no_later_job) {
  RedisServer redis;
  BroodProcess brood(redis, workers(1));
  enqueue(redis, {payload_text("CloseStdout", "[]", 1), payload_text("PrintLines", quoted("after"), 2)});
  BOOST_TEST(eventually([&] { return logged(brood, "text=\"after child\""); }), brood.log_tail());

  // This worker cannot get its output back, so it leaves: it does not receive its supervisor's orders either.
  const pid_t worker = brood.workers().at(0);
  enqueue(redis, {payload_text("CloseAllDescriptors", "[]", 3)});
  BOOST_TEST(eventually([&] { return !process_exists(worker); }, 20s), brood.log_tail());
  enqueue(redis, {payload_text("PrintLines", quoted("again"), 4)});
  BOOST_TEST(eventually([&] { return logged(brood, "text=\"again child\""); }, 20s), brood.log_tail());
  BOOST_TEST(redis.size_of("retry") == 0u, brood.log_tail());
  require_stop(brood);
}

BOOST_AUTO_TEST_CASE(a_daemon_lives_as_long_as_the_worker_whose_job_left_it) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, workers(1));
  enqueue(redis, {payload_text("DaemoniseAndReturn", quoted(directory / "pid"), 1)});
  require_service(redis, brood, directory);
  BOOST_REQUIRE(eventually([&] { return text_of_file(directory / "pid").ends_with('\n'); }));
  const pid_t daemon = std::stoi(text_of_file(directory / "pid"));
  BOOST_TEST(process_exists(daemon));

  kill(brood.workers().at(0), SIGKILL);

  BOOST_TEST(eventually([&] { return !process_exists(daemon); }), brood.log_tail());
  BOOST_TEST(eventually([&] { return times_logged(brood, "strays_killed") == 1u; }), brood.log_tail());
  require_stop(brood);
}

BOOST_AUTO_TEST_CASE(no_daemon_outlives_the_crash_of_its_job_or_the_stop_of_its_supervisor) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, workers(1));
  enqueue(redis, {payload_text("DaemoniseAndCrash", quoted(directory / "crashed"), 1)});
  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1; }, 20s), brood.log_tail());
  enqueue(redis, {payload_text("DaemoniseAndReturn", quoted(directory / "returned"), 2)});
  BOOST_REQUIRE(eventually([&] { return text_of_file(directory / "returned").ends_with('\n'); }, 20s));
  BOOST_REQUIRE(eventually([&] { return jobs_in_flight(redis) == 0; }));

  require_stop(brood);

  for (const char* file : {"crashed", "returned"}) {
    const std::string pid = text_of_file(directory / file);
    BOOST_TEST((pid.empty() || eventually([&] { return !process_exists(std::stoi(pid)); })), file << ": " << pid);
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_fork_bombs) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, workers(2));
  BOOST_REQUIRE(brood.wait_ready());
  const std::size_t descriptors = descriptors_of(brood.pid());
  enqueue(redis, {payload_text("ForkBomb", "[300,\"" + (directory / "fork") + "\"]", 1, R"("retry":1)"),
                  payload_text("SetsidBomb", "[150,\"" + (directory / "setsid") + "\"]", 2, R"("retry":1)")});

  require_service(redis, brood, directory, 200);

  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 2; }, 20s), brood.log_tail());
  BOOST_TEST(eventually([&] { return children_of_any_state(brood.pid()) == 2; }, 20s), brood.log_tail());
  BOOST_TEST(eventually([&] { return brood.workers().size() == 2; }));
  // Some connections to Redis open when they are first needed.
  BOOST_TEST(eventually([&] { return descriptors_of(brood.pid()) <= descriptors + 3; }));
  require_stop(brood);
}

BOOST_AUTO_TEST_CASE(a_worker_reaps_the_children_that_its_jobs_forgot) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, workers(1));
  for (int i = 1; i <= 5; ++i) enqueue(redis, {payload_text("LeaveZombies", "[50]", i)});
  require_service(redis, brood, directory);
  const pid_t worker = brood.workers().at(0);
  const auto no_zombies = [&] {
    enqueue(redis, {payload_text("LeaveZombies", "[0]", 100)});
    return children_of_any_state(worker) == 0;
  };
  BOOST_TEST(eventually(no_zombies), brood.log_tail());
  require_stop(brood);
}

BOOST_AUTO_TEST_CASE(a_job_that_blocks_every_signal_is_killed_at_the_stop) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodOptions options = workers(1);
  options.shutdown_timeout = "1";
  BroodProcess brood(redis, options);
  enqueue(redis, {payload_text("BlockAllSignals", quoted(directory / "pid"))});
  BOOST_REQUIRE(eventually([&] { return !text_of_file(directory / "pid").empty(); }, 20s));
  require_stop(brood);
  BOOST_TEST(redis.size_of("queue:default") == 1u);
}

BOOST_AUTO_TEST_CASE(megabytes_on_the_control_pipe_end_the_worker_and_nothing_else) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, workers(2));
  enqueue(redis, {payload_text("FloodControlPipe", "[7000000]", 1, R"("retry":1)")});
  require_service(redis, brood, directory, 200);
  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1; }, 20s), brood.log_tail());
  BOOST_TEST(times_logged(brood, "worker_broke_protocol") == 1u);
  require_stop(brood);
}

BOOST_AUTO_TEST_CASE(each_stop_of_a_worker_is_logged_once) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, workers(1));
  enqueue(redis, {payload_text("StopSelf", quoted(directory / "pid"), 7)});
  BOOST_TEST_REQUIRE(eventually([&] { return times_logged(brood, "worker_stopped") == 1u; }, 20s), brood.log_tail());
  BOOST_TEST(logged(brood, "jid=" + jid(7)));
  kill(std::stoi(text_of_file(directory / "pid")), SIGCONT);
  BOOST_TEST(eventually([&] { return text_of_file(directory / "pid").ends_with("continued\n"); }));
  require_service(redis, brood, directory);
  BOOST_TEST(times_logged(brood, "worker_stopped") == 1u);
  require_stop(brood);
}

BOOST_AUTO_TEST_CASE(jobs_that_kill_their_parent_or_all_processes_are_refused) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, workers(1));
  enqueue(redis, {payload_text("KillParent", "[0,\"" + (directory / "probe") + "\"]", 1)});
  BOOST_REQUIRE(eventually([&] { return text_of_file(directory / "probe").ends_with('\n'); }, 20s));
  // Without the shield the next two would end far more than this test.
  BOOST_REQUIRE(text_of_file(directory / "probe") == "Operation not permitted\n");

  enqueue(redis, {payload_text("KillParent", "[9,\"" + (directory / "parent") + "\"]", 2),
                  payload_text("KillEverything", quoted(directory / "everything"), 3)});

  for (const char* file : {"parent", "everything"}) {
    BOOST_TEST(eventually([&] { return text_of_file(directory / file).ends_with('\n'); }, 20s), file);
    BOOST_TEST(text_of_file(directory / file) == "Operation not permitted\n", file);
  }
  require_service(redis, brood, directory);
  require_stop(brood);
}

BOOST_AUTO_TEST_CASE(a_job_that_kills_its_group_kills_its_worker_alone) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, workers(2));
  enqueue(redis, {payload_text("KillGroup", "[]", 1, R"("retry":1)")});
  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1; }, 20s), brood.log_tail());
  require_service(redis, brood, directory);
  require_stop(brood);
}

BOOST_AUTO_TEST_CASE(a_scribbled_scoreboard_stops_neither_output_nor_service) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, workers(2));
  enqueue(redis, {payload_text("ScribbleScoreboard", "[]", 1)});
  require_service(redis, brood, directory, 20);
  enqueue(redis, {payload_text("PrintLines", quoted("after"), 2)});
  BOOST_TEST(eventually([&] { return logged(brood, "text=\"after child\""); }, 20s), brood.log_tail());
  require_stop(brood);
}
