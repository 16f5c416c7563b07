#include <simdjson.h>

#include <boost/test/unit_test.hpp>
#include <fstream>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string iterating = BROOD_BINARY_DIR "/tests/job_libraries/libiterating_jobs.so";
const std::string jid = "000000000000000000000001", state = "it-" + jid;

CommandResult cancel(const RedisServer& redis, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "cancel");
  arguments.insert(arguments.end(), {"--redis", redis.url()});
  return run_brood(arguments);
}

// Due in some 75 years.
void schedule(RedisServer& redis, long number) {
  redis.command({"ZADD", "schedule", std::to_string(4'100'000'000 + number), payload_text("Zip", "[]", number)});
}

bool file_has(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line == word) return true;
  }
  return false;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_that_is_not_yet_due_leaves_the_schedule) {
  RedisServer redis;
  for (const long number : {1, 2, 3}) schedule(redis, number);

  const CommandResult text = cancel(redis, {jid});
  BOOST_TEST(text.status == 0, text.errors);
  BOOST_TEST(text.output.starts_with("cancelled Zip " + jid + ", which was due in "), text.output);
  BOOST_TEST(redis.size_of("schedule") == 2U);

  const CommandResult json = cancel(redis, {"000000000000000000000002", "--json"});
  simdjson::dom::parser parser;
  const simdjson::dom::element answer = parser.parse(json.output);
  BOOST_TEST(std::string(answer["jid"]) == "000000000000000000000002");
  BOOST_TEST(std::string(answer["was"]) == "scheduled");
  BOOST_TEST(std::string(answer["job"]["class"]) == "Zip");
  BOOST_TEST(redis.size_of("schedule") == 1U);
  BOOST_TEST(redis.keys("it-*").empty());
}

BOOST_AUTO_TEST_CASE(an_unknown_job_is_reported_as_missing) {
  RedisServer redis;
  schedule(redis, 1);
  for (const std::string& word : {std::string("00000000000000000000000"), std::string("*"), std::string("[0-9]*"),
                                  std::string("000000000000000000000001*"), std::string(100'000, '0')}) {
    const CommandResult result = cancel(redis, {word});
    BOOST_TEST(result.status == 75);
    BOOST_TEST(result.output.empty());
    BOOST_TEST(result.errors == "brood cancel: no job " + word + " is scheduled or known to iterate\n");
  }
  BOOST_TEST(cancel(redis, {"nobody", "--json"}).output == "null\n");
  BOOST_TEST(redis.size_of("schedule") == 1U);
  BOOST_TEST(redis.keys("it-*").empty());
}

BOOST_AUTO_TEST_CASE(an_iterable_job_that_has_begun_is_cancelled_once_and_not_taken_from_the_schedule) {
  RedisServer redis;
  schedule(redis, 1);  // for its next run: its on_cancel must still be called
  redis.command({"HSET", state, "ex", "2", "c", "10", "rt", "1.5"});

  const CommandResult first = cancel(redis, {jid});
  BOOST_TEST(first.status == 0, first.errors);
  BOOST_TEST(first.output ==
             "cancelled " + jid + ", which has begun 2 runs: it ends at its next save, or when it next begins\n");
  const auto when = redis.hget(state, "cancelled");
  BOOST_REQUIRE(when.has_value());
  BOOST_TEST(redis.size_of("schedule") == 1U);

  redis.command({"HSET", state, "cancelled", "1700000000"});
  const CommandResult second = cancel(redis, {jid});
  BOOST_TEST(second.status == 0);
  BOOST_TEST(second.output.starts_with(jid + " was cancelled "), second.output);
  simdjson::dom::parser parser;
  const CommandResult json = cancel(redis, {jid, "--json"});
  const simdjson::dom::element answer = parser.parse(json.output);
  BOOST_TEST(std::string(answer["was"]) == "iterating");
  BOOST_TEST(answer["executions"].get_int64().value() == 2);
  BOOST_TEST(answer["cursor"].get_int64().value() == 10);
  BOOST_TEST(answer["cancelled_at"].get_int64().value() == 1'700'000'000);
  BOOST_TEST(!answer["is_new"].get_bool().value());
}

BOOST_AUTO_TEST_CASE(a_job_with_the_option_iterable_is_cancelled_without_a_look) {
  RedisServer redis;
  const CommandResult result = cancel(redis, {jid, "--iterable"});
  BOOST_TEST(result.status == 0, result.errors);
  BOOST_TEST(result.output == "cancelled " + jid + ": it ends at its next save, or when it next begins\n");
  BOOST_TEST(redis.hget(state, "cancelled").has_value());
  // A scheduled job leaves the schedule, cancelled or not.
  schedule(redis, 1);
  BOOST_TEST(cancel(redis, {jid}).output.starts_with("cancelled Zip "));
  BOOST_TEST(redis.size_of("schedule") == 0U);
}

BOOST_AUTO_TEST_CASE(a_running_iterable_job_ends_for_good) {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string path = directory / "lines";
  BroodProcess brood(redis, {.workers = 1, .libraries = {iterating}, .environment = {{"ITERATION_LINES", path}}});
  enqueue(redis, {payload_text("Walk", "[\"" + path + "\",100000,3]")});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.hget(state, "ex").has_value(); }, 30s), brood.log_tail());
  BOOST_TEST(cancel(redis, {jid}).status == 0);
  BOOST_TEST(eventually([&] { return file_has(path, "cancelled"); }, 30s), brood.log_tail());
  BOOST_TEST(eventually([&] { return redis.keys("it-*").empty() && jobs_in_flight(redis) == 0; }, 30s));
  BOOST_TEST(cancel(redis, {jid}).status == 75);
}

BOOST_AUTO_TEST_CASE(cancelling_a_running_job_that_does_not_iterate_is_refused_with_a_hint) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1});
  enqueue(redis, {payload_text("Sleep", "[600000]")});
  const auto hears = [&] { return cancel(redis, {jid}).errors.find("it runs now") != std::string::npos; };
  BOOST_TEST(eventually(hears, 30s), brood.log_tail());
  BOOST_TEST(redis.keys("it-*").empty());
}

BOOST_AUTO_TEST_CASE(what_is_no_state_ends_as_an_error_and_stays) {
  RedisServer redis;
  redis.command({"SET", state, "no hash"});
  const CommandResult refused = cancel(redis, {jid});
  BOOST_TEST(refused.status == 69);
  BOOST_TEST(refused.errors.find("WRONGTYPE") != std::string::npos, refused.errors);
  BOOST_TEST(redis.get(state).value_or("") == "no hash");

  redis.command({"DEL", state});
  redis.command({"HSET", state, "ex", "9223372036854775807", "c", "no \xff json", "cancelled", "9223372036854775807"});
  const CommandResult hostile = cancel(redis, {jid, "--json"});
  BOOST_TEST(hostile.status == 0, hostile.errors);
  simdjson::dom::parser parser;
  BOOST_TEST(parser.parse(hostile.output)["cursor"].is_null());
}

BOOST_AUTO_TEST_CASE(a_command_line_that_says_too_little_or_too_much_is_refused) {
  BOOST_TEST(run_brood({"cancel"}).errors.starts_with("brood cancel: the id of the job is missing\n"));
  BOOST_TEST(run_brood({"cancel", ""}).status == 64);
  BOOST_TEST(run_brood({"cancel", jid, jid}).status == 64);
  BOOST_TEST(run_brood({"cancel", jid, "--iterabel"}).errors.find("--iterable") != std::string::npos);
  BOOST_TEST(run_brood({"cancel", jid, "--redis", "unix:///nowhere/redis.sock"}).status == 69);
}
