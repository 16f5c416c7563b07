#include <simdjson.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <string_view>

#include "shared/base/check.hpp"
#include "shared/base/identity.hpp"
#include "shared/base/job_mark.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

CommandResult dump(const BroodProcess& brood, std::vector<std::string> arguments = {}) {
  arguments.insert(arguments.begin(), "dump");
  return run_brood(arguments, brood.environment());
}

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// A job with a longer timeout than its class, for a slow machine.
std::string stubborn(long number) { return payload_text("Stubborn", "[600000]", number, "\"timeout\":600"); }

char state_of(pid_t pid) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
    return 'R';
  return info.si_code == CLD_STOPPED ? 'T' : 'Z';
}

// A process that a scoreboard lists as a worker although it is none.  It has a worker's mark.
class FakeWorker {
 public:
  FakeWorker(Scoreboard& board, int slot, const std::function<void()>& body) : pid_(check("fork", fork())) {
    if (pid_ == 0) {
      mark_as_job(1, 1);
      body();
      board.slot(slot).ready = 1;
      for (;;) pause();
    }
    board.slot(slot).start_time = process_start_time(pid_);
    board.slot(slot).pid = pid_;
    board.slot(slot).current = -1;
    BOOST_REQUIRE(eventually([&] { return board.slot(slot).ready == 1; }));
  }
  ~FakeWorker() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_dump_shows_what_every_worker_calls_and_all_go_on) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 3});
  enqueue(redis, {stubborn(1), payload_text("PoliteLoop", "[600000]", 2)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return jobs_in_flight(redis) == 2; }, 20s), brood.log_tail());
  for (const std::string begun : {"event=ready", "class=Stubborn", "class=PoliteLoop"})
    BOOST_REQUIRE(eventually([&] { return holds(brood.log(), begun); }, 20s));
  const std::vector<pid_t> workers = brood.workers();

  for (int round = 0; round < 5; ++round) {
    // A dump omits a worker that a busy machine delays by two seconds, and shows no job that is only about to be
    // called.  So try again.
    CommandResult result;
    const auto shows_both = [&] {
      result = dump(brood);
      return result.status == 0 && holds(result.output, "Stubborn::perform()") &&
             holds(result.output, "PoliteLoop::perform(brood::Context&)");
    };
    BOOST_TEST(eventually(shows_both), result.errors << result.output);
    BOOST_TEST(holds(result.output, "\n\n1 worker without a job: "), result.output);
    // Frames beneath every job are left out.
    BOOST_TEST(!holds(result.output.substr(0, result.output.find("without a job")), "brood::run_worker"));
  }

  BOOST_TEST(brood.workers() == workers, brood.log_tail());
  BOOST_TEST(redis.size_of("retry") == 0u);
  BOOST_TEST(jobs_in_flight(redis) == 2u);
}

BOOST_AUTO_TEST_CASE(a_dump_in_json_names_worker_job_and_frames_of_the_slots_asked_for) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 2});
  enqueue(redis, {stubborn(1), stubborn(2)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return times_logged(brood, "job_started") == 2; }, 20s), brood.log_tail());

  CommandResult result;
  const auto shows_the_job = [&] {
    result = dump(brood, {"--json", "1"});
    return result.status == 0 && holds(result.output, "Stubborn::perform()");
  };
  BOOST_TEST(eventually(shows_the_job), result.output);
  simdjson::dom::parser parser;
  const simdjson::dom::element found = parser.parse(result.output);
  BOOST_TEST_REQUIRE(found["workers"].get_array().size() == 1u);
  const simdjson::dom::element worker = found["workers"].at(0);
  BOOST_TEST(worker["slot"].get_int64().value() == 1);
  BOOST_TEST(worker["trouble"].is_null());
  BOOST_TEST(std::string(worker["job"]["class"]) == "Stubborn");
  BOOST_TEST(std::string(worker["job"]["jid"]).size() == 24u);
  bool found_it = false;
  for (const simdjson::dom::element frame : worker["frames"])
    found_it = found_it || (std::string(frame["function"]) == "Stubborn::perform()" &&
                            std::string(frame["module"]) == "libexamples.so" && frame["line"].get_int64().value() > 0);
  BOOST_TEST(found_it, result.output);
  BOOST_TEST(dump(brood, {"17"}).status == 69);
}

BOOST_AUTO_TEST_CASE(a_stopped_worker_is_shown_as_stopped_and_the_others_answer) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 2});
  enqueue(redis, {stubborn(1), stubborn(2)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return times_logged(brood, "job_started") == 2; }, 20s), brood.log_tail());
  const pid_t stopped = brood.workers().at(0);
  kill(stopped, SIGSTOP);

  CommandResult result;
  const auto shows_both = [&] {
    result = dump(brood);
    return holds(result.output, "it is stopped") && holds(result.output, "Stubborn::perform()");
  };
  BOOST_TEST(eventually(shows_both), result.output);
  BOOST_TEST(result.status == 75);
  kill(stopped, SIGCONT);
  BOOST_TEST(eventually([&] { return dump(brood).status == 0; }));
}

BOOST_AUTO_TEST_CASE(a_worker_whose_job_has_taken_the_handler_away_is_not_stopped_by_the_question) {
  const TemporaryDirectory runtime;
  Scoreboard board = Scoreboard::create(runtime.path(), "host:1:aaaaaaaaaaaa", 4);
  const FakeWorker by_default(board, 0, [] { signal(SIGTTIN, SIG_DFL); });
  const FakeWorker ignores(board, 1, [] { signal(SIGTTIN, SIG_IGN); });
  const FakeWorker blocks(board, 2, [] {
    signal(SIGTTIN, [](int) {});
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
  });
  const FakeWorker silent(board, 3, [] { signal(SIGTTIN, [](int) {}); });

  const auto begun = std::chrono::steady_clock::now();
  const CommandResult result = run_brood({"dump"}, {{"RUNTIME_DIRECTORY", runtime.path()}});

  BOOST_TEST(result.status == 75);
  BOOST_TEST((std::chrono::steady_clock::now() - begun < 7s));  // waits for all of them together
  const std::size_t first = result.output.find("was not asked: its job has replaced the signal handler");
  BOOST_TEST_REQUIRE(first != std::string::npos, result.output);
  BOOST_TEST(result.output.find("was not asked", first + 1) != std::string::npos, result.output);
  BOOST_TEST(holds(result.output, "it does not answer: its job has blocked the signal"), result.output);
  BOOST_TEST(holds(result.output, "it does not answer: its state is S"), result.output);
  for (const FakeWorker* worker : {&by_default, &ignores, &blocks, &silent}) BOOST_TEST(state_of(worker->pid()) == 'R');
}

// A job can write any pid into its scoreboard, and root may signal every process.
BOOST_AUTO_TEST_CASE(a_process_that_no_supervisor_has_started_is_not_asked) {
  const TemporaryDirectory runtime;
  Scoreboard board = Scoreboard::create(runtime.path(), "host:1:aaaaaaaaaaaa", 1);
  static volatile std::sig_atomic_t asked = 0;
  const auto before = signal(SIGTTIN, [](int) { asked = 1; });
  board.slot(0).start_time = process_start_time(getpid());
  board.slot(0).pid = getpid();
  board.slot(0).ready = 1;

  const CommandResult result = run_brood({"dump"}, {{"RUNTIME_DIRECTORY", runtime.path()}});

  BOOST_TEST(holds(result.output, "was not asked: no supervisor has started it"), result.output);
  BOOST_TEST(asked == 0);
  signal(SIGTTIN, before);
}

BOOST_AUTO_TEST_CASE(without_workers_there_is_nothing_to_dump) {
  const TemporaryDirectory runtime;
  const Scoreboard empty = Scoreboard::create(runtime.path(), "host:1:aaaaaaaaaaaa", 4);
  const CommandResult result = run_brood({"dump", "--json"}, {{"RUNTIME_DIRECTORY", runtime.path()}});
  BOOST_TEST(result.status == 69);
  BOOST_TEST(result.output == "{\"workers\":[]}\n");
}
