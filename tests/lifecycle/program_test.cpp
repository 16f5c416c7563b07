#include <sys/stat.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/file_text.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

std::string executable(const TemporaryDirectory& directory, const std::string& name, const std::string& text) {
  const std::string path = directory.write(name, text);
  chmod(path.c_str(), 0755);
  return path;
}

// [commands.Sh]: a job whose arguments are a script for the shell and the script's own arguments.
constexpr const char* sh_command = "[commands.Sh]\nrun = [\"/bin/sh\", \"-c\", \"{0}\", \"sh\", \"{1}\"]\n";

std::string sh_payload(const std::string& script, const std::string& argument, long number = 1,
                       const std::string& more = "") {
  std::string quoted;
  for (const char c : script) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return payload_text("Sh", "[\"" + quoted + "\",\"" + argument + "\"]", number, more);
}

struct Running {
  RedisServer redis;
  TemporaryDirectory directory;
  BroodProcess brood;

  explicit Running(const std::string& config = sh_command, int workers = 1,
                   std::map<std::string, std::string> environment = {}, const std::string& shutdown_timeout = "2")
      : brood(redis, {.workers = workers,
                      .shutdown_timeout = shutdown_timeout,
                      .config = config,
                      .arguments = {"-v"},
                      .environment = std::move(environment)}) {
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  }

  bool logs(const std::string& text) const {
    return eventually([&] { return brood.log().find(text) != std::string::npos; }, 20s);
  }
  // Whether this many jobs have succeeded, and nothing else is left.
  bool done(std::size_t jobs) {
    return eventually(
        [&] {
          return times_logged(brood, "job_done") == jobs && jobs_in_flight(redis) == 0 && !redis.size_of("retry");
        },
        60s);
  }
  Payload retried() {
    BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("retry") == 1; }, 60s), brood.log_tail());
    return Payload::parse(redis.zrange("retry").front().first);
  }
  pid_t pid_in(const std::string& path) const {
    BOOST_REQUIRE_MESSAGE(eventually([&] { return text_of_file(path).ends_with("\n"); }, 20s), brood.log_tail());
    return std::stoi(text_of_file(path));
  }
};

std::vector<std::string> backtrace_of(const Payload& job) {
  return decode_backtrace(job.string("error_backtrace").value_or("")).value_or(std::vector<std::string>());
}

bool limits_work() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

}  // namespace

namespace {

// A program for [on_error] that appends its input, a line each, to a file.
struct Reporter {
  TemporaryDirectory directory;
  std::string told = directory / "told", program;

  explicit Reporter(const std::string& more = "")
      : program(executable(directory, "report",
                           "#!/bin/sh\n{ printf '%s %s ' \"$1\" \"$BROOD_CLASS\"; cat; } >> '" + told + "'\n" + more)) {
  }

  std::string config(const std::string& more = "") const {
    return "[on_error]\nrun = ['" + program + "', 'brood']\n" + more + sh_command;
  }
  bool heard(const std::string& text) const {
    return eventually([&] { return text_of_file(told).find(text) != std::string::npos; }, 30s);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(every_failure_is_told_to_the_program_for_errors) {
  const Reporter reporter;
  Running running(reporter.config());
  running.redis.command({"LPUSH", "queue:default", sh_payload("echo 'no <b>luck' >&2; exit 3", "x")});
  BOOST_TEST(reporter.heard("brood Sh {\"class\":\"Sh\",\"jid\":"));
  BOOST_TEST(reporter.heard(R"("error_class":"CommandFailed","error_message":"exit status 3: no <b>luck",)"
                            R"("backtrace":["no <b>luck"],"retry_count":0,"job":{)"));

  running.redis.command({"LPUSH", "queue:default", payload_text("Fail", "[\"thrown\"]", 2)});
  BOOST_TEST(reporter.heard(R"("error_class":"std::runtime_error","error_message":"thrown")"));

  running.redis.command({"LPUSH", "queue:default", payload_text("Nobody", "[]", 3)});
  BOOST_TEST(reporter.heard(R"("error_class":"NameError")"));

  running.redis.command({"LPUSH", "queue:default", payload_text("Segfault", "[]", 4)});
  BOOST_TEST(reporter.heard(R"("error_class":"SIGSEGV")"));
  BOOST_TEST(reporter.heard("Segfault::perform()"));
  BOOST_TEST(reporter.heard(R"("crash":{"at":)"));

  BOOST_TEST(eventually([&] { return running.redis.size_of("retry") == 4; }, 60s));
  BOOST_TEST(running.brood.log().find("error_program_failed") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_program_for_errors_that_fails_or_hangs_harms_no_job) {
  const Reporter reporter("echo gone >&2; sleep 60\n");
  Running running(reporter.config("timeout = '3s'\n"));
  running.redis.command({"LPUSH", "queue:default", payload_text("Fail", "[\"one\"]", 1)});
  running.redis.command({"LPUSH", "queue:default", payload_text("Fail", "[\"two\"]", 2)});
  running.redis.command({"LPUSH", "queue:default", payload_text("Segfault", "[]", 3)});
  BOOST_TEST(eventually([&] { return running.redis.size_of("retry") == 3; }, 60s), running.brood.log_tail());
  BOOST_TEST(eventually([&] { return times_logged(running.brood, "error_program_failed") == 3U; }, 60s),
             running.brood.log_tail());
  BOOST_TEST(running.logs("it ran longer than its timeout of 3000ms: gone"));
  BOOST_TEST(running.redis.size_of("dead") == 0U);
  BOOST_TEST(jobs_in_flight(running.redis) == 0U);
}

BOOST_AUTO_TEST_CASE(no_crash_waits_for_the_program_for_errors) {
  const Reporter reporter("sleep 30\n");
  Running running(reporter.config("timeout = '1m'\n"));
  running.redis.command({"LPUSH", "queue:default", payload_text("Segfault", "[]", 1)});

  const std::vector<std::string> stack = backtrace_of(running.retried());

  BOOST_TEST(std::any_of(stack.begin(), stack.end(),
                         [](const std::string& frame) { return frame.find("Segfault::perform()") != frame.npos; }),
             running.brood.log_tail());
  BOOST_TEST(reporter.heard("Segfault::perform()"));
  const std::string told = text_of_file(reporter.told);
  BOOST_TEST(std::count(told.begin(), told.end(), '\n') == 1);
  BOOST_TEST(times_logged(running.brood, "autopsy_failed") == 0U);
  BOOST_TEST(times_logged(running.brood, "error_program_failed") == 0U);
}

BOOST_AUTO_TEST_CASE(a_program_gets_its_arguments_its_environment_and_the_whole_payload) {
  const TemporaryDirectory there;
  const std::string show = executable(there, "show",
                                      "#!/bin/sh\n"
                                      "out=$1; shift\n"
                                      "{ for word; do echo \"word=$word\"; done\n"
                                      "env | grep -E '^(BROOD_|COLOUR|INHERITED)' | sort\n"
                                      "echo \"directory=$(pwd)\"; echo \"input=$(cat)\"; echo end; } > \"$out\"\n");
  Running running("[commands.'Images::Show']\nrun = ['" + show +
                      "', '{0}', '--size={1}x{1}', '{2}', '{args}', '{{}}']\nenv = { COLOUR = 'red' }\ndirectory = '" +
                      there.path() + "'\n",
                  1, {{"COLOUR", "green"}, {"INHERITED", "yes"}});
  const std::string out = there / "out";
  const std::string payload =
      payload_text("Images::Show", "[\"" + out + "\",320,\"a 'b' $c\",null,{\"k\":[1.50]}]", 7, "\"retry_count\":4");
  enqueue(running.redis, {payload});

  BOOST_TEST(running.done(1), running.brood.log_tail());
  BOOST_TEST(text_of_file(out) == "word=--size=320x320\nword=a 'b' $c\nword=" + out +
                                      "\nword=320\nword=a 'b' $c\nword=\nword={\"k\":[1.50]}\nword={}\n"
                                      "BROOD_ATTEMPT=6\nBROOD_CLASS=Images::Show\nBROOD_JID=000000000000000000000007\n"
                                      "BROOD_QUEUE=default\nBROOD_REDIS_URL=" +
                                      running.redis.url() + "\nCOLOUR=red\nINHERITED=yes\ndirectory=" + there.path() +
                                      "\ninput=" + payload + "\nend\n");
}

BOOST_AUTO_TEST_CASE(a_program_begins_with_three_descriptors_default_signals_and_a_group_of_its_own) {
  Running running(
      "[commands.Status]\nrun = ['cp', '/proc/self/status', '{0}']\n"
      "[commands.Descriptors]\nrun = ['sh', '-c', 'ls /proc/self/fd > {0}']\n");
  const std::string status = running.directory / "status", descriptors = running.directory / "descriptors";
  enqueue(running.redis, {payload_text("Status", "[\"" + status + "\"]", 1),
                          payload_text("Descriptors", "[\"" + descriptors + "\"]", 2)});

  BOOST_TEST(running.done(2), running.brood.log_tail());
  std::map<std::string, std::string> facts;
  std::istringstream lines(text_of_file(status));
  for (std::string name, value; lines >> name && std::getline(lines >> std::ws, value);) facts[name] = value;
  for (const char* signals : {"SigBlk:", "SigIgn:", "SigCgt:"}) BOOST_TEST(facts[signals] == "0000000000000000");
  BOOST_TEST(facts["Pid:"] == facts["NSpgid:"]);
  BOOST_TEST(text_of_file(descriptors) == "0\n1\n2\n3\n");  // ls reads the directory through 3
}

BOOST_AUTO_TEST_CASE(the_python_program_of_the_documents_works) {
  const std::string example = BROOD_SOURCE_DIR "/packaging/doc/cookbook/python_program/word_count.py";
  BOOST_TEST(text_of_file(BROOD_SOURCE_DIR "/packaging/doc/programs.md").find(text_of_file(example)) !=
             std::string::npos);
  Running running("[commands.WordCount]\nrun = ['" + example + "']\ntimeout = '1m'\n");
  const std::string text = running.directory.write("text", "to be or not to be"), result = running.directory / "n";
  const std::string empty = running.directory.write("empty", "");
  enqueue(running.redis, {payload_text("WordCount", "[\"" + text + "\",\"" + result + "\"]", 1)});

  BOOST_TEST(running.done(1), running.brood.log_tail());
  BOOST_TEST(text_of_file(result) == "6");
  BOOST_TEST(running.logs("jid=000000000000000000000001 class=WordCount text=\"counted 6 words\""));

  enqueue(running.redis, {payload_text("WordCount", "[\"" + empty + "\",\"" + result + "\"]", 2)});
  BOOST_TEST(running.retried().string("error_message").value() == "exit status 1: " + empty + " is empty");
}

BOOST_AUTO_TEST_CASE(a_failed_program_leaves_its_last_lines_in_the_retry_record_and_the_log) {
  Running running;
  const auto workers = running.brood.workers();
  enqueue(running.redis, {sh_payload("echo fine\necho one >&2\necho 'no such picture' >&2\nexit 3", "")});

  const Payload job = running.retried();

  BOOST_TEST(job.string("error_class").value() == "CommandFailed");
  BOOST_TEST(job.string("error_message").value() == "exit status 3: no such picture");
  BOOST_TEST(job.integer("retry_count").value() == 0);
  BOOST_TEST(!job.raw("crash_count"));
  BOOST_TEST(backtrace_of(job) == (std::vector<std::string>{"one", "no such picture"}),
             boost::test_tools::per_element());
  for (const char* line : {"text=fine", "text=one", "text=\"no such picture\""})
    BOOST_TEST(running.logs("jid=000000000000000000000001 class=Sh " + std::string(line)), running.brood.log_tail());
  BOOST_TEST((running.brood.workers() == workers));
}

BOOST_AUTO_TEST_CASE(a_program_that_dies_of_a_signal_has_failed_and_its_worker_goes_on) {
  Running running;
  const auto workers = running.brood.workers();
  enqueue(running.redis, {sh_payload("echo oops >&2\nkill -SEGV $$", "")});

  const Payload job = running.retried();

  BOOST_TEST(job.string("error_class").value() == "SIGSEGV");
  BOOST_TEST(job.string("error_message").value().starts_with("SIGSEGV in /bin/sh: "));
  BOOST_TEST(!job.raw("crash_count"));
  BOOST_TEST((running.brood.workers() == workers));
  BOOST_TEST(times_logged(running.brood, "worker_crashed") == 0U);
}

BOOST_AUTO_TEST_CASE(a_payload_larger_than_a_pipe_arrives_whole_and_need_not_be_read) {
  Running running("[commands.Copy]\nrun = ['sh', '-c', 'cat > {0}']\n[commands.True]\nrun = ['true']\n");
  const std::string out = running.directory / "copy", big(1 << 20, 'x');
  const std::string payload = payload_text("Copy", "[\"" + out + "\",\"" + big + "\"]", 1);
  enqueue(running.redis, {payload, payload_text("True", "[\"" + big + "\"]", 2)});

  BOOST_TEST(running.done(2), running.brood.log_tail());
  BOOST_TEST((text_of_file(out) == payload));
}

BOOST_AUTO_TEST_CASE(a_flood_on_standard_error_costs_lines_and_no_memory) {
  Running running;
  const auto workers = running.brood.workers();
  enqueue(running.redis,
          {sh_payload("yes 'all work and no play' | head -c 20000000 >&2\necho >&2\necho last >&2\nexit 1", "")});

  const Payload job = running.retried();

  BOOST_TEST(job.string("error_message").value() == "exit status 1: last");
  BOOST_TEST(backtrace_of(job).size() == 50U);
  BOOST_TEST(times_logged(running.brood, "job_output_dropped") >= 1U);
  BOOST_TEST((running.brood.workers() == workers));
}

BOOST_AUTO_TEST_CASE(a_program_may_close_all_that_it_has) {
  Running running;
  const std::string out = running.directory / "out";
  enqueue(running.redis, {sh_payload("exec <&- >&- 2>&-\nsleep 0.2\necho end > $1", out)});
  BOOST_TEST(running.done(1), running.brood.log_tail());
  BOOST_TEST(text_of_file(out) == "end\n");
}

BOOST_AUTO_TEST_CASE(a_program_that_ignores_its_timeout_is_killed_and_its_worker_goes_on) {
  Running running(std::string(sh_command) + "timeout = \"3s\"\n");
  const auto workers = running.brood.workers();
  const std::string out = running.directory / "out";
  enqueue(running.redis,
          {sh_payload("trap '' TERM\necho deaf >&2\nsleep 600 & echo $! > $1\nwait\nwait\nsleep 600", out)});

  const Payload job = running.retried();

  BOOST_TEST(job.string("error_class").value() == "JobTimeout");
  BOOST_TEST(job.string("error_message").value() ==
             "ran longer than its timeout of 3.0s, /bin/sh ended with SIGKILL: deaf");
  BOOST_TEST(!job.raw("crash_count"));
  BOOST_TEST((running.brood.workers() == workers));
  const pid_t child = running.pid_in(out);
  BOOST_TEST(eventually([&] { return !process_exists(child); }));
}

BOOST_AUTO_TEST_CASE(a_program_that_ends_at_its_timeout_has_failed_too) {
  Running running(std::string("[worker]\ntimeout_grace = \"60s\"\n") + sh_command);
  enqueue(running.redis, {sh_payload("trap 'echo bye >&2; exit 0' TERM\nsleep 600 & wait", "", 1, R"("timeout":3)")});

  const Payload job = running.retried();

  BOOST_TEST(job.string("error_class").value() == "JobTimeout");
  BOOST_TEST(job.string("error_message").value() ==
             "ran longer than its timeout of 3.0s, /bin/sh ended with exit status 0: bye");
}

BOOST_AUTO_TEST_CASE(the_payload_s_timeout_beats_the_command_s_and_that_the_default) {
  Running running(std::string("[worker]\njob_timeout = \"100ms\"\n") + sh_command + "timeout = \"1m\"\n");
  enqueue(running.redis, {sh_payload("sleep 0.5", "", 1)});
  BOOST_TEST(running.done(1), running.brood.log_tail());
  enqueue(running.redis, {sh_payload("sleep 600", "", 2, R"("timeout":0.1)")});
  BOOST_TEST(running.retried().jid() == "000000000000000000000002");
}

BOOST_AUTO_TEST_CASE(what_a_program_leaves_in_its_group_ends_with_it_and_what_left_the_group_with_the_worker) {
  Running running;
  const std::string inside = running.directory / "inside", outside = running.directory / "outside";
  enqueue(running.redis,
          {sh_payload("sleep 600 & echo $! > $1", inside, 1),
           sh_payload("setsid sh -c 'echo $$ > $0; exec sleep 600' $1 &\nwhile ! [ -s $1 ]\ndo sleep 0.01\ndone",
                      outside, 2)});
  const pid_t left = running.pid_in(inside), escaped = running.pid_in(outside);

  BOOST_TEST(running.done(2), running.brood.log_tail());
  BOOST_TEST(eventually([&] { return !process_exists(left); }));
  BOOST_TEST(process_exists(escaped));
  kill(running.brood.workers().at(0), SIGKILL);
  BOOST_TEST(eventually([&] { return !process_exists(escaped); }));
}

BOOST_AUTO_TEST_CASE(a_program_never_outlives_its_worker) {
  Running running;
  const std::string out = running.directory / "out";
  enqueue(running.redis, {sh_payload("echo $$ > $1\nexec sleep 600", out)});
  const pid_t program = running.pid_in(out);

  kill(running.brood.workers().at(0), SIGKILL);

  BOOST_TEST(running.retried().string("error_class").value() == "SIGKILL");
  BOOST_TEST(eventually([&] { return !process_exists(program); }));
}

BOOST_AUTO_TEST_CASE(a_program_does_not_outlive_supervisor_and_worker_either) {
  Running running;
  const std::string out = running.directory / "out";
  enqueue(running.redis, {sh_payload("echo $$ > $1\nexec sleep 600", out)});
  const pid_t program = running.pid_in(out);
  kill_with_workers(running.brood);
  BOOST_TEST(eventually([&] { return !process_exists(program); }));
}

BOOST_AUTO_TEST_CASE(a_program_is_ended_by_hand) {
  Running running;
  const std::string out = running.directory / "out";
  enqueue(running.redis, {sh_payload("echo $$ > $1\nexec sleep 600", out)});
  const pid_t program = running.pid_in(out);

  const CommandResult killed =
      run_brood({"kill", "000000000000000000000001", "--outcome", "dead"}, running.brood.environment());

  BOOST_TEST(killed.status == 0, killed.errors);
  BOOST_TEST(eventually([&] { return running.redis.size_of("dead") == 1; }, 20s), running.brood.log_tail());
  BOOST_TEST(eventually([&] { return !process_exists(program); }));
}

BOOST_AUTO_TEST_CASE(a_stop_waits_for_a_program_and_asks_nothing_of_it) {
  Running running(sh_command, 1, {}, "60");
  const std::string out = running.directory / "out";
  enqueue(running.redis, {sh_payload("trap 'echo term >> $1' TERM\necho $$ > $1\nsleep 0.5\necho done >> $1", out)});
  running.pid_in(out);

  running.brood.term();

  BOOST_TEST(running.brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(text_of_file(out).ends_with("\ndone\n"));
  BOOST_TEST(text_of_file(out).find("term") == std::string::npos);
  BOOST_TEST(running.redis.size_of("queue:default") == 0U);
}

BOOST_AUTO_TEST_CASE(a_program_that_outlasts_a_stop_is_killed_and_its_job_goes_back_uncharged) {
  Running running;
  const std::string out = running.directory / "out";
  const std::string payload = sh_payload("echo $$ > $1\nexec sleep 600", out);
  enqueue(running.redis, {payload});
  const pid_t program = running.pid_in(out);

  running.brood.term();

  BOOST_TEST(running.brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(running.redis.lrange("queue:default") == std::vector<std::string>{payload},
             boost::test_tools::per_element());
  BOOST_TEST(eventually([&] { return !process_exists(program); }));
}

BOOST_AUTO_TEST_CASE(a_program_is_held_to_the_memory_limit) {
  if (!limits_work()) return;
  Running running("[worker]\nmemory_limit = \"128M\"\n[commands.Eat]\nrun = ['python3', '-c', 'bytearray({0})']\n");
  enqueue(running.redis, {payload_text("Eat", "[1000000]", 1)});
  BOOST_TEST(running.done(1), running.brood.log_tail());
  enqueue(running.redis, {payload_text("Eat", "[1000000000]", 2)});
  const Payload job = running.retried();
  // With its own cgroup, the worker would have been ended with it.
  const std::string error = job.string("error_class").value() + " " + job.string("error_message").value();
  BOOST_TEST((error == "CommandFailed exit status 1: MemoryError" || error.starts_with("OutOfMemory")), error);
}

BOOST_AUTO_TEST_CASE(the_processor_time_and_the_memory_of_a_program_are_its_class_s) {
  Running running(
      "[commands.Work]\nrun = ['python3', '-c', 'b = bytearray(200_000_000); sum(i for i in range(2_000_000))']\n");
  enqueue(running.redis, {payload_text("Work", "[]")});
  BOOST_TEST(running.done(1), running.brood.log_tail());
  const CommandResult status = run_brood({"status"}, running.brood.environment());
  std::istringstream lines(status.output);
  std::string line;
  while (std::getline(lines, line) && line.find("Work ") == line.npos) {
  }
  std::istringstream words(line);
  std::string name, runs, failed, crashed, cpu, time;
  long peak = 0;
  words >> name >> runs >> failed >> crashed >> cpu >> time >> peak;
  BOOST_TEST(runs == "1", status.output);
  BOOST_TEST(cpu != "0ms", status.output);
  BOOST_TEST(peak >= 190, status.output);
}

BOOST_AUTO_TEST_CASE(a_program_that_vanishes_is_run_on_and_one_whose_interpreter_does_is_a_failure_like_any_other) {
  const TemporaryDirectory there;
  std::filesystem::copy_file("/bin/sh", there / "shell");
  const std::string path = executable(there, "tool", "#!" + (there / "shell") + "\nexit 0\n");
  Running running("[commands.Tool]\nrun = ['" + path + "']\n");
  unlink(path.c_str());
  enqueue(running.redis, {payload_text("Tool", "[]", 1)});
  BOOST_TEST(running.done(1), running.brood.log_tail());

  unlink((there / "shell").c_str());
  enqueue(running.redis, {payload_text("Tool", "[]", 2)});
  const Payload job = running.retried();
  BOOST_TEST(job.string("error_class").value() == "Errno::ENOENT");
  BOOST_TEST(job.string("error_message").value() == "cannot execute " + path + ": No such file or directory");
}

BOOST_AUTO_TEST_CASE(arguments_that_do_not_fit_are_failures) {
  Running running;
  enqueue(running.redis, {payload_text("Sh", "[\"exit 0\"]")});
  const Payload job = running.retried();
  BOOST_TEST(job.string("error_class").value() == "ArgumentError");
  BOOST_TEST(job.string("error_message").value() == "Sh: argument 1 is missing: the job has 1");
}

BOOST_AUTO_TEST_CASE(what_a_program_enqueues_goes_where_its_own_job_came_from) {
  Running running("[commands.Enqueue]\nrun = ['" BROOD_BINARY_DIR "/bin/brood', 'enqueue', 'Later', '-q', 'others']\n",
                  1, {{"REDIS_URL", "unix:///nonexistent.sock"}});
  enqueue(running.redis, {payload_text("Enqueue", "[]")});
  BOOST_TEST(running.done(1), running.brood.log_tail());
  BOOST_TEST(running.redis.size_of("queue:others") == 1u);
}

BOOST_AUTO_TEST_CASE(a_command_that_cannot_run_is_a_configuration_error) {
  const TemporaryDirectory directory;
  const auto check = [&](const std::string& config) {
    const std::string path = directory.write("brood.toml", config);
    CommandResult result =
        run_brood({"run", "--check", "-C", path, "-r", BROOD_BINARY_DIR "/worker/examples/libexamples.so", "--redis",
                   "unix://" + (directory / "no.sock")});
    result.errors.erase(0, result.errors.find(path) + path.size());
    return result;
  };
  const CommandResult good = check(sh_command);
  BOOST_TEST(good.status == 0, good.errors);
  BOOST_TEST(good.output.find("programs: 1, job classes:") != std::string::npos, good.output);
  BOOST_TEST(good.output.find(" Sh ") != std::string::npos, good.output);

  const CommandResult missing = check("[commands.A]\nrun = ['/nowhere/tool']");
  BOOST_TEST(missing.status == 78);
  BOOST_TEST(missing.errors == ":2: commands.A.run: /nowhere/tool: No such file or directory\n");

  const CommandResult twice = check("[commands.Greet]\nrun = ['true']");
  BOOST_TEST(twice.status == 78);
  BOOST_TEST(twice.errors.starts_with(":2: commands.Greet.run: job class Greet is already defined by the job library "),
             twice.errors);
}

BOOST_AUTO_TEST_CASE(a_restart_reads_the_commands_anew_and_refuses_bad_ones) {
  Running running;
  const std::string config = running.directory / "brood.toml";
  BroodProcess brood(
      running.redis,
      {.workers = 1, .queues = {"more"}, .arguments = {"-C", running.directory.write("brood.toml", "")}});
  BOOST_REQUIRE(brood.wait_ready());

  running.directory.write("brood.toml", "[commands.A]\nrun = ['/nowhere/tool']\n");
  const CommandResult refused = run_brood({"restart"}, brood.environment());
  BOOST_TEST(refused.status == 78);
  BOOST_TEST((refused.output + refused.errors).find("/nowhere/tool: No such file or directory") != std::string::npos,
             refused.output + refused.errors);

  running.directory.write("brood.toml", "[commands.A]\nrun = ['sh', '-c', 'echo here']\n");
  BOOST_TEST(run_brood({"restart"}, brood.environment()).status == 0);
  enqueue(running.redis, {payload_text("A", "[]", 1, R"("queue":"more")")}, "more");
  BOOST_TEST(eventually([&] { return brood.log().find("class=A text=here") != std::string::npos; }, 20s),
             brood.log_tail());
}
