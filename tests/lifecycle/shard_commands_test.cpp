#include <simdjson.h>

#include <boost/test/unit_test.hpp>
#include <set>

#include "shared/base/clock.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/json_member.hpp"
#include "tests/support/shard_servers.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

// A machine without a supervisor, whose configuration names the shards.
struct Machine {
  explicit Machine(const ShardServers& shards) : config(shards.config()) {}

  CommandResult brood(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"-C", config});
    return run_brood(arguments, {{"RUNTIME_DIRECTORY", home / "run"}, {"STATE_DIRECTORY", home / "state"}});
  }

  std::string config;
  TemporaryDirectory home;
};

std::string jid(int number) {
  const std::string digits = std::to_string(number);
  return std::string(24 - digits.size(), '0') + digits;
}

void add(RedisServer& redis, const std::string& set, double score, int number) {
  redis.command({"ZADD", set, std::to_string(score), payload_text("Zip", "[]", number, R"("queue":"default")")});
}

void push(RedisServer& redis, int number) {
  redis.command({"SADD", "queues", "default"});
  redis.command({"LPUSH", "queue:default", payload_text("Zip", "[]", number, R"("queue":"default")")});
}

void beat(RedisServer& redis, const std::string& identity, int busy) {
  redis.command({"SADD", "processes", identity});
  redis.command({"HSET", identity, "info",
                 R"({"hostname":"h","started_at":1795237318.5,"pid":1,"tag":"","concurrency":8,"queues":["default"],)"
                 R"("labels":[],"version":"1","identity":")" +
                     identity + "\"}",
                 "busy", std::to_string(busy), "beat", std::to_string(epoch_seconds(wall_now())), "quiet", "false",
                 "rss", "1000", "rtt_us", "50"});
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The members of an array of objects, as JSON, one object after the other.
std::string members(const std::string& json, const std::vector<std::string>& names, const std::string& array = "") {
  simdjson::dom::parser parser;
  const simdjson::dom::element whole = parser.parse(json);
  const simdjson::dom::array all = array.empty() ? whole.get_array() : whole[array].get_array();
  std::string text;
  for (const simdjson::dom::element one : all) {
    for (const std::string& name : names) text += simdjson::minify(one[name]) + " ";
    text += "\n";
  }
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(status_sums_over_the_shards_and_lists_each) {
  ShardServers shards(3);
  const Machine machine(shards);
  for (std::size_t i = 0; i < 3; ++i) {
    shards[i].command({"SET", "stat:processed", std::to_string(10 * (i + 1))});
    push(shards[i], static_cast<int>(i));
    beat(shards[i], "h:1:x", 1);
  }
  add(shards[1], "retry", 4e9, 7);

  const CommandResult json = machine.brood({"status", "--json"});
  BOOST_TEST(json.status == 0, json.errors);
  BOOST_TEST(member(json.output, "processed") == "60");
  BOOST_TEST(member(json.output, "enqueued") == "3");
  BOOST_TEST(members(json.output,
                     {"name", "state", "draining", "error", "processed", "failed", "enqueued", "scheduled", "retries",
                      "dead", "in_flight", "left"},
                     "shards") ==
             "\"a\" \"answers\" false null 10 0 1 0 0 0 1 2 \n"
             "\"b\" \"answers\" false null 20 0 1 0 1 0 1 3 \n"
             "\"c\" \"answers\" false null 30 0 1 0 0 0 1 2 \n");
  BOOST_TEST(members(json.output, {"identity", "busy", "concurrency", "shards"}, "processes") ==
             "\"h:1:x\" 3 8 [\"a\",\"b\",\"c\"] \n");
  BOOST_TEST(members(json.output, {"name", "size", "served"}, "queues") == "\"default\" 3 true \n");
  BOOST_TEST(has(json.output, shards[1].address().without_password()));

  const CommandResult text = machine.brood({"status"});
  BOOST_TEST(text.status == 0, text.errors);
  BOOST_TEST(has(text.output, "Redis of 3 shards\nprocessed 60 "), text.output);
  BOOST_TEST(has(text.output, "SHARD"), text.output);

  const CommandResult one = machine.brood({"status", "--json", "--shard", "b"});
  BOOST_TEST(member(one.output, "processed") == "20");
  BOOST_TEST(!has(one.output, "\"shards\""), one.output);
  const CommandResult alone = run_brood({"status", "--json", "--redis", shards[0].url()});
  BOOST_TEST(!has(alone.output, "\"shards\""), alone.output);
}

BOOST_AUTO_TEST_CASE(a_shard_that_is_drained_shows_what_is_left_and_takes_no_job) {
  ShardServers shards(2);
  Machine machine(shards);
  machine.config = machine.home.write("brood.toml", text_of_file(shards.config()) + "drain = true\n");
  push(shards[1], 1);
  add(shards[1], "schedule", 4e9, 2);
  add(shards[1], "retry", 4e9, 3);
  add(shards[1], "dead", 1, 4);
  add(shards[0], "retry", 4e9, 5);

  BOOST_TEST(members(machine.brood({"status", "--json"}).output, {"name", "draining", "left"}, "shards") ==
             "\"a\" false 1 \n\"b\" true 3 \n");
  BOOST_TEST(has(machine.brood({"status"}).output, "draining, 3 left"));
  const std::string metrics = machine.brood({"status", "--format", "prometheus"}).output;
  for (const char* line : {"brood_shard_draining{shard=\"a\"} 0\n", "brood_shard_draining{shard=\"b\"} 1\n",
                           "brood_shard_left{shard=\"b\"} 3\n"})
    BOOST_TEST(has(metrics, line), metrics);
  BOOST_TEST(!has(metrics, "brood_shard_left{shard=\"a\"}"));

  for (int i = 0; i < 8; ++i) BOOST_TEST(machine.brood({"enqueue", "Zip"}).status == 0);
  BOOST_TEST(shards[1].size_of("queue:default") == 1U);
  BOOST_TEST(shards[0].size_of("queue:default") == 8U);
  const CommandResult there = machine.brood({"enqueue", "Zip", "--shard", "b"});
  BOOST_TEST(there.status != 0);
  BOOST_TEST(has(there.errors, "the shard b is drained"), there.errors);

  for (const char* key : {"queue:default", "schedule", "retry"}) shards[1].command({"DEL", key});
  BOOST_TEST(has(machine.brood({"status"}).output, "drained"));
}

BOOST_AUTO_TEST_CASE(metrics_have_a_label_for_the_shard_only_where_there_are_several) {
  ShardServers shards(2);
  const Machine machine(shards);
  push(shards[1], 1);
  for (std::size_t i = 0; i < 2; ++i) beat(shards[i], "h:1:x", 1);
  shards[0].command({"SET", "stat:processed", "4"});
  const std::string of_two = machine.brood({"status", "--format", "prometheus"}).output;
  for (const char* line :
       {"brood_redis_up{shard=\"a\"} 1\nbrood_redis_up{shard=\"b\"} 1\n", "brood_jobs_processed_total{shard=\"a\"} 4\n",
        "brood_queue_size{queue=\"default\",shard=\"b\"} 1\n", "\nbrood_processes 1\n",
        "brood_process_workers{identity=\"h:1:x\"} 8\n", "brood_process_busy{identity=\"h:1:x\",shard=\"b\"} 1\n"})
    BOOST_TEST(has(of_two, line), line);
  const std::string of_one = machine.brood({"status", "--format", "prometheus", "--shard", "a"}).output;
  BOOST_TEST(has(of_one, "\nbrood_jobs_processed_total 4\n"), of_one);
  BOOST_TEST(!has(of_one, "shard="), of_one);
}

BOOST_AUTO_TEST_CASE(a_shard_that_is_away_is_reported_in_a_line_and_hides_no_other) {
  ShardServers shards(3);
  const Machine machine(shards);
  for (std::size_t i = 0; i < 3; ++i) {
    push(shards[i], static_cast<int>(i));
    add(shards[i], "retry", 4e9, 10 + static_cast<int>(i));
    beat(shards[i], "h:1:x", 0);
  }
  shards[1].kill9();

  const CommandResult status = machine.brood({"status", "--json"});
  BOOST_TEST(status.status == 0, status.errors);
  BOOST_TEST(member(status.output, "enqueued") == "2");
  BOOST_TEST(members(status.output, {"name", "state", "enqueued"}, "shards") ==
             "\"a\" \"answers\" 1 \n\"b\" \"away\" null \n\"c\" \"answers\" 1 \n");
  BOOST_TEST(has(machine.brood({"status"}).output, "shard b is away: "));
  BOOST_TEST(has(machine.brood({"status", "--format", "prometheus"}).output, "brood_redis_up{shard=\"b\"} 0\n"));

  for (const char* command : {"queues", "retries", "processes", "quarantine"}) {
    const CommandResult result = machine.brood({command, "--json"});
    BOOST_TEST(result.status == 0, command << ": " << result.errors);
    BOOST_TEST(has(result.errors, "brood: shard b is away and left out: "), command << ": " << result.errors);
    BOOST_TEST(result.errors.find('\n') == result.errors.size() - 1, result.errors);
    const CommandResult named = machine.brood({command, "--json", "--shard", "b"});
    BOOST_TEST(named.status == 69, command << ": " << named.errors);
  }
  BOOST_TEST(members(machine.brood({"queues", "--json"}).output, {"name", "size"}) == "\"default\" 2 \n");

  shards[0].kill9();
  shards[2].kill9();
  for (const char* command : {"status", "queues", "retries", "processes", "quarantine"})
    BOOST_TEST(machine.brood({command}).status == 69, command);
}

BOOST_AUTO_TEST_CASE(an_unknown_shard_is_an_error_that_lists_the_known_ones) {
  ShardServers shards(2);
  const Machine machine(shards);
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{{"status"},
                                                                                       {"queues"},
                                                                                       {"dead"},
                                                                                       {"enqueue", "Zip"},
                                                                                       {"processes"},
                                                                                       {"recover", "--all"},
                                                                                       {"cancel", "j"}}) {
    std::vector<std::string> words = command;
    words.insert(words.end(), {"--shard", "d"});
    const CommandResult result = machine.brood(words);
    BOOST_TEST(result.status == 64, command[0] << ": " << result.errors);
    BOOST_TEST(has(result.errors, "there is no shard \"d\", but a, b"), command[0] << ": " << result.errors);
  }
  const CommandResult none = run_brood({"queues", "--shard", "a", "--redis", shards[0].url()});
  BOOST_TEST(none.status == 64);
  BOOST_TEST(has(none.errors, "no [[redis.shard]] is configured"), none.errors);
}

BOOST_AUTO_TEST_CASE(jobs_are_enqueued_in_turn_by_name_or_by_a_key) {
  ShardServers shards(3);
  const Machine machine(shards);
  BOOST_TEST(machine.brood({"enqueue", "Zip", "1", "--shard", "c"}).status == 0);
  BOOST_TEST(shards[2].size_of("queue:default") == 1U);
  for (int i = 0; i < 3; ++i) BOOST_TEST(machine.brood({"enqueue", "Zip", "--shard-by", "tenant-7"}).status == 0);
  std::multiset<std::size_t> sizes;
  for (std::size_t i = 0; i < 3; ++i) sizes.insert(shards[i].size_of("queue:default"));
  BOOST_TEST(((sizes == std::multiset<std::size_t>{0, 1, 3}) || (sizes == std::multiset<std::size_t>{0, 0, 4})));
  machine.home.write("jobs", R"({"class":"Zip","args":[]})"
                             "\n"
                             R"({"class":"Zip","args":[]})");
  BOOST_TEST(machine.brood({"enqueue", "--bulk", machine.home / "jobs", "--shard", "a"}).status == 0);
  BOOST_TEST(shards[0].size_of("queue:default") >= 2U);
  shards[0].kill9();
  shards[1].kill9();
  BOOST_TEST(machine.brood({"enqueue", "Zip"}).status == 0);
}

BOOST_AUTO_TEST_CASE(limits_are_listed_with_the_shard_that_keeps_them) {
  ShardServers shards(2);
  const Machine machine(shards);
  for (std::size_t i = 0; i < 2; ++i) shards[i].command({"HSET", "brood:caps", "erp", "4"});
  BOOST_TEST(members(machine.brood({"limits", "--json"}).output, {"name", "limit", "shard"}) ==
             "\"erp\" 4 \"a\" \n\"erp\" 4 \"b\" \n");
  BOOST_TEST(has(machine.brood({"limits"}).output, "SHARD"));
  const std::string shown = machine.brood({"limits", "show", "erp"}).output;
  BOOST_TEST(has(shown, "shard      a\n"), shown);
  BOOST_TEST(has(shown, "shard      b\n"), shown);
  const std::string alone = run_brood({"limits", "--redis", shards[0].url()}).output;
  BOOST_TEST(has(alone, "erp"));
  BOOST_TEST(!has(alone, "SHARD"), alone);
}

BOOST_AUTO_TEST_CASE(sets_are_listed_by_time_over_all_shards_and_changed_where_the_entries_lie) {
  ShardServers shards(2);
  const Machine machine(shards);
  for (int i = 0; i < 6; ++i) add(shards[static_cast<std::size_t>(i) % 2], "retry", 4e9 + i, i);
  const CommandResult list = machine.brood({"retries", "--json"});
  BOOST_TEST(members(list.output, {"jid", "shard"}) == "\"" + jid(0) + "\" \"a\" \n\"" + jid(1) + "\" \"b\" \n\"" +
                                                           jid(2) + "\" \"a\" \n\"" + jid(3) + "\" \"b\" \n\"" +
                                                           jid(4) + "\" \"a\" \n\"" + jid(5) + "\" \"b\" \n");
  BOOST_TEST(has(machine.brood({"retries"}).output, "SHARD"));
  BOOST_TEST(members(machine.brood({"retries", "--json", "--shard", "b"}).output, {"jid"}) ==
             "\"" + jid(1) + "\" \n\"" + jid(3) + "\" \n\"" + jid(5) + "\" \n");
  BOOST_TEST(!has(run_brood({"retries", "--json", "--redis", shards[0].url()}).output, "\"shard\""));

  BOOST_TEST(machine.brood({"retries", "run", jid(1)}).status == 0);
  BOOST_TEST(shards[1].size_of("queue:default") == 1U);
  BOOST_TEST(machine.brood({"retries", "kill", "--all", "--yes", "--shard", "a"}).status == 0);
  BOOST_TEST(shards[0].size_of("dead") == 3U);
  BOOST_TEST(machine.brood({"retries", "delete", "--all", "--yes"}).status == 0);
  BOOST_TEST(shards.size_of("retry") == 0U);
  BOOST_TEST(machine.brood({"queues", "pause", "default"}).status == 0);
  BOOST_TEST(shards.size_of("paused") == 2U);
  BOOST_TEST(machine.brood({"queues", "unpause", "default", "--shard", "a"}).status == 0);
  BOOST_TEST(shards[0].size_of("paused") == 0U);
  BOOST_TEST(shards[1].size_of("paused") == 1U);
}

BOOST_AUTO_TEST_CASE(a_scheduled_job_is_cancelled_in_the_shard_where_it_waits) {
  ShardServers shards(2);
  const Machine machine(shards);
  add(shards[1], "schedule", 4e9, 5);
  BOOST_TEST(machine.brood({"cancel", jid(5)}).status == 0);
  BOOST_TEST(shards[1].size_of("schedule") == 0U);
  BOOST_TEST(machine.brood({"cancel", jid(5)}).status == 75);
}

BOOST_AUTO_TEST_CASE(a_dead_supervisors_jobs_come_back_in_every_shard) {
  ShardServers shards(2);
  const Machine machine(shards);
  for (std::size_t i = 0; i < 2; ++i) {
    // The keys that a supervisor of another host leaves behind.
    const std::string identity = "elsewhere:1:0123456789ab";
    shards[i].command({"HSET", "brood:processes", identity,
                       R"({"host":"elsewhere","boot_id":"x","pid_namespace":"1","pid":1,"start_time":1,"schema":1})"});
    shards[i].command({"HSET", "brood:inflight:" + identity, "0.1", "0 default"});
    shards[i].command({"LPUSH", "brood:inflight:" + identity + ":0.1:default",
                       payload_text("Zip", "[]", static_cast<long>(i), R"("queue":"default")")});
  }
  const CommandResult look = machine.brood({"recover", "--all", "--dry-run"});
  BOOST_TEST(has(look.output, "SHARD"), look.output);
  const CommandResult one = machine.brood({"recover", "elsewhere:1", "--yes", "--shard", "a"});
  BOOST_TEST(one.status == 0, one.output + one.errors);
  BOOST_TEST(shards[0].size_of("queue:default") == 1U);
  BOOST_TEST(shards[1].size_of("queue:default") == 0U);
  const CommandResult all = machine.brood({"recover", "elsewhere:1", "--yes"});
  BOOST_TEST(all.status == 0, all.output + all.errors);
  BOOST_TEST(shards[1].size_of("queue:default") == 1U);
}

BOOST_AUTO_TEST_CASE(completions_know_the_names_of_the_shards) {
  ShardServers shards(2);
  BOOST_TEST(Machine(shards).brood({"names", "shards"}).output == "a\nb\n");
  shards[0].command({"SADD", "queues", "low"});
  shards[1].command({"SADD", "queues", "high"});
  BOOST_TEST(Machine(shards).brood({"names", "queues"}).output == "high\nlow\n");
  BOOST_TEST(Machine(shards).brood({"names", "queues", "--shard", "a"}).output == "low\n");
}
