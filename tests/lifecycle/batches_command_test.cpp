#include <simdjson.h>

#include <boost/test/unit_test.hpp>
#include <brood/batch.hpp>
#include <brood/flow.hpp>
#include <string>
#include <vector>

#include "tests/lifecycle/shell_line.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/json_member.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/shard_servers.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;

// `brood batches`.
namespace {

using Words = std::vector<std::string>;

CommandResult batches(const RedisServer& redis, Words words) {
  words.insert(words.begin(), {"batches", "--redis", redis.url()});
  return run_brood(words);
}

// Pushes this many jobs that add two numbers; returns the bid.
std::string push_numbers(const RedisServer& redis, int jobs, Words words = {}) {
  TemporaryDirectory directory;
  std::string lines;
  for (int i = 0; i < jobs; ++i) lines += R"({"class":"AddNumbers","args":[[1,)" + std::to_string(i) + "]]}\n";
  words.insert(words.begin(), {"push", directory.write("jobs.ndjson", lines)});
  const CommandResult pushed = batches(redis, words);
  BOOST_TEST_REQUIRE(pushed.status == 0, pushed.errors);
  BOOST_TEST_REQUIRE(pushed.output.size() == 15u);
  return pushed.output.substr(0, 14);
}

std::string shown(const RedisServer& redis, const std::string& bid, const std::string& name) {
  return member(batches(redis, {"show", bid, "--json"}).output, name);
}

std::string quoted(const std::string& text) { return '"' + text + '"'; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_pushed_batch_is_listed_and_shown_with_its_callbacks) {
  RedisServer redis;
  const std::string bid = push_numbers(redis, 3,
                                       {"--description", "import 7", "--on-success", "Notify:[7,{\"a\":1.5}]",
                                        "--on-success", "Second", "--on-death", "Ruby::Alarm"});
  const std::string job = redis.lrange("queue:default").back();
  BOOST_TEST(member(job, "bid") == quoted(bid));
  BOOST_TEST(member(job, "batch_index") == "0");

  const std::string list = batches(redis, {"list", "--json"}).output;
  simdjson::dom::parser parser;
  const simdjson::dom::array array = parser.parse(list).get_array();
  BOOST_TEST_REQUIRE(array.size() == 1u);
  const std::string one = simdjson::minify(array.at(0).value());
  BOOST_TEST(member(one, "bid") == quoted(bid));
  BOOST_TEST(member(one, "description") == "\"import 7\"");
  BOOST_TEST(member(one, "state") == "\"running\"");
  BOOST_TEST(member(one, "total") == "3");
  BOOST_TEST(member(one, "pending") == "3");
  BOOST_TEST(member(one, "failing") == "0");
  BOOST_TEST(member(one, "dead") == "0");
  BOOST_TEST(member(one, "parent") == "null");
  BOOST_TEST(member(one, "children") == "[]");
  BOOST_TEST(std::stod(member(one, "created_at")) > 1.7e9);

  BOOST_TEST(shown(redis, bid, "bid") == quoted(bid));
  const std::string callbacks = shown(redis, bid, "callbacks");
  for (const char* const text : {"\"class\":\"Notify\"", "\"class\":\"Second\"", "\"class\":\"Ruby::Alarm\"",
                                 "\"event\":\"death\"", "\"has_ended\":false"})
    BOOST_TEST(callbacks.find(text) != std::string::npos, callbacks + " has " + text);
  const std::string for_people = batches(redis, {"show", bid}).output;
  for (const std::string text : {"import 7", "Notify", "waits for", "3 in all", "[..........]   0%"})
    BOOST_TEST(for_people.find(text) != std::string::npos, for_people + " has " + text);
  BOOST_TEST(batches(redis, {}).output.find("import 7") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_batch_that_has_succeeded_has_pushed_its_callbacks_with_their_arguments) {
  RedisServer redis;
  const std::string bid =
      push_numbers(redis, 5, {"--on-success", "Notify:[7,{\"a\":1.5}]", "--callback-queue", "calls"});
  BroodProcess brood(redis);
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  BOOST_TEST_REQUIRE(eventually([&] { return redis.size_of("queue:calls") == 1; }), brood.log_tail());
  const std::string callback = redis.lrange("queue:calls")[0];
  BOOST_TEST(callback.find(R"("args":[7,{"a":1.5}])") != std::string::npos, callback);
  BOOST_TEST(member(callback, "cbid") == quoted(bid));
  BOOST_TEST(member(callback, "batch_callback") == "\"success\"");
  BOOST_TEST(shown(redis, bid, "state") == "\"success\"");
  BOOST_TEST(shown(redis, bid, "succeeded") == "5");
}

BOOST_AUTO_TEST_CASE(an_unknown_batch_is_an_error_for_every_verb) {
  RedisServer redis;
  for (const std::string verb : {"show", "cancel", "delete"}) {
    const CommandResult result = batches(redis, {verb, "AAAAAAAAAAAAAA"});
    BOOST_TEST(result.status == 1);
    BOOST_TEST(result.errors.find("there is no batch AAAAAAAAAAAAAA") != std::string::npos, result.errors);
    BOOST_TEST(batches(redis, {verb, "not a bid"}).status == 1);
    BOOST_TEST(batches(redis, {verb}).status == 64);
  }
  BOOST_TEST(batches(redis, {"list", "--json"}).output == "[]\n");
  BOOST_TEST(batches(redis, {"list", "--description", "x"}).status == 64);
}

BOOST_AUTO_TEST_CASE(a_cancelled_batch_cancels_those_below_it) {
  RedisServer redis;
  const std::string top = push_numbers(redis, 1);
  const std::string child = push_numbers(redis, 1, {"--parent", top, "--description", "the child"});
  const std::string grandchild = push_numbers(redis, 1, {"--parent", child});
  BOOST_TEST(shown(redis, child, "parent") == quoted(top));
  BOOST_TEST(shown(redis, top, "children") == "[" + quoted(child) + "]");
  const std::string tree = batches(redis, {"show", top}).output;
  BOOST_TEST(tree.find("    " + child + "  running") != std::string::npos, tree);
  BOOST_TEST(tree.find("      " + grandchild) != std::string::npos, tree);

  const CommandResult result = batches(redis, {"cancel", top, "--json"});
  BOOST_TEST(result.status == 0);
  BOOST_TEST(member(result.output, "cancelled") == "3");
  for (const std::string& bid : {top, child, grandchild}) BOOST_TEST(shown(redis, bid, "state") == "\"cancelled\"");

  const CommandResult late = batches(redis, {"push", "/dev/null", "--parent", top});
  BOOST_TEST(late.status == 1);
  BOOST_TEST(late.errors.find("a parent that was cancelled") != std::string::npos, late.errors);
}

BOOST_AUTO_TEST_CASE(a_deleted_batch_is_forgotten_and_its_jobs_stay) {
  RedisServer redis;
  const std::string bid = push_numbers(redis, 2);
  BOOST_TEST(batches(redis, {"delete", bid}).status == 0);
  BOOST_TEST(batches(redis, {"show", bid}).status == 1);
  BOOST_TEST(redis.size_of("queue:default") == 2u);
  BOOST_TEST(redis.keys("brood:batch*").empty());
}

BOOST_AUTO_TEST_CASE(a_file_with_a_line_that_is_no_job_is_not_pushed_at_all) {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string file = directory.write("jobs.ndjson", "{\"class\":\"Greet\",\"args\":[]}\n\nno job\n");
  const CommandResult result = batches(redis, {"push", file});
  BOOST_TEST(result.status == 64);
  BOOST_TEST(result.errors.find(file + ":3: ") != std::string::npos, result.errors);
  BOOST_TEST(result.errors.find("nothing was pushed") != std::string::npos, result.errors);
  BOOST_TEST(redis.keys("brood:batch*").empty());
  BOOST_TEST(redis.size_of("queue:default") == 0u);

  BOOST_TEST(shell("$BROOD batches push - --redis " + redis.url() + " < " + file + " 2> " + (directory / "errors")) ==
             64);
  BOOST_TEST(redis.size_of("queue:default") == 0u);
  const std::string list = batches(redis, {"--json"}).output;
  BOOST_TEST(list.find("\"state\":\"cancelled\"") != std::string::npos, list);
}

BOOST_AUTO_TEST_CASE(a_callback_that_is_no_job_is_refused_before_anything_is_sent) {
  RedisServer redis;
  for (const std::string callback : {"Notify:7", "Notify:", "a b", "Notify:[7", ""}) {
    const CommandResult result = batches(redis, {"push", "/dev/null", "--on-success", callback});
    BOOST_TEST(result.status == 64, callback + ": " + result.errors);
  }
  const CommandResult queue = batches(redis, {"push", "/dev/null", "--callback-queue", "a!b"});
  BOOST_TEST(queue.status == 64);
  BOOST_TEST(queue.errors.find("--callback-queue") != std::string::npos, queue.errors);
  BOOST_TEST(batches(redis, {"push", "/dev/nowhere"}).status == 64);
  BOOST_TEST(redis.keys().empty());
}

BOOST_AUTO_TEST_CASE(unique_jobs_whose_locks_are_held_are_reported_as_left_out) {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string line = R"({"class":"Greet","args":[1],"unique_until":"done"})";
  const std::string file = directory.write("jobs.ndjson", line + "\n" + line + "\n");
  const CommandResult result = batches(redis, {"push", file, "--json"});
  BOOST_TEST(result.status == 75);
  BOOST_TEST(member(result.output, "pushed") == "1");
  BOOST_TEST(member(result.output, "refused") == "1");
}

BOOST_AUTO_TEST_CASE(the_batches_of_all_shards_are_listed_and_each_is_found_on_its_own) {
  ShardServers shards(2);
  TemporaryDirectory directory;
  const std::string file = directory.write("jobs.ndjson", R"({"class":"Greet","args":[1]})");
  const auto brood = [&](Words words) {
    words.insert(words.begin(), "batches");
    words.insert(words.end(), {"-C", shards.config()});
    return run_brood(words);
  };
  Words bids;
  for (const std::size_t shard : {0u, 1u}) {
    const CommandResult pushed = brood({"push", file, "--shard", ShardServers::name(shard)});
    BOOST_TEST_REQUIRE(pushed.status == 0, pushed.errors);
    bids.push_back(pushed.output.substr(0, 14));
    BOOST_TEST(shards[shard].size_of("brood:batches") == 1u);
  }
  const CommandResult child = brood({"push", file, "--parent", bids[1]});
  BOOST_TEST(child.status == 0, child.errors);
  BOOST_TEST(shards[1].size_of("brood:batches") == 2u);
  BOOST_TEST(brood({}).output.find("there are 3 batches") != std::string::npos);
  shards[1].command({"DEL", "queue:default"});
  const CommandResult checked = brood({"check"});
  BOOST_TEST(checked.status == 0, checked.errors);
  for (std::size_t i = 0; i < bids.size(); ++i) {
    const std::string shown = brood({"show", bids[i], "--json"}).output;
    BOOST_TEST(member(shown, "shard") == quoted(ShardServers::name(i)));
    BOOST_TEST(member(shown, "dead") == std::to_string(i));
  }
  BOOST_TEST(member(brood({"cancel", bids[0], "--json"}).output, "cancelled") == "1");
  BOOST_TEST(brood({"delete", bids[1]}).status == 0);
  BOOST_TEST(brood({"show", bids[1]}).status == 1);
}

// ---- check

BOOST_AUTO_TEST_CASE(steps_of_a_flow_that_wait_for_others_are_shown_and_not_counted_as_missing) {
  RedisServer redis;
  Client client(redis.url());
  Flow flow(client, {.description = "video 7"});
  flow.add("merge", Push{.job_class = "Merge", .jid = "m1"}, {.after = {"720p", "1080p"}});
  flow.add("split", Push{.job_class = "Split"});
  flow.add("720p", Push{.job_class = "Encode"}, {.after = {"split"}});
  flow.add("1080p", Push{.job_class = "Encode"}, {.after = {"split"}});
  flow.push();
  const std::string shows = batches(redis, {"show", flow.bid()}).output;
  BOOST_TEST(shows.find("    split  pending\n      720p  waiting, after split\n      1080p  waiting, after split\n"
                        "        merge  waiting, after ") != std::string::npos,
             shows);
  BOOST_TEST(shown(redis, flow.bid(), "steps").find(R"({"name":"720p","state":"waiting","after":["split"],"jid":")") !=
             std::string::npos);

  BOOST_TEST(shown(redis, flow.bid(), "steps").find(R"("jid":"m1")") != std::string::npos);
  const CommandResult found = run_brood({"show", "m1", "--redis", redis.url()});
  BOOST_TEST(found.status == 0, found.errors);
  BOOST_TEST(found.output.find("Merge") != std::string::npos, found.output);
  BOOST_TEST(found.output.find("for 2 other steps of batch " + flow.bid()) != std::string::npos, found.output);
  const std::string json = run_brood({"show", "m1", "--json", "--redis", redis.url()}).output;
  BOOST_TEST(member(json, "state") == quoted("queued"), json);
  BOOST_TEST(member(json, "bid") == quoted(flow.bid()), json);
  BOOST_TEST(member(json, "waits_for_steps") == "2", json);

  const CommandResult quiet = batches(redis, {"check"});
  BOOST_TEST(
      quiet.output.find("jobs that have not ended: 1 in queues, 3 waiting for other steps\n") != std::string::npos,
      quiet.output);
  BOOST_TEST(shown(redis, flow.bid(), "dead") == "0");

  redis.command({"DEL", "queue:default"});
  const CommandResult checked = batches(redis, {"check"});
  BOOST_TEST(checked.status == 0);
  BOOST_TEST(checked.output.find("mended: 1 job is nowhere any more") != std::string::npos, checked.output);
  BOOST_TEST(shown(redis, flow.bid(), "dead") == "4");  // the steps after a dead step die with it
}

BOOST_AUTO_TEST_CASE(a_job_that_was_deleted_behind_our_back_counts_as_dead_after_a_check) {
  RedisServer redis;
  const std::string bid = push_numbers(redis, 2, {"--on-finished", "Finished", "--callback-queue", "calls"});
  redis.command({"LREM", "queue:default", "1", redis.lrange("queue:default").front()});

  const CommandResult checked = batches(redis, {"check", bid, "--json"});
  BOOST_TEST(checked.status == 0, checked.errors);
  BOOST_TEST(checked.output.find(
                 R"("kind":"missing","text":"1 job is nowhere any more: it counts as dead now","mended":true)") !=
                 std::string::npos,
             checked.output);
  BOOST_TEST(checked.output.find("jobs that have not ended: 1 in queues") != std::string::npos, checked.output);
  BOOST_TEST(shown(redis, bid, "dead") == "1");
  BOOST_TEST(shown(redis, bid, "pending") == "1");

  BroodProcess brood(redis);
  BOOST_TEST_REQUIRE(eventually([&] { return redis.size_of("queue:calls") == 1; }), brood.log_tail());
  BOOST_TEST(shown(redis, bid, "state") == "\"finished\"");
}

BOOST_AUTO_TEST_CASE(a_job_that_another_program_moved_to_the_dead_set_counts_as_dead_after_a_check) {
  RedisServer redis;
  const std::string bid = push_numbers(redis, 1);
  const std::string job = redis.lrange("queue:default").front();
  redis.command({"DEL", "queue:default"});
  redis.command({"ZADD", "dead", "1", job});
  const CommandResult checked = batches(redis, {"check"});
  BOOST_TEST(checked.status == 0);
  BOOST_TEST(checked.output.find("mended: 1 job is in the dead set: it counts as dead now") != std::string::npos,
             checked.output);
  BOOST_TEST(shown(redis, bid, "state") == "\"finished\"");
  BOOST_TEST(batches(redis, {"check"}).output == "All batches have ended.\n");
}

BOOST_AUTO_TEST_CASE(a_check_changes_nothing_of_jobs_that_wait_anywhere_or_run) {
  RedisServer redis;
  const std::string bid = push_numbers(redis, 4);
  const std::vector<std::string> jobs = redis.lrange("queue:default");
  redis.command({"DEL", "queue:default"});
  redis.command({"LPUSH", "queue:other", jobs[0]});
  redis.command({"ZADD", "retry", "4e9", jobs[1]});
  redis.command({"ZADD", "schedule", "4e9", jobs[2]});
  // A job in the memory of a Ruby process, which only its heartbeat shows.
  redis.command({"SADD", "processes", "ruby:1:0123456789ab"});
  redis.command(
      {"HSET", "ruby:1:0123456789ab", "info", R"({"hostname":"ruby","pid":1,"queues":["default"]})", "busy", "1"});
  std::string escaped;
  for (const char c : jobs[3]) escaped += c == '"' ? "\\\"" : std::string(1, c);
  redis.command(
      {"HSET", "ruby:1:0123456789ab:work", "abc", R"({"queue":"default","run_at":1,"payload":")" + escaped + "\"}"});

  const CommandResult checked = batches(redis, {"check", bid});
  BOOST_TEST(checked.status == 0, checked.errors);
  BOOST_TEST(
      checked.output.find("1 in queues, 1 held by workers, 1 scheduled, 1 waiting for a retry") != std::string::npos,
      checked.output);
  BOOST_TEST(shown(redis, bid, "pending") == "4");
  BOOST_TEST(shown(redis, bid, "dead") == "0");
}

BOOST_AUTO_TEST_CASE(a_push_whose_process_was_killed_is_cancelled_by_a_check) {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string pipe = directory / "pipe", pid = directory / "pid";
  // Its standard input stays open, so the push does not return before the kill.
  BOOST_TEST_REQUIRE(shell("mkfifo " + pipe + " && { sleep 60 > " + pipe + " & echo $! > " + pid +
                           ".sleep; } && { $BROOD batches push - --redis " + redis.url() + " < " + pipe +
                           " > /dev/null 2>&1 & echo $! > " + pid + "; }") == 0);
  const auto list = [&] { return batches(redis, {"list", "--json"}).output; };
  BOOST_TEST_REQUIRE(eventually([&] { return list().find("\"state\":\"open\"") != std::string::npos; }), list());
  const CommandResult early = batches(redis, {"check", "--json"});
  BOOST_TEST(early.status == 0);
  BOOST_TEST(early.output.find("a push has not returned, since 2") != std::string::npos, early.output);
  BOOST_TEST(list().find("\"state\":\"open\"") != std::string::npos);

  shell("kill -9 $(cat " + pid + "); kill $(cat " + pid + ".sleep)");
  BOOST_TEST(eventually([&] {
    return batches(redis, {"check", "--json"}).output.find("whose process is gone: the batch was cancelled") !=
           std::string::npos;
  }));
  BOOST_TEST(list().find("\"state\":\"cancelled\"") != std::string::npos, list());
}

BOOST_AUTO_TEST_CASE(a_dead_callback_needs_a_person) {
  RedisServer redis;
  const std::string bid = push_numbers(redis, 0, {"--on-success", "Notify"});
  const std::string callback = redis.lrange("queue:default").front();
  redis.command({"DEL", "queue:default"});
  redis.command({"ZADD", "dead", "1", callback});
  const CommandResult checked = batches(redis, {"check", bid});
  BOOST_TEST(checked.status == 1);
  BOOST_TEST(checked.output.find("needs you: the callback Notify for success") != std::string::npos, checked.output);
  BOOST_TEST(batches(redis, {"check", "AAAAAAAAAAAAAA"}).status == 1);
}
