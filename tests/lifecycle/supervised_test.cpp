#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <brood/batch.hpp>
#include <brood/testing.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/brood_process.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;
using testing::Outcome;
using testing::Supervised;
using testing::SupervisedOptions;

BOOST_TEST_DONT_PRINT_LOG_VALUE(Outcome::Kind)

namespace {

SupervisedOptions with_examples(SupervisedOptions options = {}) {
  options.libraries = {BROOD_BINARY_DIR "/worker/examples/libexamples.so"};
  return options;
}

std::string enqueue(Supervised& brood, const Push& job) { return brood.client().push(job); }

bool holds(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

// The process that guards the supervisor, and ends with the test.
pid_t guardian_of(const Supervised& brood) {
  const std::string log = brood.log();
  const std::size_t event = log.find(" event=supervisor_started");
  const std::size_t pid = log.rfind("pid=", event);
  if (event == log.npos) return -1;
  std::ifstream status("/proc/" + std::to_string(std::stoi(log.substr(pid + 4))) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("PPid:")) return std::stoi(line.substr(5));
  }
  return -1;
}

// The guardian and all its descendants.
std::vector<pid_t> family_of(pid_t guardian) {
  std::vector<pid_t> family{guardian};
  for (std::size_t i = 0; i < family.size(); ++i) {
    for (const pid_t child : children_of(family[i])) family.push_back(child);
  }
  return family;
}

bool somebody_lives(const std::vector<pid_t>& processes) {
  return std::any_of(processes.begin(), processes.end(), process_exists);
}

constexpr std::size_t all_of_them = 5;  // guardian, supervisor, two workers, Redis; others come and go

}  // namespace

BOOST_AUTO_TEST_CASE(a_batch_has_its_callback) {
  Supervised brood(with_examples());
  Batch batch(brood.client());
  const std::string jid = "0123456789abcdef01234567";
  batch.on(BatchEvent::success, {.job_class = "Greet", .args = R"(["all"])", .jid = jid});
  batch.push([](BatchJobs& jobs) { jobs.push({.job_class = "Greet", .args = R"(["Ann"])"}); });
  BOOST_REQUIRE(eventually([&] { return holds(brood.log(), "jid=" + jid); }, 30s));
  BOOST_TEST(brood.wait_for(jid).text() == "succeeded after 1 run");
}

BOOST_AUTO_TEST_CASE(a_job_that_succeeds) {
  Supervised brood(with_examples());
  const Outcome outcome =
      brood.wait_for(enqueue(brood, {.job_class = "Greet", .args = R"(["Ann"])", .queue = "of_its_own"}));
  BOOST_TEST(outcome.kind == Outcome::Kind::succeeded);
  BOOST_TEST(outcome.text() == "succeeded after 1 run");
  BOOST_TEST(!outcome.entry.has_value());
  BOOST_TEST(holds(brood.log(), "Hello, Ann!"));
}

BOOST_AUTO_TEST_CASE(a_job_that_fails_is_retried_and_may_run_again_at_once) {
  Supervised brood(with_examples());
  const std::string jid = enqueue(brood, {.job_class = "FailOnce", .args = "[\"" + brood.directory() + "/made\"]"});
  const Outcome first = brood.wait_for(jid);
  BOOST_TEST(first.kind == Outcome::Kind::retried, first.text());
  BOOST_TEST(first.error_class == "std::runtime_error");
  BOOST_TEST(!first.message.empty());
  BOOST_TEST(!first.crash.has_value());
  BOOST_REQUIRE(first.entry.has_value());
  BOOST_TEST(first.entry->retry_count.value() == 0);

  brood.run_now(jid);
  const Outcome second = brood.wait_for(jid);
  BOOST_TEST(second.text() == "succeeded after 2 runs");
  BOOST_CHECK_THROW(brood.run_now(jid), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_job_that_may_not_be_tried_again_is_dead) {
  Supervised brood(with_examples());
  const Outcome outcome =
      brood.wait_for(enqueue(brood, {.job_class = "Fail", .args = R"(["no such \"picture\"\nat all"])", .retry = 0}));
  BOOST_TEST(outcome.kind == Outcome::Kind::dead, outcome.text());
  BOOST_TEST(outcome.message == "no such \"picture\"\nat all");
  BOOST_TEST(brood.api().dead().size() == 1);
}

BOOST_AUTO_TEST_CASE(a_discarded_job) {
  Supervised brood(with_examples());
  const Outcome by_hook =
      brood.wait_for(enqueue(brood, {.job_class = "Discarded", .args = R"(["no such \"picture\"\nat all"])"}));
  BOOST_TEST(by_hook.kind == Outcome::Kind::discarded, by_hook.text());
  BOOST_TEST(by_hook.error_class == "std::runtime_error");
  BOOST_TEST(by_hook.message == "no such \"picture\"\nat all");

  const Outcome without_retries = brood.wait_for(enqueue(brood, {.job_class = "Segfault", .retry = false}));
  BOOST_TEST(without_retries.kind == Outcome::Kind::discarded, without_retries.text());
  BOOST_REQUIRE(without_retries.crash.has_value());
  BOOST_TEST(without_retries.crash->signal == "SIGSEGV");
  BOOST_TEST(!without_retries.backtrace.empty());
}

BOOST_AUTO_TEST_CASE(a_crash_with_its_stack) {
  Supervised brood(with_examples());
  const Outcome outcome = brood.wait_for(enqueue(brood, {.job_class = "Segfault"}));
  BOOST_TEST(outcome.kind == Outcome::Kind::retried, outcome.text());
  BOOST_TEST(outcome.error_class == "SIGSEGV");
  BOOST_REQUIRE(outcome.crash.has_value());
  BOOST_TEST(outcome.crash->signal == "SIGSEGV");
  BOOST_TEST(!outcome.crash->code.empty());
  BOOST_TEST(outcome.crash->fingerprint.size() == 12);
  BOOST_TEST(holds(outcome.crash->top_frame, "Segfault::perform"), outcome.crash->top_frame);
  BOOST_TEST(std::any_of(outcome.backtrace.begin(), outcome.backtrace.end(),
                         [](const std::string& frame) { return holds(frame, "Segfault::perform"); }));
}

BOOST_AUTO_TEST_CASE(a_timeout) {
  Supervised brood(with_examples({.config = "[worker]\ntimeout_grace = \"5s\"\n"}));
  const Outcome outcome =
      brood.wait_for(enqueue(brood, {.job_class = "Stubborn", .args = "[60000]", .members = {{"timeout", "0.1"}}}));
  BOOST_TEST(outcome.kind == Outcome::Kind::retried, outcome.text());
  BOOST_TEST(outcome.error_class == "JobTimeout");
  BOOST_REQUIRE(outcome.crash.has_value());
  BOOST_TEST(!outcome.backtrace.empty());
}

BOOST_AUTO_TEST_CASE(a_killed_worker) {
  Supervised brood(with_examples());
  const std::string jid = enqueue(brood, {.job_class = "Sleep", .args = "[60000]"});
  const int worker = brood.worker_of(jid);
  BOOST_TEST(process_exists(worker));
  brood.kill_worker_of(jid);
  const Outcome outcome = brood.wait_for(jid);
  BOOST_TEST(outcome.kind == Outcome::Kind::retried, outcome.text());
  BOOST_TEST(outcome.error_class == "SIGKILL");
  BOOST_REQUIRE(outcome.crash.has_value());
  BOOST_TEST(outcome.crash->top_frame == "");
  BOOST_TEST(!process_exists(worker));
}

BOOST_AUTO_TEST_CASE(waiting_until_nothing_is_left_to_do) {
  Supervised brood(with_examples());
  for (int i = 0; i < 20; ++i)
    enqueue(brood, {.job_class = "Greet", .args = R"(["all"])", .queue = i % 2 == 0 ? "even" : "odd"});
  brood.wait_until_idle();
  BOOST_TEST(brood.api().stats().processed + brood.api().stats().enqueued <= 20);
  for (const QueueSummary& queue : brood.api().queue_summaries()) BOOST_TEST(queue.size == 0);
}

BOOST_AUTO_TEST_CASE(a_wait_that_takes_too_long_reports_the_place_of_the_job_and_the_log) {
  Supervised brood(with_examples({.workers = 1}));
  const auto said = [](const std::string& part) {
    return [part](const testing::TimedOut& timed_out) {
      BOOST_TEST_MESSAGE(timed_out.what());
      return holds(timed_out.what(), part) && holds(timed_out.what(), "event=ready");
    };
  };
  const std::string later =
      brood.client().push({.job_class = "Greet", .args = R"(["Ann"])", .at = std::chrono::system_clock::now() + 1h});
  brood.set_patience(50ms);
  BOOST_CHECK_EXCEPTION(brood.wait_for("none"), testing::TimedOut, said("job none is nowhere"));
  BOOST_CHECK_EXCEPTION(brood.wait_for(later), testing::TimedOut, said("stayed in the schedule"));
  brood.set_patience(30s);
  brood.run_now(later);
  BOOST_TEST(brood.wait_for(later).kind == Outcome::Kind::succeeded);

  const std::string long_one = enqueue(brood, {.job_class = "Sleep", .args = "[60000]"});
  const std::string behind = enqueue(brood, {.job_class = "Greet", .args = R"(["Ann"])"});
  brood.worker_of(long_one);
  brood.set_patience(50ms);
  BOOST_CHECK_EXCEPTION(brood.wait_for(long_one), testing::TimedOut, said("did not end"));
  BOOST_CHECK_EXCEPTION(brood.wait_for(behind), testing::TimedOut, said("stayed in its queue"));
  BOOST_CHECK_EXCEPTION(brood.worker_of(behind), testing::TimedOut, said("did not run"));
  BOOST_CHECK_EXCEPTION(brood.wait_until_idle(), testing::TimedOut, said("2 jobs still wait or run"));
}

BOOST_AUTO_TEST_CASE(a_failed_start_reports_its_reason) {
  BOOST_CHECK_EXCEPTION(Supervised({.libraries = {"/nonexistent/libjobs.so"}}), std::runtime_error,
                        [](const std::runtime_error& error) {
                          BOOST_TEST_MESSAGE(error.what());
                          return holds(error.what(), "status 78") && holds(error.what(), "/nonexistent/libjobs.so");
                        });
  BOOST_CHECK_EXCEPTION(Supervised({.program = "/nonexistent/brood"}), std::invalid_argument,
                        [](const std::invalid_argument& error) { return holds(error.what(), "/nonexistent/brood"); });
}

BOOST_AUTO_TEST_CASE(a_missing_redis_server_is_reported_at_once) {
  BOOST_CHECK_EXCEPTION(Supervised{with_examples({.environment = {{"PATH", "/nonexistent"}}})}, std::runtime_error,
                        [](const std::runtime_error& error) { return holds(error.what(), "needs a redis-server"); });
}

BOOST_AUTO_TEST_CASE(the_environment_names_the_program) {
  setenv("BROOD_PROGRAM", "/nonexistent/of_the_environment", 1);
  BOOST_CHECK_EXCEPTION(Supervised{with_examples()}, std::invalid_argument,
                        [](const std::invalid_argument& error) { return holds(error.what(), "BROOD_PROGRAM"); });
  setenv("BROOD_PROGRAM", BROOD_BINARY_DIR "/bin/brood", 1);
  Supervised brood(with_examples());
  unsetenv("BROOD_PROGRAM");
}

BOOST_AUTO_TEST_CASE(a_stop_is_in_order_and_the_end_leaves_nothing) {
  std::string directory;
  std::vector<pid_t> family;
  {
    Supervised brood(with_examples());
    directory = brood.directory();
    family = family_of(guardian_of(brood));
    BOOST_TEST(family.size() >= all_of_them);
    brood.stop();
    BOOST_TEST(holds(brood.log(), "event=supervisor_stopped exit_status=0"));
    BOOST_CHECK_THROW(brood.wait_for("none"), std::runtime_error);
  }
  BOOST_TEST(!std::filesystem::exists(directory));
  BOOST_TEST(!somebody_lives(family));
}

BOOST_AUTO_TEST_CASE(the_end_waits_for_no_job_and_leaves_nothing) {
  std::string directory;
  std::vector<pid_t> family;
  {
    Supervised brood(with_examples());
    directory = brood.directory();
    brood.worker_of(enqueue(brood, {.job_class = "Sleep", .args = "[60000]"}));
    family = family_of(guardian_of(brood));
  }
  BOOST_TEST(!std::filesystem::exists(directory));
  BOOST_TEST(!somebody_lives(family));
}

BOOST_AUTO_TEST_CASE(several_run_at_once) {
  Supervised one(with_examples({.workers = 1})), other(with_examples({.workers = 1}));
  const std::string jid = enqueue(one, {.job_class = "Greet", .args = R"(["one"])"});
  enqueue(other, {.job_class = "Greet", .args = R"(["other"])"});
  BOOST_TEST(one.wait_for(jid).kind == Outcome::Kind::succeeded);
  other.wait_until_idle();
  BOOST_TEST(holds(other.log(), "Hello, other!"));
  BOOST_TEST(!holds(other.log(), "Hello, one!"));
}

BOOST_AUTO_TEST_CASE(a_forked_child_that_ends_takes_nothing_along) {
  auto brood = std::make_unique<Supervised>(with_examples({.workers = 1}));
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    brood.reset();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  BOOST_TEST(brood->wait_for(enqueue(*brood, {.job_class = "Greet", .args = R"(["Ann"])"})).kind ==
             Outcome::Kind::succeeded);
}

// A thread has started it, and another child has inherited all descriptors and lives on.
BOOST_AUTO_TEST_CASE(kill_9_of_the_test_program_leaves_nothing) {
  const TemporaryDirectory here;
  const pid_t test = fork();
  BOOST_REQUIRE(test >= 0);
  if (test == 0) {
    std::thread([&] {
      Supervised brood(with_examples());
      const pid_t heir = fork();
      if (heir == 0) {
        for (;;) pause();
      }
      const std::string jid = enqueue(brood, {.job_class = "Sleep", .args = "[60000]"});
      brood.worker_of(jid);
      here.write("heir", std::to_string(heir));
      here.write("guardian", std::to_string(guardian_of(brood)));
      here.write("directory", brood.directory());
      for (;;) pause();
    }).join();
    _exit(1);
  }
  const auto read = [&](const char* name) {
    std::string word;
    std::ifstream(here / name) >> word;
    return word;
  };
  BOOST_REQUIRE(eventually([&] { return !read("directory").empty(); }, 30s));
  const std::string directory = read("directory");
  const std::vector<pid_t> family = family_of(std::stoi(read("guardian")));
  BOOST_TEST(family.size() >= all_of_them);

  ::kill(test, SIGKILL);
  waitpid(test, nullptr, 0);

  BOOST_TEST(eventually([&] { return !std::filesystem::exists(directory) && !somebody_lives(family); }, 30s));
  ::kill(std::stoi(read("heir")), SIGKILL);
}
