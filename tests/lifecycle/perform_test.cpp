#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/lends_terminals.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/terminal.hpp"

using namespace brood;

namespace {

const std::string examples = BROOD_BINARY_DIR "/worker/examples/libexamples.so";
[[maybe_unused]] const std::string limited_jobs = BROOD_BINARY_DIR "/tests/job_libraries/liblimited_jobs.so";
const std::string event_jobs = BROOD_BINARY_DIR "/tests/job_libraries/libevent_jobs.so";
const std::string for_all = BROOD_BINARY_DIR "/tests/job_libraries/libfor_all.so";
const std::string foreground_jobs = BROOD_BINARY_DIR "/tests/job_libraries/libforeground_jobs.so";

// No server listens there.
const std::map<std::string, std::string> no_redis = {{"REDIS_URL", "unix:///nonexistent/redis.sock"}};

CommandResult perform(std::vector<std::string> arguments, const std::string& library = examples) {
  arguments.insert(arguments.begin(), {"perform", "-r", library});
  return run_brood(arguments, no_redis);
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

void check_holds(const std::string& text, const std::string& part) {
  BOOST_TEST(holds(text, part), "no \"" << part << "\" in:\n" << text);
}

// [commands.Sh]: a job whose argument is a script.
std::string config_with_sh(const TemporaryDirectory& directory) {
  return directory.write("brood.toml", "[commands.Sh]\nrun = [\"/bin/sh\", \"-c\", \"{0}\"]\n");
}

boost::test_tools::assertion_result gdb_is_there(boost::unit_test::test_unit_id) {
  return std::system("command -v gdb > /dev/null") == 0;
}

// The whole content of Redis, byte for byte.
std::map<std::string, std::string> everything_in(RedisServer& redis) {
  std::map<std::string, std::string> all;
  for (const std::string& key : redis.keys()) {
    const Reply dump = redis.command({"DUMP", key});
    all[key] = std::string(dump.view().text()) + " expires " + std::to_string(redis.integer({"PTTL", key}));
  }
  return all;
}

std::string failed_job(const std::string& job_class, const std::string& args, const std::string& jid) {
  return R"({"class":")" + job_class + R"(","args":)" + args + R"(,"jid":")" + jid +
         R"(","queue":"images","retry":true,"created_at":1795237318514,"failed_at":1795237319514,"retry_count":2,)"
         R"("error_class":"std::runtime_error","error_message":"out of ink"})";
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_the_job_enqueues_is_shown_and_sent_only_where_that_is_asked_for) {
  RedisServer redis;
  const std::map<std::string, std::string> environment = {{"REDIS_URL", redis.url()}};

  const CommandResult shown = run_brood({"perform", "-r", foreground_jobs, "FollowUp"}, environment);
  BOOST_TEST(shown.status == 0, shown.errors);
  check_holds(shown.errors,
              "brood: not sent to queue mail: {\"retry\":true,\"queue\":\"mail\",\"class\":\"Introduce\"");
  BOOST_TEST(redis.keys().empty());

  const CommandResult sent = run_brood({"perform", "-r", foreground_jobs, "FollowUp", "--push"}, environment);
  BOOST_TEST(sent.status == 0, sent.errors);
  BOOST_TEST(!holds(sent.errors, "not sent"), sent.errors);
  BOOST_TEST(redis.size_of("queue:mail") == 1u);
}

BOOST_AUTO_TEST_CASE(a_job_runs_without_redis_and_says_what_it_took) {
  const CommandResult result =
      perform({"Introduce", "Ada", "--jid", "0123456789abcdef01234567", "-q", "images"}, foreground_jobs);

  BOOST_TEST(result.status == 0);
  BOOST_TEST(result.output == "Ada is attempt 1 of 0123456789abcdef01234567 from images\n");
  check_holds(result.errors, "brood perform: Introduce succeeded   after ");
  check_holds(result.errors, "peak memory ");
}

BOOST_AUTO_TEST_CASE(what_a_job_logs_appears) {
  const CommandResult result = perform({"Greet", "Ada"});

  BOOST_TEST(result.status == 0);
  check_holds(result.errors, "event=job_says job=Greet");
}

BOOST_AUTO_TEST_CASE(a_failure_is_status_70_with_its_class_and_message) {
  const CommandResult result = perform({"Fail", "no such picture"});

  BOOST_TEST(result.status == 70);
  check_holds(result.errors, "brood perform: Fail failed");
  check_holds(result.errors, "  std::runtime_error: no such picture\n");
}

BOOST_AUTO_TEST_CASE(a_crash_prints_its_stack_and_ends_by_its_signal) {
  const CommandResult result = perform({"Segfault"});

  BOOST_TEST(result.status == 128 + SIGSEGV);
  check_holds(result.errors, "SIGSEGV (SEGV_MAPERR) at 0x10 in Segfault\n");
  check_holds(result.errors, "  #0 Segfault::perform() at crashes.cpp:");
  BOOST_TEST(!holds(result.errors, "ForegroundJob"));
}

BOOST_AUTO_TEST_CASE(an_overflown_stack_is_told_too) {
  const CommandResult result = perform({"DeepRecursion"});

  BOOST_TEST(result.status == 128 + SIGSEGV);
  check_holds(result.errors, "dig(int) at crashes.cpp:");
}

BOOST_AUTO_TEST_CASE(an_uncaught_exception_is_told_with_its_words) {
  const CommandResult result = perform({"ThrowUncaught"}, foreground_jobs);

  BOOST_TEST(result.status == 128 + SIGABRT);
  check_holds(result.errors, "SIGABRT in ThrowUncaught: uncaught std::runtime_error: nobody catches this\n");
}

BOOST_AUTO_TEST_CASE(a_job_that_calls_exit_has_failed) {
  const CommandResult result = perform({"Exit", "0"});

  BOOST_TEST(result.status == 70);
  check_holds(result.errors, "UnexpectedExit: exit status 0 in Exit\n");
  check_holds(result.errors, "Exit::perform() at crashes.cpp:");
}

BOOST_AUTO_TEST_CASE(a_job_that_ignores_its_deadline_is_ended_and_told_where_it_was) {
  const CommandResult result = perform({"Stubborn", "600000"});

  BOOST_TEST(result.status == 70);
  check_holds(result.errors, "JobTimeout: heeded no deadline");
  check_holds(result.errors, "Stubborn::perform() at waiting.cpp:");
}

BOOST_AUTO_TEST_CASE(a_job_that_winds_up_at_its_deadline_has_failed) {
  const CommandResult result = perform({"PoliteLoop", "600000", "--timeout", "100ms"});

  BOOST_TEST(result.status == 70);
  check_holds(result.errors, "  JobTimeout: wound up after ");
}

BOOST_AUTO_TEST_CASE(a_job_may_be_given_all_the_time_there_is) {
  const std::string payload = R"({"class":"PoliteLoop","args":[200],"timeout":0.05})",
                    longer = R"({"class":"PoliteLoop","args":[60000],"timeout":0.05})";
  BOOST_TEST(run_brood({"perform", "-r", examples, "--payload", longer}, no_redis).status == 70);
  const CommandResult result = run_brood({"perform", "-r", examples, "--payload", payload, "--timeout", "0"}, no_redis);
  BOOST_TEST(result.status == 0, result.errors);
}

// The sanitizers' shadow memory counts as data, so no limit is possible with them.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
BOOST_AUTO_TEST_CASE(a_job_that_takes_more_memory_than_it_may_has_failed) {
  for (const std::vector<std::string>& job : {std::vector<std::string>{"EatMemory", "500"}, {"LeakEverything"}}) {
    std::vector<std::string> arguments = job;
    arguments.insert(arguments.end(), {"--memory-limit", "64M"});
    const CommandResult result = perform(arguments, limited_jobs);
    BOOST_TEST(result.status == 70);
    check_holds(result.errors, "OutOfMemory: std::bad_alloc: over the memory_limit of 64 MB");
  }
}
#endif

BOOST_AUTO_TEST_CASE(an_unknown_class_is_refused_with_what_may_have_been_meant) {
  const CommandResult result = perform({"Segfalt"});

  BOOST_TEST(result.status == 64);
  check_holds(result.errors, "no job class \"Segfalt\" is loaded; did you mean \"Segfault\"? known: Abort, ");
}

BOOST_AUTO_TEST_CASE(a_library_that_cannot_be_used_is_a_wrong_configuration) {
  const CommandResult result = perform({"Greet", "Ada"}, "/nonexistent/libjobs.so");

  BOOST_TEST(result.status == 78);
  check_holds(result.errors, "/nonexistent/libjobs.so");
}

BOOST_AUTO_TEST_CASE(a_whole_payload_and_an_attempt_can_be_given) {
  const std::string payload = R"({"class":"Introduce","args":["Bob"],"jid":"ab","queue":"low"})";
  const CommandResult result = perform({"--payload", payload, "--attempt", "4"}, foreground_jobs);

  BOOST_TEST(result.status == 0);
  BOOST_TEST(result.output == "Bob is attempt 4 of ab from low\n");
  BOOST_TEST(perform({"--payload", "[]"}).status == 64);
  BOOST_TEST(perform({"--payload", payload, "Introduce"}).status == 64);
}

BOOST_AUTO_TEST_CASE(a_payload_comes_from_standard_input, *boost::unit_test::precondition(lends_terminals)) {
  OnTerminal brood({"perform", "-r", foreground_jobs, "--payload", "-"}, no_redis);
  brood.type("{\"class\":\"Introduce\",\"args\":[\"Eve\"],\"jid\":\"cd\"}\n\x04");

  BOOST_TEST(brood.shows("Eve is attempt 1 of cd from default"), brood.text());
  BOOST_TEST(brood.status() == 0);
}

BOOST_AUTO_TEST_CASE(the_terminal_is_the_jobs_own, *boost::unit_test::precondition(lends_terminals)) {
  OnTerminal brood({"perform", "-r", foreground_jobs, "Echo"}, no_redis);
  brood.type("good morning\n");

  BOOST_TEST(brood.shows("heard: good morning"), brood.text());
  BOOST_TEST(brood.status() == 0);
}

BOOST_AUTO_TEST_CASE(control_c_asks_a_job_to_stop, *boost::unit_test::precondition(lends_terminals)) {
  OnTerminal brood({"perform", "-v", "-r", examples, "PoliteLoop", "600000"}, no_redis);
  BOOST_REQUIRE(brood.shows("event=job_started"));
  brood.type("\x03");

  BOOST_TEST(brood.shows("stopping() is true from now on"), brood.text());
  BOOST_TEST(brood.status() == 75);
  check_holds(brood.text(), "was interrupted");
}

BOOST_AUTO_TEST_CASE(a_second_control_c_ends_a_job_that_does_not_listen,
                     *boost::unit_test::precondition(lends_terminals)) {
  OnTerminal brood({"perform", "-v", "-r", examples, "Sleep", "600000"}, no_redis);
  BOOST_REQUIRE(brood.shows("event=job_started"));
  brood.type("\x03");
  BOOST_REQUIRE(brood.shows("stopping() is true from now on"));
  brood.type("\x03");

  BOOST_TEST(brood.status() == 128 + SIGINT);
}

BOOST_AUTO_TEST_CASE(a_job_class_may_be_a_program) {
  const TemporaryDirectory directory;
  const std::string config = config_with_sh(directory);

  const CommandResult good = run_brood({"perform", "-C", config, "Sh", "echo fine"}, no_redis);
  BOOST_TEST(good.status == 0);
  BOOST_TEST(good.output == "fine\n");

  const CommandResult bad = run_brood({"perform", "-C", config, "Sh", "echo out of ink >&2; exit 3"}, no_redis);
  BOOST_TEST(bad.status == 70);
  check_holds(bad.errors, "CommandFailed: exit status 3: out of ink");
}

BOOST_AUTO_TEST_CASE(a_program_finds_the_environment_that_a_worker_gives_it) {
  const TemporaryDirectory directory;
  const std::string config =
      directory.write("brood.toml",
                      "[redis]\nurl = \"redis://127.0.0.1:1\"\n"
                      "[commands.Sh]\nrun = [\"/bin/sh\", \"-c\", \"{0}\"]\n"
                      "[compatibility]\ntimestamps = \"milliseconds\"\nsidekiq_unique_jobs = true\n"
                      "[on_error]\nsentry_dsn = \"env:SENTRY_DSN\"\n");
  const CommandResult result =
      run_brood({"perform", "-C", config, "Sh",
                 "echo $BROOD_REDIS_URL $BROOD_TIMESTAMPS $BROOD_SIDEKIQ_UNIQUE_JOBS ${SENTRY_DSN-none}"},
                {{"SENTRY_DSN", "https://key@errors.invalid/1"}});
  BOOST_TEST(result.status == 0, result.errors);
  BOOST_TEST(result.output == "redis://127.0.0.1:1 milliseconds 1 none\n");
}

BOOST_AUTO_TEST_CASE(a_program_runs_within_the_middleware_of_all_jobs) {
  const TemporaryDirectory directory;
  std::map<std::string, std::string> environment = no_redis;
  environment["MIDDLEWARE_TEST_NOTES"] = directory / "notes";
  const CommandResult result =
      run_brood({"perform", "-C", config_with_sh(directory), "-r", for_all, "Sh", "echo fine"}, environment);
  BOOST_TEST(result.status == 0, result.errors);
  BOOST_TEST(result.output == "fine\n");
  std::ifstream notes(directory / "notes");
  std::string first;
  std::getline(notes, first);
  BOOST_TEST(first == "all before Sh[\"echo fine\"]");
}

BOOST_AUTO_TEST_CASE(a_job_that_forks_and_comes_back_twice_is_told_of_once) {
  const CommandResult result = perform({"ForkAndReturn"}, foreground_jobs);
  BOOST_TEST(result.status == 0);
  BOOST_TEST(times(result.errors, "succeeded") == 1U, result.errors);
  check_holds(result.errors, "copy_of_worker_ended");
}

BOOST_AUTO_TEST_CASE(a_handler_that_forks_and_comes_back_twice_begins_and_ends_one_job) {
  for (const std::string event : {"startup", "exit"}) {
    const TemporaryDirectory directory;
    std::map<std::string, std::string> environment = no_redis;
    environment["EVENTS_LEDGER"] = directory / "ledger";
    environment["EVENTS_FAULT"] = event + " forks";
    const CommandResult result = run_brood({"perform", "-r", event_jobs, "Ran"}, environment);
    BOOST_TEST(result.status == 0);
    BOOST_TEST(times(result.errors, "succeeded") == 1U, result.errors);
  }
}

BOOST_AUTO_TEST_CASE(control_c_ends_a_program, *boost::unit_test::precondition(lends_terminals)) {
  const TemporaryDirectory directory;
  OnTerminal brood({"perform", "-C", config_with_sh(directory), "Sh", "echo started; exec sleep 600"}, no_redis);
  BOOST_REQUIRE(brood.shows("started"));
  brood.type("\x03");

  BOOST_TEST(brood.status() == 75);
}

BOOST_AUTO_TEST_CASE(a_debugger_that_is_not_installed_is_named) {
  const CommandResult result = perform({"Greet", "Ada", "--debugger", "nosuchdebugger -x"});

  BOOST_TEST(result.status == 64);
  check_holds(result.errors, "nosuchdebugger is not installed");
  BOOST_TEST(perform({"Greet", "Ada", "--gdb", "--valgrind"}).status == 64);
}

BOOST_AUTO_TEST_CASE(a_job_runs_under_a_debugger, *boost::unit_test::precondition(gdb_is_there)) {
  const CommandResult result = perform({"Segfault", "--debugger", "gdb -q -batch -ex run -ex bt --args"});

  check_holds(result.output, "received signal SIGSEGV");
  check_holds(result.output, "Segfault::perform");
}

BOOST_AUTO_TEST_CASE(a_replay_leaves_redis_as_it_was) {
  RedisServer redis;
  const std::string of_retry = failed_job("Introduce", R"(["Ada"])", "aaaa56789abcdef012345678");
  const std::string of_dead = failed_job("Segfault", "[]", "bbbb56789abcdef012345678");
  const std::string of_queue = failed_job("Introduce", R"(["Bob"])", "cccc56789abcdef012345678");
  redis.command({"ZADD", "retry", "1795237400.5", of_retry});
  redis.command({"ZADD", "dead", "1795237400.5", of_dead});
  redis.command({"SADD", "queues", "images"});
  redis.command({"LPUSH", "queue:images", of_queue});
  const auto before = everything_in(redis);
  const auto replay = [&](std::vector<std::string> arguments, const std::string& library) {
    arguments.insert(arguments.begin(), {"replay", "-r", library, "--redis", redis.url()});
    return run_brood(arguments);
  };

  const CommandResult from_retry = replay({"aaaa5"}, foreground_jobs);
  BOOST_TEST(from_retry.status == 0);
  BOOST_TEST(from_retry.output == "Ada is attempt 4 of aaaa56789abcdef012345678 from images\n");
  check_holds(from_retry.errors, "aaaa56789abcdef012345678 from retry\n  args  [\"Ada\"]\n");
  check_holds(from_retry.errors, "  last  std::runtime_error: out of ink");

  const CommandResult from_dead = replay({"bbbb56789abcdef012345678"}, examples);
  BOOST_TEST(from_dead.status == 128 + SIGSEGV);
  check_holds(from_dead.errors, "#0 Segfault::perform() at crashes.cpp:");

  const CommandResult from_queue = replay({"cccc5", "--queue", "images", "--attempt", "1"}, foreground_jobs);
  BOOST_TEST(from_queue.status == 0);
  BOOST_TEST(from_queue.output == "Bob is attempt 1 of cccc56789abcdef012345678 from images\n");

  const CommandResult from_nowhere = replay({"cccc5"}, foreground_jobs);
  BOOST_TEST(from_nowhere.status == 75);
  check_holds(from_nowhere.errors, "there is no job \"cccc5\" in retry, dead or schedule");
  BOOST_TEST((everything_in(redis) == before));
}

BOOST_AUTO_TEST_CASE(a_class_with_a_sandbox_runs_here_only_by_the_option_for_that) {
  const TemporaryDirectory directory;
  const std::string config = directory.write("brood.toml", "[classes.Segfault.sandbox]\nnetwork = false\n");
  const CommandResult refused = perform({"Segfault", "-C", config});
  BOOST_TEST(refused.status == 64);
  check_holds(refused.errors, "its job would run here without it: --without-sandbox allows that");
  BOOST_TEST(perform({"Segfault", "-C", config, "--without-sandbox"}).status == 128 + SIGSEGV);
}
