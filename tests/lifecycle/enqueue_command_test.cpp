#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "tests/lifecycle/shell_line.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/json_member.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

CommandResult run_enqueue(const RedisServer& redis, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"enqueue", "--redis", redis.url()});
  return run_brood(arguments);
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_argument_that_parses_as_json_is_that_value_and_everything_else_a_string) {
  RedisServer redis;
  const CommandResult result = run_enqueue(redis, {"ResizeImage", "cat.png", "320", "-5", "1.50", "[1,2]", "{\"a\":1}",
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
  BOOST_TEST(run_enqueue(redis, {"Zip", "--string", "7", "true", "--", "-x"}).status == 0);
  BOOST_TEST(member(redis.lrange("queue:default")[0], "args") == R"(["7","true","-x"])");
  BOOST_TEST(run_enqueue(redis, {"Zip", "--args", "[\"cat.png\", 320]"}).status == 0);
  BOOST_TEST(member(redis.lrange("queue:default")[0], "args") == R"(["cat.png",320])");
  BOOST_TEST(run_enqueue(redis, {"Zip", "--args", "{}"}).status == 64);
  BOOST_TEST(run_enqueue(redis, {"a<b"}).status == 64);
  BOOST_TEST(redis.size_of("queue:default") == 2u);
}

BOOST_AUTO_TEST_CASE(retry_and_jid_reach_the_payload_and_json_reports_them) {
  RedisServer redis;
  const CommandResult result = run_enqueue(redis, {"Zip", "--retry", "3", "--jid", "my-own-jid", "--json"});
  BOOST_TEST(member(redis.lrange("queue:default")[0], "retry") == "3");
  BOOST_TEST(member(redis.lrange("queue:default")[0], "jid") == "\"my-own-jid\"");
  BOOST_TEST(result.output == "{\"jid\":\"my-own-jid\",\"class\":\"Zip\",\"queue\":\"default\",\"at\":null}\n");
  run_enqueue(redis, {"Zip", "--retry", "false"});
  BOOST_TEST(member(redis.lrange("queue:default")[0], "retry") == "false");
}

BOOST_AUTO_TEST_CASE(tags_and_timeout_reach_the_payload) {
  RedisServer redis;
  BOOST_TEST(run_enqueue(redis, {"--tag", "slow", "Zip", "--tag", "by \"hand\"", "1", "--timeout", "1m30s"}).status ==
             0);
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
  BOOST_TEST(run_enqueue(redis, {"--bulk", directory.write("jobs.ndjson", lines), "--spread", "1h"}).status == 0);
  BOOST_TEST_REQUIRE(redis.size_of("schedule") == 50u);
  BOOST_TEST(redis.zrange("schedule").front().second >= before);
  BOOST_TEST(redis.zrange("schedule").back().second > before + 60);
  BOOST_TEST(redis.zrange("schedule").back().second < epoch_seconds(wall_now()) + 3600);

  const std::string file =
      directory.write("timed.ndjson", lines + "{\"class\":\"Zip\",\"args\":[],\"at\":2000000000}\n");
  const CommandResult result = run_enqueue(redis, {"--bulk", file, "--spread", "1h"});
  BOOST_TEST(result.status == 64);
  BOOST_TEST(
      result.errors.starts_with("brood enqueue: " + file + ":51: a job with a time of its own cannot be spread\n"),
      result.errors);
}

BOOST_AUTO_TEST_CASE(a_job_for_later_goes_to_the_schedule_and_one_for_the_past_to_its_queue) {
  RedisServer redis;
  const double before = epoch_seconds(wall_now());
  BOOST_TEST(run_enqueue(redis, {"Zip", "--in", "10m"}).status == 0);
  BOOST_TEST_REQUIRE(redis.size_of("schedule") == 1u);
  BOOST_TEST(redis.zrange("schedule")[0].second >= before + 600);
  BOOST_TEST(redis.zrange("schedule")[0].second < epoch_seconds(wall_now()) + 601);
  BOOST_TEST(run_enqueue(redis, {"Zip", "--at", "2100-01-01T00:00:00Z"}).status == 0);
  BOOST_TEST(redis.zrange("schedule")[1].second == 4102444800.0);
  BOOST_TEST(run_enqueue(redis, {"Zip", "--at", "2001-01-01T00:00:00Z"}).status == 0);
  BOOST_TEST(run_enqueue(redis, {"Zip", "--in", "0"}).status == 0);
  BOOST_TEST(redis.size_of("queue:default") == 2u);
}

BOOST_AUTO_TEST_CASE(a_job_whose_result_is_not_kept_cannot_be_waited_for) {
  RedisServer redis;
  const CommandResult result = run_enqueue(redis, {"Zip", "--keep-result", "0", "--wait=3s"});
  BOOST_TEST(result.status == 64);
  BOOST_TEST(result.errors.find("--wait needs the result") != std::string::npos, result.errors);
  BOOST_TEST(redis.size_of("queue:default") == 0u);
}

BOOST_AUTO_TEST_CASE(bulk_pushes_every_line_of_a_file_or_of_standard_input) {
  RedisServer redis;
  const TemporaryDirectory directory;
  std::string lines;
  for (int i = 0; i < 2'500; ++i)
    lines += "{\"class\":\"Zip\",\"args\":[" + std::to_string(i) + "],\"queue\":\"bulk\"}\n\n";
  lines += "{\"class\":\"Zip\",\"args\":[\"last\"],\"queue\":\"bulk\"}";
  const std::string file = directory.write("jobs.ndjson", lines);
  const CommandResult result = run_enqueue(redis, {"--bulk", file});
  BOOST_TEST(result.status == 0);
  BOOST_TEST(result.output == "2501 jobs pushed\n");
  BOOST_TEST(redis.size_of("queue:bulk") == 2501u);
  BOOST_TEST(member(redis.lrange("queue:bulk").back(), "args") == "[0]");
  BOOST_TEST(shell("$BROOD enqueue --redis '" + redis.url() + "' --bulk - --json <'" + file + "' >'" +
                   (directory / "out") + "'") == 0);
  BOOST_TEST(text_of_file(directory / "out") == "{\"pushed\":2501,\"refused\":0}\n");
  BOOST_TEST(redis.size_of("queue:bulk") == 5002u);
  BOOST_TEST(run_enqueue(redis, {"--bulk", directory / "missing"}).status == 64);
  BOOST_TEST(run_enqueue(redis, {"--bulk", directory.path()}).status == 64);
}

BOOST_AUTO_TEST_CASE(a_bulk_counts_the_unique_jobs_that_are_not_pushed) {
  RedisServer redis;
  const TemporaryDirectory directory;
  std::string lines;
  for (int i = 0; i < 30; ++i)
    lines +=
        "{\"class\":\"Zip\",\"args\":[" + std::to_string(i) + "],\"unique_for\":60,\"unique_by\":[\"customer\"]}\n";
  const std::string file = directory.write("jobs.ndjson", lines);

  const CommandResult result = run_enqueue(redis, {"--bulk", file});
  BOOST_TEST(result.status == 75);
  BOOST_TEST(result.output == "1 job pushed\n");
  BOOST_TEST(result.errors.starts_with("brood enqueue: 29 unique jobs are not pushed: "), result.errors);
  BOOST_TEST(redis.size_of("queue:default") == 1u);

  const CommandResult again = run_enqueue(redis, {"--bulk", file, "--json"});
  BOOST_TEST(again.status == 75);
  BOOST_TEST(again.output == "{\"pushed\":0,\"refused\":30}\n");
}

BOOST_AUTO_TEST_CASE(a_line_with_a_member_that_is_not_known_is_refused_unless_it_is_unchecked) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("queeu":"mail")", R"("queeu" is no member of a job; did you mean "queue"?)"},
      {R"("in":"10m")", R"("in" is no member of a job; "at" is the time of a job, in seconds since 1970)"},
      {R"("timout":5)", R"("timout" is no member of a job; did you mean "timeout"?)"},
      {R"("unique":true)", R"("unique" is no member of a job; did you mean "unique_until"?)"},
      {R"("request":7)", R"("request" is no member of a job)"}};
  for (const auto& [member, words] : cases) {
    const std::string file = directory.write("jobs.ndjson", "{\"class\":\"Zip\",\"args\":[]," + member + "}\n");
    const CommandResult result = run_enqueue(redis, {"--bulk", file});
    BOOST_TEST(result.status == 64, member);
    BOOST_TEST(result.errors.find(words) != std::string::npos, result.errors);
    BOOST_TEST(redis.size_of("queue:default") == 0u);

    BOOST_TEST(run_enqueue(redis, {"--bulk", file, "--unchecked"}).status == 0);
    BOOST_TEST(redis.lrange("queue:default").at(0).find(member) != std::string::npos);
    redis.flush();
  }
}

BOOST_AUTO_TEST_CASE(a_line_may_have_every_member_that_sidekiq_and_brood_write) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const std::string file = directory.write(
      "jobs.ndjson",
      R"({"class":"Zip","args":[],"queue":"q","jid":"abc","retry":3,"created_at":1.5,"enqueued_at":1.5,"retry_queue":"r",)"
      R"("retry_for":60,"dead":false,"backtrace":5,"tags":["a"],"wrapped":"Zip","display_class":"Zip","log_level":"debug",)"
      R"("locale":"de","cattr":{},"cattr_1":{},"bid":"b","expires_in":60,"timeout":5,"traceparent":"x","retry_count":1,)"
      R"("failed_at":1.5,"error_class":"E","error_message":"m","error_backtrace":"","unique_until":"done"})"
      "\n");
  const CommandResult result = run_enqueue(redis, {"--bulk", file});
  BOOST_TEST(result.status == 0, result.errors);
  BOOST_TEST(redis.size_of("queue:q") == 1u);
}

BOOST_AUTO_TEST_CASE(a_line_that_is_no_job_is_named_and_the_rest_is_pushed) {
  RedisServer redis;
  const TemporaryDirectory directory;
  for (const std::string bad : {"{\"class\":\"Zip\"}", "not json", "{\"class\":\"a b\",\"args\":[]}", "[]",
                                "{\"class\":\"Zip\",\"args\":{}}"}) {
    redis.flush();
    const std::string good = "{\"class\":\"Zip\",\"args\":[]}\n";
    const std::string file = directory.write("jobs.ndjson", good + good + "\n" + bad + "\n" + good);
    const CommandResult result = run_enqueue(redis, {"--bulk", file});
    BOOST_TEST(result.status == 64);
    BOOST_TEST(result.output == "3 jobs pushed\n");
    BOOST_TEST(result.errors.starts_with("brood enqueue: " + file + ":4: "), result.errors);
    BOOST_TEST(result.errors.find("brood enqueue: 1 line was refused and is not pushed") != std::string::npos,
               result.errors);
    BOOST_TEST(redis.size_of("queue:default") == 3u);

    const CommandResult unchecked = run_enqueue(redis, {"--bulk", file, "--unchecked", "--json"});
    BOOST_TEST(unchecked.status == 64);
    BOOST_TEST(unchecked.output == "{\"pushed\":3,\"refused\":0,\"unfit\":1}\n");
    BOOST_TEST(redis.size_of("queue:default") == 6u);
  }
}
