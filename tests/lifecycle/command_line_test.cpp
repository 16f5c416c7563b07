#include <simdjson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/identity.hpp"
#include "shared/redis/connection.hpp"
#include "shared/scoreboard/class_usage.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/crash_book.hpp"
#include "shared/store/in_flight/quarantine.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

CommandResult enqueue(const RedisServer& redis, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"enqueue", "--redis", redis.url()});
  return run_brood(arguments);
}

// Runs a line of shell in which $BROOD is the program; returns its exit status.
int shell(const std::string& line) {
  const std::string whole = "BROOD='" BROOD_BINARY_DIR "/bin/brood'; " + line;
  const int status = system(whole.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Without what only aligns columns.
std::string squeezed(const std::string& text) {
  std::string all;
  for (const char c : text) {
    if (c != ' ' || all.empty() || all.back() != ' ') all += c;
  }
  return all;
}

std::string member(const std::string& json, const std::string& name) {
  simdjson::dom::parser parser;
  return simdjson::minify(parser.parse(json)[name]);
}

}  // namespace

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
       "brood status: --check says one sentence; leave out --watch, --json, --format and --crash\n"},
      {{"scale", "2", "--all", "--process", "a"}, "brood scale: --all and --process exclude each other\n"},
      {{"scale", "2", "--redis", "unix:///x"},
       "brood scale: --redis, --config and --shard go with --all or --process\n"},
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
      {{"enqueue", "--bulk", "x", "--spread", "0s"}, "brood enqueue: --spread must be longer than nothing\n"},
      {{"enqueue", "Job", "--spread", "1h"}, "brood enqueue: --spread goes with --bulk\n"},
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
}

BOOST_AUTO_TEST_CASE(an_argument_that_parses_as_json_is_that_value_and_everything_else_a_string) {
  RedisServer redis;
  const CommandResult result = enqueue(redis, {"ResizeImage", "cat.png", "320", "-5", "1.50", "[1,2]", "{\"a\":1}",
                                               "true", "null", "007", "\"x\"", "", "-q", "images"});
  BOOST_TEST(result.status == 0);
  BOOST_TEST_REQUIRE(redis.size_of("queue:images") == 1u);
  const std::string payload = redis.lrange("queue:images")[0];
  BOOST_TEST(member(payload, "class") == "\"ResizeImage\"");
  BOOST_TEST(payload.find(R"("args":["cat.png",320,-5,1.5,[1,2],{"a":1},true,null,"007","x",""])") !=
             std::string::npos);
  BOOST_TEST(member(payload, "retry") == "true");
  BOOST_TEST("\"" + result.output.substr(0, 24) + "\"" == member(payload, "jid"));
  BOOST_TEST(result.output.size() == 25u);
  BOOST_TEST(redis.smembers("queues") == std::vector<std::string>{"images"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(arguments_can_all_be_strings_or_one_json_array) {
  RedisServer redis;
  BOOST_TEST(enqueue(redis, {"Zip", "--string", "7", "true", "--", "-x"}).status == 0);
  BOOST_TEST(member(redis.lrange("queue:default")[0], "args") == R"(["7","true","-x"])");
  BOOST_TEST(enqueue(redis, {"Zip", "--args", "[\"cat.png\", 320]"}).status == 0);
  BOOST_TEST(member(redis.lrange("queue:default")[0], "args") == R"(["cat.png",320])");
  BOOST_TEST(enqueue(redis, {"Zip", "--args", "{}"}).status == 64);
  BOOST_TEST(enqueue(redis, {"a<b"}).status == 64);
  BOOST_TEST(redis.size_of("queue:default") == 2u);
}

BOOST_AUTO_TEST_CASE(retry_and_jid_reach_the_payload_and_json_reports_them) {
  RedisServer redis;
  const CommandResult result = enqueue(redis, {"Zip", "--retry", "3", "--jid", "my-own-jid", "--json"});
  BOOST_TEST(member(redis.lrange("queue:default")[0], "retry") == "3");
  BOOST_TEST(member(redis.lrange("queue:default")[0], "jid") == "\"my-own-jid\"");
  BOOST_TEST(result.output == "{\"jid\":\"my-own-jid\",\"class\":\"Zip\",\"queue\":\"default\",\"at\":null}\n");
  enqueue(redis, {"Zip", "--retry", "false"});
  BOOST_TEST(member(redis.lrange("queue:default")[0], "retry") == "false");
}

BOOST_AUTO_TEST_CASE(tags_and_timeout_reach_the_payload) {
  RedisServer redis;
  BOOST_TEST(enqueue(redis, {"--tag", "slow", "Zip", "--tag", "by \"hand\"", "1", "--timeout", "1m30s"}).status == 0);
  const std::string payload = redis.lrange("queue:default")[0];
  BOOST_TEST(member(payload, "args") == "[1]");
  BOOST_TEST(member(payload, "tags") == R"(["slow","by \"hand\""])");
  BOOST_TEST(member(payload, "timeout") == "90");
}

BOOST_AUTO_TEST_CASE(a_bulk_can_be_spread_over_an_interval) {
  RedisServer redis;
  const TemporaryDirectory directory;
  std::string lines;
  for (int i = 0; i < 50; ++i) lines += "{\"class\":\"Zip\",\"args\":[" + std::to_string(i) + "]}\n";
  const double before = epoch_seconds(wall_now());
  BOOST_TEST(enqueue(redis, {"--bulk", directory.write("jobs.ndjson", lines), "--spread", "1h"}).status == 0);
  BOOST_TEST_REQUIRE(redis.size_of("schedule") == 50u);
  BOOST_TEST(redis.zrange("schedule").front().second >= before);
  BOOST_TEST(redis.zrange("schedule").back().second > before + 60);
  BOOST_TEST(redis.zrange("schedule").back().second < epoch_seconds(wall_now()) + 3600);

  const std::string file =
      directory.write("timed.ndjson", lines + "{\"class\":\"Zip\",\"args\":[],\"at\":2000000000}\n");
  const CommandResult result = enqueue(redis, {"--bulk", file, "--spread", "1h"});
  BOOST_TEST(result.status == 64);
  BOOST_TEST(result.errors.starts_with("brood enqueue: " + file + ":51: a job that has its time cannot be spread; "),
             result.errors);
}

BOOST_AUTO_TEST_CASE(a_job_for_later_goes_to_the_schedule_and_one_for_the_past_to_its_queue) {
  RedisServer redis;
  const double before = epoch_seconds(wall_now());
  BOOST_TEST(enqueue(redis, {"Zip", "--in", "10m"}).status == 0);
  BOOST_TEST_REQUIRE(redis.size_of("schedule") == 1u);
  BOOST_TEST(redis.zrange("schedule")[0].second >= before + 600);
  BOOST_TEST(redis.zrange("schedule")[0].second < epoch_seconds(wall_now()) + 601);
  BOOST_TEST(enqueue(redis, {"Zip", "--at", "2100-01-01T00:00:00Z"}).status == 0);
  BOOST_TEST(redis.zrange("schedule")[1].second == 4102444800.0);
  BOOST_TEST(enqueue(redis, {"Zip", "--at", "2001-01-01T00:00:00Z"}).status == 0);
  BOOST_TEST(enqueue(redis, {"Zip", "--in", "0"}).status == 0);
  BOOST_TEST(redis.size_of("queue:default") == 2u);
}

BOOST_AUTO_TEST_CASE(bulk_pushes_every_line_of_a_file_or_of_standard_input) {
  RedisServer redis;
  const TemporaryDirectory directory;
  std::string lines;
  for (int i = 0; i < 2'500; ++i)
    lines += "{\"class\":\"Zip\",\"args\":[" + std::to_string(i) + "],\"queue\":\"bulk\"}\n\n";
  lines += "{\"class\":\"Zip\",\"args\":[\"last\"],\"queue\":\"bulk\"}";
  const std::string file = directory.write("jobs.ndjson", lines);
  const CommandResult result = enqueue(redis, {"--bulk", file});
  BOOST_TEST(result.status == 0);
  BOOST_TEST(result.output == "2501 jobs pushed\n");
  BOOST_TEST(redis.size_of("queue:bulk") == 2501u);
  BOOST_TEST(member(redis.lrange("queue:bulk").back(), "args") == "[0]");
  BOOST_TEST(shell("$BROOD enqueue --redis '" + redis.url() + "' --bulk - --json <'" + file + "' >'" +
                   (directory / "out") + "'") == 0);
  BOOST_TEST(text_of_file(directory / "out") == "{\"pushed\":2501}\n");
  BOOST_TEST(redis.size_of("queue:bulk") == 5002u);
  BOOST_TEST(enqueue(redis, {"--bulk", directory / "missing"}).status == 64);
  BOOST_TEST(enqueue(redis, {"--bulk", directory.path()}).status == 64);
}

BOOST_AUTO_TEST_CASE(a_line_that_is_no_job_is_named_and_nothing_after_it_is_pushed) {
  RedisServer redis;
  const TemporaryDirectory directory;
  for (const std::string bad : {"{\"class\":\"Zip\"}", "not json", "{\"class\":\"a b\",\"args\":[]}", "[]",
                                "{\"class\":\"Zip\",\"args\":{}}"}) {
    redis.flush();
    const std::string good = "{\"class\":\"Zip\",\"args\":[]}\n";
    const std::string file = directory.write("jobs.ndjson", good + good + "\n" + bad + "\n" + good);
    const CommandResult result = enqueue(redis, {"--bulk", file});
    BOOST_TEST(result.status == 64);
    BOOST_TEST(result.errors.starts_with("brood enqueue: " + file + ":4: "), result.errors);
    BOOST_TEST(result.errors.find("; the 2 jobs before it were pushed\n") != std::string::npos);
    BOOST_TEST(redis.size_of("queue:default") == 2u);
  }
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

BOOST_AUTO_TEST_CASE(status_reports_what_redis_and_the_scoreboards_hold) {
  RedisServer redis;
  const TemporaryDirectory runtime;
  enqueue(redis, {"Zip", "-q", "images"});
  enqueue(redis, {"Zip", "--in", "10m"});
  redis.command({"SADD", "queues", "broken", "gone"});
  redis.command({"SET", "queue:broken", "no list"});
  redis.command({"SET", "stat:processed", "12"});
  redis.command({"SET", "stat:failed", "3"});
  redis.command({"ZADD", "dead", "1", "not even json"});
  redis.command({"SADD", "processes", "h:1:abc", "expired:2:def", "broken:3:ghi"});
  redis.command(
      {"HSET", "h:1:abc", "info",
       R"({"hostname":"h","started_at":1e3,"pid":1,"tag":"t<","concurrency":4,"queues":["a","b"],"labels":["l"],"version":"8.1.7"})",
       "busy", "2", "beat", "inf", "quiet", "true", "rss", "2048", "rtt_us", "x", "concurrency", "4"});
  redis.command({"HSET", "broken:3:ghi", "info", "{", "busy", "2"});
  const Identity self = Identity::of_this_process();
  Scoreboard scoreboard = Scoreboard::create(runtime.path(), self.name, 4);
  SlotRecord& record = scoreboard.slot(2);
  record.pid = getpid();
  record.start_time = process_start_time(getpid());
  record.ready = 1;
  record.current = -1;
  WorkerSlot worker(record);
  worker.adopt_incarnation(7);
  worker.set_number(1);
  worker.set_queue("images");
  worker.set_fetched(1);
  BOOST_TEST_REQUIRE(worker.begin(0, "b4a577edbccf1d805744efa9", "Zip\x1b[31m", wall_now(), steady_now(), 0));
  runtime.write("rubbish.scoreboard", "not one");

  const CommandResult result =
      run_brood({"status", "--json", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}});

  BOOST_TEST(result.status == 0);
  simdjson::dom::parser parser;
  const simdjson::dom::element status = parser.parse(result.output);
  BOOST_TEST(status["processed"].get_int64().value() == 12);
  BOOST_TEST(status["failed"].get_int64().value() == 3);
  BOOST_TEST(status["enqueued"].get_int64().value() == 1);
  BOOST_TEST(status["scheduled"].get_int64().value() == 1);
  BOOST_TEST(status["retries"].get_int64().value() == 0);
  BOOST_TEST(status["dead"].get_int64().value() == 1);
  BOOST_TEST(status["error"].is_null());

  BOOST_TEST_REQUIRE(status["processes"].get_array().size() == 1u);
  const simdjson::dom::element process = status["processes"].at(0);
  BOOST_TEST(std::string(process["identity"]) == "h:1:abc");
  BOOST_TEST(simdjson::minify(process["queues"]) == R"(["a","b"])");
  BOOST_TEST(process["concurrency"].get_int64().value() == 4);
  BOOST_TEST(process["busy"].get_int64().value() == 2);
  BOOST_TEST(process["quiet"].get_bool().value());
  BOOST_TEST(process["rtt_us"].get_int64().value() == 0);

  BOOST_TEST_REQUIRE(status["queues"].get_array().size() == 3u);
  BOOST_TEST(std::string(status["queues"].at(0)["name"]) == "broken");
  BOOST_TEST(status["queues"].at(0)["size"].is_null());
  BOOST_TEST(status["queues"].at(1)["size"].get_int64().value() == 0);
  BOOST_TEST(status["queues"].at(2)["size"].get_int64().value() == 1);
  BOOST_TEST(status["queues"].at(2)["latency"].get_double().value() < 100);

  BOOST_TEST_REQUIRE(status["workers"].get_array().size() == 1u);
  const simdjson::dom::element shown = status["workers"].at(0);
  BOOST_TEST(shown["slot"].get_int64().value() == 2);
  BOOST_TEST(shown["pid"].get_int64().value() == getpid());
  BOOST_TEST(std::string(shown["state"]) == "busy");
  BOOST_TEST(std::string(shown["job"]["class"]) == "Zip\x1b[31m");
  BOOST_TEST(std::string(shown["job"]["jid"]) == "b4a577edbccf1d805744efa9");
  BOOST_TEST(std::string(shown["job"]["queue"]) == "images");
  BOOST_TEST(shown["job"]["age"].get_double().value() >= 0);

  const CommandResult text = run_brood({"status", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}});
  BOOST_TEST(text.status == 0);
  BOOST_TEST(text.output.find("Zip\\x1b[31m") != std::string::npos);
  BOOST_TEST(text.output.find('\x1b') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(status_shows_how_long_a_slot_rests_and_a_job_has_left) {
  RedisServer redis;
  const TemporaryDirectory runtime;
  Scoreboard scoreboard = Scoreboard::create(runtime.path(), Identity::of_this_process().name, 4);
  scoreboard.slot(0).rests_until = (steady_now() + std::chrono::seconds(25)).time_since_epoch().count();
  scoreboard.slot(1).rests_until = (steady_now() - std::chrono::seconds(25)).time_since_epoch().count();
  SlotRecord& record = scoreboard.slot(2);
  record.pid = getpid();
  record.start_time = process_start_time(getpid());
  record.ready = 1;
  WorkerSlot worker(record);
  worker.adopt_incarnation(7);
  worker.set_fetched(1);
  BOOST_TEST_REQUIRE(worker.begin(0, "abc", "Zip", wall_now(), steady_now(), 0));
  worker.set_deadline(steady_now() + std::chrono::seconds(100));

  const CommandResult result =
      run_brood({"status", "--json", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}});
  simdjson::dom::parser parser;
  const simdjson::dom::element workers = parser.parse(result.output)["workers"];
  BOOST_TEST_REQUIRE(workers.get_array().size() == 2u);
  BOOST_TEST(std::string(workers.at(0)["state"]) == "resting");
  BOOST_TEST(workers.at(0)["pid"].get_int64().value() == 0);
  BOOST_TEST(workers.at(0)["rests_for"].get_double().value() > 10);
  BOOST_TEST(workers.at(0)["rests_for"].get_double().value() <= 25);
  BOOST_TEST(workers.at(0)["rss_kb"].is_null());
  BOOST_TEST(workers.at(0)["cpu_s"].is_null());
  BOOST_TEST(std::string(workers.at(1)["state"]) == "busy");
  BOOST_TEST(workers.at(1)["rests_for"].is_null());
  BOOST_TEST(workers.at(1)["job"]["deadline_in"].get_double().value() > 80);
  BOOST_TEST(workers.at(1)["job"]["deadline_in"].get_double().value() <= 100);

  const CommandResult text = run_brood({"status", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}});
  BOOST_TEST(squeezed(text.output).find(" 0 resting 2") != std::string::npos, text.output);
  BOOST_TEST(text.output.find("  1m3") != std::string::npos, text.output);

  worker.set_deadline(steady_now() - std::chrono::seconds(1));
  BOOST_TEST(
      run_brood({"status", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}}).output.find("  over  ") !=
      std::string::npos);
  worker.set_deadline(std::nullopt);
  BOOST_TEST(run_brood({"status", "--json", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}})
                 .output.find("\"deadline_in\":null") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(status_sums_what_the_job_classes_of_all_supervisors_used) {
  using namespace std::chrono_literals;
  RedisServer redis;
  const TemporaryDirectory runtime;
  for (const std::string nonce : {"aaaaaaaaaaaa", "bbbbbbbbbbbb"}) {
    Scoreboard scoreboard = Scoreboard::create(runtime.path(), "host:1:" + nonce, 1);
    add_runs(scoreboard.usage().at(usage_index(scoreboard.usage(), "Zip")),
             {.cpu = 250ms, .wall = 2s, .peak_rss_kb = nonce[0] == 'a' ? 4096u : 1024u},
             {.ended_well = 1, .waited = {}});
    add_crash(scoreboard.usage().at(usage_index(scoreboard.usage(), "Bang")),
              {.cpu = 10ms, .wall = 20ms, .peak_rss_kb = 5});
  }
  const CommandResult result =
      run_brood({"status", "--json", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}});
  simdjson::dom::parser parser;
  const simdjson::dom::element classes = parser.parse(result.output)["classes"];
  BOOST_TEST_REQUIRE(classes.get_array().size() == 2u);
  BOOST_TEST(std::string(classes.at(0)["name"]) == "Bang");
  BOOST_TEST(classes.at(0)["crashed"].get_int64().value() == 2);
  BOOST_TEST(std::string(classes.at(1)["name"]) == "Zip");
  BOOST_TEST(classes.at(1)["runs"].get_int64().value() == 2);
  BOOST_TEST(classes.at(1)["failed"].get_int64().value() == 0);
  BOOST_TEST(classes.at(1)["cpu_s"].get_double().value() == 0.5);
  BOOST_TEST(classes.at(1)["wall_s"].get_double().value() == 4.0);
  BOOST_TEST(classes.at(1)["peak_rss_kb"].get_int64().value() == 4096);
  const CommandResult text = run_brood({"status", "--redis", redis.url()}, {{"RUNTIME_DIRECTORY", runtime.path()}});
  BOOST_TEST(text.output.find("Job classes of this machine\n") != std::string::npos, text.output);
}

BOOST_AUTO_TEST_CASE(status_shows_crashes_by_fingerprint_and_the_last_with_its_stack) {
  RedisServer redis;
  Connection connection(redis.address(), {}, "test");
  const double now = epoch_seconds(wall_now());
  Crash old{.fingerprint = "00000000000000aa",
            .at = now - 7200,
            .job_class = "Zip",
            .error_class = "SIGABRT",
            .message = "SIGABRT in Zip",
            .jid = "abc",
            .queue = "default",
            .identity = "h:1:abc",
            .frames = {"#0 zip() at zip.cpp:1 (libjobs.so+0x1)"},
            .has_names = true};
  Crash latest{.fingerprint = "00000000000000bb",
               .at = now - 60,
               .job_class = "Resize\x1b[31m",
               .error_class = "SIGSEGV",
               .message = "SIGSEGV (SEGV_MAPERR) at 0x10 in Resize",
               .jid = "def",
               .queue = "images",
               .identity = "h:1:abc",
               .frames = {},
               .has_names = true};
  for (int i = 0; i < 20; ++i) latest.frames.push_back("#" + std::to_string(i) + " frame" + std::to_string(i) + "()");
  for (const Crash& crash : {old, latest, latest}) note_crash(connection, crash);
  const auto status = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"status", "--redis", redis.url()});
    const TemporaryDirectory runtime;
    return run_brood(arguments, {{"RUNTIME_DIRECTORY", runtime.path()}});
  };

  simdjson::dom::parser parser;
  const simdjson::dom::element crashes = parser.parse(status({"--json"}).output)["crashes"];
  BOOST_TEST_REQUIRE(crashes.get_array().size() == 2u);
  BOOST_TEST(std::string(crashes.at(0)["fingerprint"]) == latest.fingerprint);
  BOOST_TEST(crashes.at(0)["count"].get_int64().value() == 2);
  BOOST_TEST(std::string(crashes.at(0)["class"]) == latest.job_class);
  BOOST_TEST(std::string(crashes.at(0)["error_class"]) == "SIGSEGV");
  BOOST_TEST(std::string(crashes.at(0)["message"]) == latest.message);
  BOOST_TEST(std::string(crashes.at(0)["jid"]) == "def");
  BOOST_TEST(std::string(crashes.at(0)["queue"]) == "images");
  BOOST_TEST(crashes.at(0)["frames"].get_array().size() == 20u);
  BOOST_TEST(std::string(crashes.at(1)["fingerprint"]) == old.fingerprint);

  const std::string text = status({}).output;
  BOOST_TEST(squeezed(text).find(" SIGSEGV frame0() 1m ago 00000000000000bb\n") != std::string::npos, text);
  BOOST_TEST(squeezed(text).find(" SIGABRT zip() at zip.cpp:1 (libjobs.so+0x1) 2h ago 0000") != std::string::npos,
             text);
  const std::string last = text.substr(text.find("\nLast crash\n"));
  BOOST_TEST(last.find(latest.message) != std::string::npos);
  BOOST_TEST(last.find("frame12()") != std::string::npos);
  BOOST_TEST(last.find("frame13()") == std::string::npos);
  BOOST_TEST(last.find("brood status --crash 00000000000000bb shows all of it") != std::string::npos);
  BOOST_TEST(text.find('\x1b') == std::string::npos);

  const CommandResult one = status({"--crash", "00000000000000b"});
  BOOST_TEST(one.status == 0);
  BOOST_TEST(one.output.find("frame19()") != std::string::npos);
  BOOST_TEST(one.output.find("2 times") != std::string::npos);
  BOOST_TEST(one.output.find("zip.cpp") == std::string::npos);
  BOOST_TEST(member(status({"--crash", "00000000000000aa", "--json"}).output, "class") == "\"Zip\"");
  BOOST_TEST(status({"--crash", "ff"}).status == 64);

  // What is in the way hides nothing else.
  for (const std::string& key : redis.keys("brood:crash*")) redis.command({"DEL", key});
  for (const char* key :
       {"brood:crashes", "brood:crash_times", "brood:crash_counts", "brood:crash_days", "brood:crash_stacks"})
    redis.command({"SET", key, "of another type"});
  BOOST_TEST(status({}).errors.find("nobody performs jobs of this Redis") != std::string::npos);
  BOOST_TEST(member(status({"--json"}).output, "crashes") == "[]");
}

BOOST_AUTO_TEST_CASE(completions_are_told_what_the_commands_take) {
  RedisServer redis;
  Connection connection(redis.address());
  Crash crash;
  crash.fingerprint = "00000000000000aa";
  crash.at = epoch_seconds(wall_now());
  crash.job_class = "Zip";
  note_crash(connection, crash);
  send(connection,
       count_quarantine_crash({.job_class = "Decode", .fingerprint = "f1", .libraries = "l", .worker = "a 0.1"},
                              {.after = 1}));
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
                                             std::tuple("bench --json", "brood bench", "brood-bench")}) {
    BOOST_TEST(shell(alone + words + " 2>'" + (directory / "err") + "'") == 69);
    const std::string beside = directory / "bin/" + program;
    BOOST_TEST(text_of_file(directory / "err")
                   .starts_with(std::string(name) + ": " + program + " is missing: it is neither " + beside + " nor /"),
               text_of_file(directory / "err"));
  }
  // All else it has itself.
  BOOST_TEST(shell(alone + "status --help >'" + (directory / "help") + "'") == 0);
  BOOST_TEST(text_of_file(directory / "help") == run_brood({"status", "--help"}).output);

  BOOST_TEST_REQUIRE(shell("cp \"$BROOD-bench\" '" + (directory / "bin") + "'") == 0);
  BOOST_TEST(shell(alone + "bench --help >'" + (directory / "help") + "'") == 0);
  BOOST_TEST(text_of_file(directory / "help") == run_brood({"bench", "--help"}).output);
}
