#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/in_flight/crash_book.hpp"
#include "shared/store/in_flight/quarantined_classes.hpp"
#include "tests/lifecycle/shell_line.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/json_member.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

BOOST_AUTO_TEST_CASE(help_and_version_go_to_standard_output) {
  const CommandResult help = run_brood({"--help"});
  BOOST_TEST(help.status == 0);
  BOOST_TEST(help.output.find("Examples:") != std::string::npos);
  BOOST_TEST(help.output.find("enqueue") != std::string::npos);
  BOOST_TEST(help.errors == "");
  for (const std::string command : {"run", "enqueue", "status", "dump", "kill", "bench"}) {
    BOOST_TEST(run_brood({command, "--help"}).status == 0);
    BOOST_TEST(run_brood({command, "--help"}).output.find("Usage: brood " + command) != std::string::npos);
    BOOST_TEST(run_brood({"help", command}).output == run_brood({command, "--help"}).output);
  }
  BOOST_TEST(run_brood({"help"}).output == help.output);
  BOOST_TEST(run_brood({"help", "--help"}).output == help.output);
  BOOST_TEST(run_brood({"help", "enqeue"}).errors.find("did you mean \"enqueue\"?") != std::string::npos);
  BOOST_TEST(run_brood({"--version"}).output.starts_with("brood "));
  BOOST_TEST(run_brood({"run", "-V"}).output == run_brood({"-V"}).output);
}

BOOST_AUTO_TEST_CASE(a_command_line_that_is_not_understood_exits_64_with_a_sentence_on_standard_error) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "brood: a command is missing\n"},
      {{"rnu"}, "brood: unknown command \"rnu\"; did you mean \"run\"?\n"},
      {{"statsu"}, "brood: unknown command \"statsu\"; did you mean \"status\"?\n"},
      {{"frobnicate"}, "brood: unknown command \"frobnicate\"\n"},
      {{""}, "brood: unknown command \"\"\n"},
      {{"--frob"}, "brood: unknown option \"--frob\"\n"},
      {{"run", "--cofig", "x"}, "brood run: unknown option \"--cofig\"; did you mean \"--config\"?\n"},
      {{"run", "status"}, "brood run: unexpected argument \"status\"\n"},
      {{"status", "extra"}, "brood status: unexpected argument \"extra\"\n"},
      {{"status", "--crash"}, "brood status: --crash needs a value\n"},
      {{"dump", "one"}, "brood dump: SLOT must be the number of a worker, not \"one\"\n"},
      {{"dump", "-1"}, "brood dump: SLOT must be the number of a worker, not \"-1\"\n"},
      {{"dump", "99999999999"}, "brood dump: SLOT must be the number of a worker, not \"99999999999\"\n"},
      {{"dump", "--slot", "1"}, "brood dump: unknown option \"--slot\"\n"},
      {{"kill"}, "brood kill: the id of the job is missing\n"},
      {{"kill", "abc", "def"}, "brood kill: unexpected argument \"def\"\n"},
      {{"kill", "abc", "--outcome"}, "brood kill: --outcome needs a value\n"},
      {{"kill", "abc", "--outcome", "later"}, "brood kill: --outcome must be retry, dead or discard, not \"later\"\n"},
      {{"kill", "abc", "--slot", "1"}, "brood kill: unknown option \"--slot\"\n"},
      {{"resume", "abc"}, "brood resume: unexpected argument \"abc\"\n"},
      {{"status", "--check", "--json"},
       "brood status: --check prints one sentence; leave out --watch, --json, --format and --crash\n"},
      {{"scale", "2", "--all", "--process", "a"}, "brood scale: --all and --process exclude each other\n"},
      {{"scale", "2", "--redis", "unix:///x"}, "brood scale: --redis and --shard need --all or --process\n"},
      {{"scale", "0"}, "brood scale: N must be a number of workers, at least 1, not \"0\"\n"},
      {{"enqueue"}, "brood enqueue: the class of the job is missing\n"},
      {{"enqueue", "Job", "--in", "soon"},
       "brood enqueue: --in must be a duration such as \"30s\", \"10m\" or \"1h30m\", not \"soon\"\n"},
      {{"enqueue", "Job", "--at", "noon"},
       "brood enqueue: --at must be a time such as \"2026-12-01T08:00:00Z\", not \"noon\"\n"},
      {{"enqueue", "Job", "--in", "1m", "--at", "2026-12-01T08:00:00Z"},
       "brood enqueue: --in and --at exclude each other\n"},
      {{"enqueue", "Job", "--retry", "-1"},
       "brood enqueue: --retry must be true, false or a number of retries, not \"-1\"\n"},
      {{"enqueue", "Job", "1", "--args", "[]"},
       "brood enqueue: --args takes the place of all arguments and of --string\n"},
      {{"enqueue", "Job", "\xff"}, "brood enqueue: the argument \"\\xff\" is not UTF-8\n"},
      {{"enqueue", "--bulk", "x", "-q", "a"},
       "brood enqueue: --bulk takes class, args, queue, at and all else from each line\n"},
      {{"enqueue", "--bulk", "x", "--tag", "a"},
       "brood enqueue: --bulk takes class, args, queue, at and all else from each line\n"},
      {{"enqueue", "--bulk", "x", "--spread", "0s"}, "brood enqueue: --spread must be longer than 0\n"},
      {{"enqueue", "Job", "--spread", "1h"}, "brood enqueue: --spread needs --bulk\n"},
      {{"enqueue", "Job", "--timeout", "soon"},
       "brood enqueue: --timeout must be a duration such as \"30s\", \"10m\" or \"1h30m\", not \"soon\"\n"},
  };
  for (const auto& [arguments, sentence] : cases) {
    const CommandResult result = run_brood(arguments);
    BOOST_TEST(result.status == 64);
    BOOST_TEST(result.output == "");
    BOOST_TEST(result.errors.starts_with(sentence), result.errors << " does not begin with " << sentence);
    BOOST_TEST(result.errors.ends_with("--help\".\n"));
  }
}

BOOST_AUTO_TEST_CASE(a_wrong_setting_exits_78_and_names_its_place) {
  const TemporaryDirectory directory;
  const std::string config = directory.write("brood.toml", "\nconcurency = 3\n");
  for (const std::string command : {"run", "status"}) {
    const CommandResult result = run_brood({command, "-C", config});
    BOOST_TEST(result.status == 78);
    BOOST_TEST(result.errors ==
               "brood " + command + ": " + config + ":2: concurency: unknown key; did you mean \"concurrency\"?\n");
  }
  BOOST_TEST(run_brood({"run", "-c", "0"}).status == 78);
  BOOST_TEST(run_brood({"run", "-C", directory / "missing.toml"}).status == 78);
  BOOST_TEST(run_brood({"enqueue", "Job", "--redis", "localhost"}).status == 78);
  const std::map<std::string, std::string> nothing_runs = {{"RUNTIME_DIRECTORY", directory.path()}};
  BOOST_TEST(run_brood({"status", "--alive", "-C", directory / "missing.toml"}, nothing_runs).status == 78);
  BOOST_TEST(run_brood({"status", "--alive", "-C", config}, nothing_runs).status == 69);
}

BOOST_AUTO_TEST_CASE(with_redis_away_commands_exit_69_and_say_why) {
  const TemporaryDirectory directory;
  const std::string url = "unix://" + (directory / "no.sock");
  const CommandResult pushed = run_brood({"enqueue", "Zip", "--redis", url});
  BOOST_TEST(pushed.status == 69);
  BOOST_TEST(pushed.errors.find(directory / "no.sock") != std::string::npos);
  const CommandResult status =
      run_brood({"status", "--redis", url, "--json"}, {{"RUNTIME_DIRECTORY", directory.path()}});
  BOOST_TEST(status.status == 69);
  BOOST_TEST(member(status.output, "processed") == "null");
  BOOST_TEST(member(status.output, "workers") == "[]");
  const CommandResult embedded =
      run_brood({"enqueue", "Zip", "--redis", "embedded"}, {{"STATE_DIRECTORY", directory.path()}});
  BOOST_TEST(embedded.status == 69);
  BOOST_TEST(embedded.errors.find("runs only while \"brood run\" does") != std::string::npos, embedded.errors);
}

BOOST_AUTO_TEST_CASE(completions_are_told_what_the_commands_take) {
  RedisServer redis;
  Connection connection(redis.address());
  Crash crash;
  crash.fingerprint = "00000000000000aa";
  crash.at = epoch_seconds(wall_now());
  crash.job_class = "Zip";
  note_crash(connection, crash);
  connection.run(count_quarantine_crash(
      {.job_class = "Decode", .fingerprint = "f1", .libraries = "l", .worker = "a 0.1"}, {.after = 1}));
  redis.command({"SET", "brood:unique:digest", "holder"});
  redis.command({"SADD", "processes", "h:1:x", "gone:1:x"});
  redis.command({"HSET", "h:1:x", "info", R"({"capsules":{"slow":{"concurrency":0},"default":{}}})", "busy", "1"});
  redis.command(
      {"HSET", "h:1:x:work", "t1", R"({"queue":"q","payload":"{\"class\":\"A\",\"args\":[],\"jid\":\"j1\"}"})"});
  redis.command({"HSET", "h:1:x:work", "t2", "no json"});
  const auto names = [&](const std::string& kind) {
    const TemporaryDirectory runtime;
    return run_brood({"names", kind, "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}}).output;
  };
  BOOST_TEST(names("crashes") == "00000000000000aa\n");
  BOOST_TEST(names("quarantined") == "Decode\n");
  BOOST_TEST(names("locks") == "digest\nholder\n");
  BOOST_TEST(names("capsules") == "default\nslow\n");
  BOOST_TEST(names("running") == "j1\n");
}

BOOST_AUTO_TEST_CASE(a_new_key_is_for_its_owner_alone_and_never_in_the_place_of_another) {
  const TemporaryDirectory directory;
  const std::string path = directory / "key1";
  const CommandResult made = run_brood({"keys", "new", path, "--json"});
  BOOST_TEST(made.status == 0, made.errors);
  BOOST_TEST(made.output == "{\"path\":\"" + path + "\"}\n");
  struct stat status {};
  BOOST_REQUIRE(stat(path.c_str(), &status) == 0);
  BOOST_TEST((status.st_mode & 07777) == 0400);
  const std::string key = text_of_file(path);
  BOOST_TEST(key.size() == 32u);
  BOOST_TEST(run_brood({"keys", "new", path}).status == 64);
  BOOST_TEST(text_of_file(path) == key);
  BOOST_TEST(run_brood({"keys", "new", directory / "key2"}).status == 0);
  BOOST_TEST(text_of_file(directory / "key2") != key);
  BOOST_TEST(run_brood({"keys", "new", directory / "none/key"}).status == 64);
  BOOST_TEST(run_brood({"keys", "new"}).status == 64);
}

BOOST_AUTO_TEST_CASE(closed_standard_descriptors_do_not_become_connections) {
  RedisServer redis;
  BOOST_TEST(shell("$BROOD enqueue Zip --redis '" + redis.url() + "' <&- >&- 2>&-") == 0);
  BOOST_TEST(redis.size_of("queue:default") == 1u);
  BOOST_TEST(shell("$BROOD frobnicate <&- >&- 2>&-") == 64);
}

BOOST_AUTO_TEST_CASE(a_full_disk_behind_standard_output_is_an_error_and_a_reader_that_left_is_none) {
  const TemporaryDirectory directory;
  BOOST_TEST(shell("$BROOD --help >/dev/full 2>'" + (directory / "err") + "'") == 70);
  BOOST_TEST(text_of_file(directory / "err") == "brood: standard output: No space left on device\n");
  int fds[2];
  BOOST_TEST_REQUIRE(pipe(fds) == 0);
  close(fds[0]);
  BOOST_TEST(shell("$BROOD --help >&" + std::to_string(fds[1])) == 0);
  close(fds[1]);
}

BOOST_AUTO_TEST_CASE(a_brood_without_its_companions_says_what_is_missing_and_where_it_looked) {
  const TemporaryDirectory directory;
  const std::string alone = "'" + (directory / "bin/brood") + "' ";
  BOOST_TEST_REQUIRE(shell("mkdir '" + (directory / "bin") + "' && cp \"$BROOD\" " + alone) == 0);
  for (const auto& [words, name, program] : {std::tuple("status --watch", "brood status", "brood-watch"),
                                             std::tuple("bench --json", "brood bench", "brood-bench"),
                                             std::tuple("import x.yml", "brood import", "brood-import")}) {
    BOOST_TEST(shell(alone + words + " 2>'" + (directory / "err") + "'") == 69);
    const std::string beside = directory / "bin/" + program;
    BOOST_TEST(text_of_file(directory / "err")
                   .starts_with(std::string(name) + ": " + program + " is missing: it is neither " + beside + " nor /"),
               text_of_file(directory / "err"));
  }
  // The program needs nothing else.
  BOOST_TEST(shell(alone + "status --help >'" + (directory / "help") + "'") == 0);
  BOOST_TEST(text_of_file(directory / "help") == run_brood({"status", "--help"}).output);

  BOOST_TEST_REQUIRE(shell("cp \"$BROOD-bench\" '" + (directory / "bin") + "'") == 0);
  BOOST_TEST(shell(alone + "bench --help >'" + (directory / "help") + "'") == 0);
  BOOST_TEST(text_of_file(directory / "help") == run_brood({"bench", "--help"}).output);
}

BOOST_AUTO_TEST_CASE(the_configuration_of_sidekiq_is_translated_and_the_result_can_run) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "sidekiq.yml") << ":concurrency: 2\n:queues: [[mail, 2], default]\npidfile: x\n";
  std::ofstream(directory / "schedule.yml") << "tick: {cron: '* * * * *', class: Tick}\n";
  const std::string into = "'" + (directory / "brood.toml") + "'", from = "'" + (directory / "sidekiq.yml") + "'";
  BOOST_TEST_REQUIRE(shell("$BROOD import " + from + " >" + into + " 2>'" + (directory / "err") + "'") == 0);
  const std::string toml = text_of_file(directory / "brood.toml");
  BOOST_TEST(toml.find("queues = [[\"mail\", 2], [\"default\", 1]]") != std::string::npos, toml);
  BOOST_TEST(toml.find("[periodic.tick]") != std::string::npos, toml);
  BOOST_TEST(toml.find("sidekiq.yml:3: pidfile: has no counterpart") != std::string::npos, toml);
  BOOST_TEST(text_of_file(directory / "err").find("3 settings have a counterpart") != std::string::npos);
  BOOST_TEST(shell("$BROOD run -C " + into + " --check >'" + (directory / "out") + "' 2>&1") == 0,
             text_of_file(directory / "out"));
  // The same file given as a brood.toml.
  BOOST_TEST(shell("$BROOD run -C " + from + " --check 2>'" + (directory / "err") + "'") == 78);
  BOOST_TEST(text_of_file(directory / "err").find("brood import ") != std::string::npos);
  BOOST_TEST(shell("printf 'a: [b' | $BROOD import - 2>'" + (directory / "err") + "'") == 78);
}
