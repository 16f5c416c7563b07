#include <simdjson.h>

#include <boost/test/unit_test.hpp>

#include "shared/base/clock.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/lends_terminals.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/terminal.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

CommandResult brood_on(const RedisServer& redis, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--redis", redis.url()});
  return run_brood(arguments);
}

std::string jid(long number) {
  const std::string digits = std::to_string(number);
  return std::string(24 - digits.size(), '0') + digits;
}

struct Failed {
  std::string job_class = "Zip", error = "Oops", queue = "default", more = {};
  double hours_ago = 0;
};

std::string failed_payload(long number, const Failed& failed) {
  const double at = epoch_seconds(wall_now()) - failed.hours_ago * 3600;
  std::string more = R"("queue":")" + failed.queue + R"(","error_class":")" + failed.error +
                     R"(","error_message":"no","retry_count":0,"failed_at":)" + std::to_string(at);
  if (!failed.more.empty()) more += "," + failed.more;
  return payload_text(failed.job_class, "[" + std::to_string(number) + "]", number, more);
}

void add_retry(RedisServer& redis, long number, const Failed& failed = {}) {
  redis.command({"ZADD", "retry", std::to_string(4e9 + static_cast<double>(number)), failed_payload(number, failed)});
}

std::vector<std::string> listed(const CommandResult& result) {
  simdjson::dom::parser parser;
  std::vector<std::string> jids;
  for (const simdjson::dom::element one : parser.parse(result.output).get_array())
    jids.emplace_back(std::string_view(one["jid"]));
  return jids;
}

std::int64_t number_of(const CommandResult& result, const std::string& member) {
  simdjson::dom::parser parser;
  return parser.parse(result.output)[member].get_int64();
}

using Jids = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(what_really_failed_is_listed_shown_run_and_killed) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 2});
  enqueue(redis, {payload_text("Fail", R"(["no such picture"])", 1), payload_text("Segfault", "[]", 2)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("retry") == 2; }, 30s), brood.log_tail());
  BOOST_REQUIRE(run_brood({"quiet"}, brood.environment()).status == 0);

  const CommandResult list = brood_on(redis, {"retries"});
  BOOST_TEST(list.status == 0, list.errors);
  BOOST_TEST(list.output.find("no such picture") != std::string::npos, list.output);
  BOOST_TEST(list.output.find("2 shown; there are 2 retries") != std::string::npos, list.output);
  const CommandResult shown = brood_on(redis, {"retries", "show", jid(2)});
  BOOST_TEST(shown.output.find("SIGSEGV (SEGV_MAPERR)") != std::string::npos);
  BOOST_TEST(shown.output.find("Segfault::perform()") != std::string::npos, shown.output);
  BOOST_TEST(listed(brood_on(redis, {"retries", "--error", "SIGSEGV", "--json"})) == Jids{jid(2)},
             boost::test_tools::per_element());

  BOOST_TEST(brood_on(redis, {"retries", "kill", jid(2)}).status == 0);
  BOOST_TEST(listed(brood_on(redis, {"dead", "--json"})) == Jids{jid(2)}, boost::test_tools::per_element());
  BOOST_TEST(brood_on(redis, {"dead", "run", jid(2)}).status == 0);
  BOOST_TEST(redis.size_of("dead") == 0U);
  BOOST_TEST(redis.size_of("queue:default") == 1U);
  BOOST_TEST(brood_on(redis, {"retries", "delete", jid(1)}).output == "1 retry deleted\n");
  BOOST_TEST(redis.size_of("retry") == 0U);
}

BOOST_AUTO_TEST_CASE(filters_combine) {
  RedisServer redis;
  add_retry(redis, 1, {.job_class = "Zip", .error = "Oops"});
  add_retry(redis, 2, {.job_class = "Zip", .error = "Timeout", .queue = "images"});
  add_retry(redis, 3, {.job_class = "Mail", .error = "Oops", .more = R"("tags":["vip"])", .hours_ago = 48});
  add_retry(redis, 4, {.job_class = "Wrapper", .error = "Oops", .more = R"("wrapped":"Mail")", .hours_ago = 2});
  const auto jids = [&](std::vector<std::string> filters) {
    filters.insert(filters.begin(), {"retries", "list", "--json"});
    return listed(brood_on(redis, filters));
  };
  const auto per_element = boost::test_tools::per_element();
  BOOST_TEST(jids({}) == (Jids{jid(1), jid(2), jid(3), jid(4)}), per_element);
  BOOST_TEST(jids({"--class", "Zip"}) == (Jids{jid(1), jid(2)}), per_element);
  BOOST_TEST(jids({"--class", "Zip", "--error", "Oops"}) == Jids{jid(1)}, per_element);
  BOOST_TEST(jids({"--class", "Mail"}) == (Jids{jid(3), jid(4)}), per_element);
  BOOST_TEST(jids({"--class", "Mail", "--class", "Zip", "--queue", "images"}) == Jids{jid(2)}, per_element);
  BOOST_TEST(jids({"--tag", "vip"}) == Jids{jid(3)}, per_element);
  BOOST_TEST(jids({"--match", "images"}) == Jids{jid(2)}, per_element);
  BOOST_TEST(jids({"--older-than", "1h"}) == (Jids{jid(3), jid(4)}), per_element);
  BOOST_TEST(jids({"--older-than", "1h", "--newer-than", "1d"}) == Jids{jid(4)}, per_element);
  BOOST_TEST(jids({"--jid", jid(1), "--jid", jid(4)}) == (Jids{jid(1), jid(4)}), per_element);
  BOOST_TEST(jids({"--class", "Nobody"}).empty());
  BOOST_TEST(jids({"--limit", "2"}) == (Jids{jid(1), jid(2)}), per_element);
  BOOST_TEST(jids({"--limit", "3", "--page", "2"}) == Jids{jid(4)}, per_element);
}

BOOST_AUTO_TEST_CASE(many_are_changed_only_after_a_yes, *boost::unit_test::precondition(lends_terminals)) {
  RedisServer redis;
  for (int i = 1; i <= 30; ++i) add_retry(redis, i, {.error = i % 3 == 0 ? "Oops" : "Timeout"});

  const CommandResult dry = brood_on(redis, {"retries", "delete", "--error", "Oops", "--dry-run"});
  BOOST_TEST(dry.status == 0);
  BOOST_TEST(dry.output.find("10 of 30 retries would be deleted") != std::string::npos, dry.output);
  const CommandResult unasked = brood_on(redis, {"retries", "delete", "--error", "Oops"});
  BOOST_TEST(unasked.status == 64);
  BOOST_TEST(unasked.errors.find("deletes 10 of 30 retries") != std::string::npos, unasked.errors);
  BOOST_TEST(redis.size_of("retry") == 30U);
  {
    OnTerminal terminal({"retries", "kill", "--error", "Oops", "--redis", redis.url()});
    BOOST_REQUIRE(terminal.shows("moves to the dead set 10 of 30 retries.  Go on? [y/N]"));
    terminal.type("n\n");
    BOOST_TEST(terminal.status() == 75);
    BOOST_TEST(redis.size_of("retry") == 30U);
  }
  {
    OnTerminal terminal({"retries", "kill", "--error", "Oops", "--redis", redis.url()});
    BOOST_REQUIRE(terminal.shows("[y/N]"));
    terminal.type("y\n");
    BOOST_TEST(terminal.status() == 0);
  }
  BOOST_TEST(redis.size_of("retry") == 20U);
  BOOST_TEST(redis.size_of("dead") == 10U);
  const CommandResult run = brood_on(redis, {"retries", "run", "--all", "--yes", "--json"});
  BOOST_TEST(run.status == 0);
  BOOST_TEST(number_of(run, "done") == 20);
  BOOST_TEST(redis.size_of("queue:default") == 20U);
  BOOST_TEST(brood_on(redis, {"dead", "clear", "--yes"}).output == "10 dead jobs deleted\n");
  BOOST_TEST(redis.size_of("dead") == 0U);
}

BOOST_AUTO_TEST_CASE(a_kill_of_more_jobs_than_the_dead_set_holds_warns) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const std::string config = directory.write("brood.toml", "dead_max_jobs = 2\n");
  for (int i = 1; i <= 3; ++i) add_retry(redis, i);
  const CommandResult unasked = brood_on(redis, {"retries", "kill", "--all", "-C", config});
  BOOST_TEST(unasked.errors.find("and deletes all but the latest 2 of the dead") != std::string::npos, unasked.errors);
  BOOST_TEST(brood_on(redis, {"retries", "kill", "--all", "--yes", "-C", config}).status == 0);
  BOOST_TEST(redis.size_of("dead") < 3U);
}

BOOST_AUTO_TEST_CASE(a_kill_without_a_configuration_does_not_cut_the_dead_set) {
  RedisServer redis;
  redis.command({"EVAL", "for i = 1, 12000 do redis.call('ZADD', 'dead', i, i) end", "0"});  // as old as possible
  for (int i = 1; i <= 2; ++i) add_retry(redis, i);
  const CommandResult unasked = brood_on(redis, {"retries", "kill", "--all"});
  BOOST_TEST(unasked.errors.find("forgets") == std::string::npos, unasked.errors);
  BOOST_TEST(brood_on(redis, {"retries", "kill", jid(1)}).status == 0);
  BOOST_TEST(brood_on(redis, {"retries", "kill", "--all", "--yes"}).status == 0);
  BOOST_TEST(redis.size_of("dead") == 12'002U);
}

BOOST_AUTO_TEST_CASE(a_beginning_of_an_id_will_do_when_no_other_begins_so) {
  RedisServer redis;
  for (const std::string id : {"abcd1111", "abcd2222", "abcd22223333"})
    redis.command({"ZADD", "dead", "5", payload_text("Zip", "[]", 1, R"("jid":")" + id + R"(")")});
  BOOST_TEST(brood_on(redis, {"dead", "show", "abcd1"}).output.find("abcd1111") != std::string::npos);
  const CommandResult ambiguous = brood_on(redis, {"dead", "delete", "abcd"});
  BOOST_TEST(ambiguous.status == 64);
  BOOST_TEST(ambiguous.errors.find("may be any of abcd1111, abcd2222, abcd22223333") != std::string::npos,
             ambiguous.errors);
  BOOST_TEST(brood_on(redis, {"dead", "delete", "abcd2222"}).status == 0);  // whole, though another begins so
  BOOST_TEST(listed(brood_on(redis, {"dead", "--json"})).size() == 2U);
  BOOST_TEST(brood_on(redis, {"dead", "delete", "abc"}).status == 75);  // too short to count as a beginning
  const CommandResult missing = brood_on(redis, {"dead", "delete", "abcd1111", "nobody"});
  BOOST_TEST(missing.status == 75);
  BOOST_TEST(missing.errors == "brood dead: there is no dead job \"nobody\"\n");
  BOOST_TEST(listed(brood_on(redis, {"dead", "--json"})) == Jids{"abcd22223333"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(jobs_are_rescheduled) {
  RedisServer redis;
  redis.command({"ZADD", "schedule", "4000000000", payload_text("Zip", "[]", 7)});
  const double before = epoch_seconds(wall_now());
  BOOST_TEST(brood_on(redis, {"scheduled", "reschedule", jid(7), "--in", "10m"}).status == 0);
  BOOST_TEST(redis.zrange("schedule")[0].second >= before + 599);
  BOOST_TEST(redis.zrange("schedule")[0].second < epoch_seconds(wall_now()) + 601);
  BOOST_TEST(brood_on(redis, {"scheduled", "reschedule", jid(7), "--at", "2100-01-01T00:00:00Z"}).status == 0);
  BOOST_TEST(redis.zrange("schedule")[0].second == 4102444800.0);
  BOOST_TEST(brood_on(redis, {"scheduled", "reschedule", jid(7)}).status == 64);
  BOOST_TEST(brood_on(redis, {"scheduled", "run", jid(7)}).status == 0);
  BOOST_TEST(redis.size_of("queue:default") == 1U);
}

BOOST_AUTO_TEST_CASE(queues_are_listed_shown_paused_and_emptied) {
  RedisServer redis;
  enqueue(redis, {payload_text("Zip", "[1]", 1), payload_text("Mail", "[2]", 2)}, "images");
  enqueue(redis, {payload_text("Zip", "[3]", 3)}, "other");
  const CommandResult list = brood_on(redis, {"queues"});
  BOOST_TEST(list.output.find("images") != std::string::npos);
  BOOST_TEST(brood_on(redis, {"queues", "pause", "images"}).status == 0);
  BOOST_TEST(brood_on(redis, {"queues", "--json"}).output.find(R"({"name":"images","size":2,)") != std::string::npos);
  BOOST_TEST(brood_on(redis, {"queues"}).output.find("paused") != std::string::npos);
  BOOST_TEST(redis.smembers("paused") == Jids{"images"}, boost::test_tools::per_element());
  BOOST_TEST(brood_on(redis, {"queues", "pause", "images"}).errors == "");
  BOOST_TEST(brood_on(redis, {"queues"}).output.find("no process fetches from it") != std::string::npos);
  BOOST_TEST(brood_on(redis, {"queues", "--json"}).output.find(R"("paused":true,"served":false})") !=
             std::string::npos);
  const CommandResult unknown = brood_on(redis, {"queues", "pause", "imagse"});
  BOOST_TEST(unknown.status == 0);
  BOOST_TEST(
      unknown.errors ==
      "brood queues: there is no queue \"imagse\" yet: nothing was pushed to it, and no process fetches from it; "
      "did you "
      "mean \"images\"?\n");
  BOOST_TEST(brood_on(redis, {"queues", "unpause", "imagse"}).status == 0);
  BOOST_TEST(brood_on(redis, {"queues", "unpause", "images"}).status == 0);
  BOOST_TEST(redis.size_of("paused") == 0U);
  BOOST_TEST(listed(brood_on(redis, {"queues", "show", "images", "--json"})) == (Jids{jid(2), jid(1)}),
             boost::test_tools::per_element());
  BOOST_TEST(brood_on(redis, {"queues", "show", "images", jid(1)}).output.find("Zip") != std::string::npos);
  BOOST_TEST(brood_on(redis, {"queues", "show", "imagse"}).status == 64);
  BOOST_TEST(brood_on(redis, {"queues", "delete", "images", "--class", "Mail"}).status == 64);
  BOOST_TEST(brood_on(redis, {"queues", "delete", "images", "--class", "Mail", "--yes"}).output == "1 job deleted\n");
  BOOST_TEST(brood_on(redis, {"queues", "delete", "images", jid(1)}).status == 0);
  BOOST_TEST(redis.size_of("queue:images") == 0U);
  // Also empties the jobs that were set aside for a cap.  A queue with such a name need not be one of those.
  redis.command({"SADD", "brood:set_aside", "other@cap"});
  for (const char* name : {"other@cap", "other@host"}) {
    redis.command({"LPUSH", RedisKey(std::string("queue:") + name), payload_text("Zip", "[]", 9)});
    redis.command({"SADD", "queues", name});
  }
  BOOST_TEST(brood_on(redis, {"queues", "clear", "other", "--dry-run"}).output.find("2 of 2 jobs") == 0U);
  BOOST_TEST(brood_on(redis, {"queues", "clear", "other", "--yes"}).status == 0);
  BOOST_TEST(redis.size_of("queue:other@cap") == 0U);
  BOOST_TEST(redis.size_of("queue:other@host") == 1U);
  BOOST_TEST(brood_on(redis, {"queues", "clear", "other@host", "--yes"}).status == 0);
  BOOST_TEST(redis.smembers("queues") == Jids{"images"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(jobs_of_a_queue_that_wait_elsewhere_are_shown_counted_and_deleted_with_it) {
  RedisServer redis;
  enqueue(redis, {payload_text("Zip", "[1]", 1)}, "images");
  redis.command({"SADD", "brood:set_aside", "images@cap", "other@cap"});
  redis.command({"LPUSH", "queue:images@cap", payload_text("Heavy", "[2]", 2), payload_text("Zip", "[3]", 3)});
  redis.command({"LPUSH", "queue:images@host", payload_text("Zip", "[9]", 9)});
  const auto quarantine = [&](long number, const char* queue) {
    redis.command({"ZADD", "brood:quarantined", std::to_string(number),
                   payload_text("Heavy", "[]", number, std::string(R"("queue":")") + queue + '"')});
  };
  quarantine(4, "images");
  quarantine(5, "other");
  quarantine(6, "images");
  BOOST_TEST(
      listed(brood_on(redis, {"queues", "show", "images", "--json"})) == (Jids{jid(1), jid(3), jid(2), jid(6), jid(4)}),
      boost::test_tools::per_element());
  const std::string shown = brood_on(redis, {"queues", "show", "images"}).output;
  for (const char* const text : {"WAITS IN", "images@cap", "(its class)", "5 jobs"})
    BOOST_TEST(shown.find(text) != std::string::npos, shown);
  BOOST_TEST(brood_on(redis, {"queues", "show", "images", jid(4)}).output.find("Heavy") != std::string::npos);
  BOOST_TEST(brood_on(redis, {"queues", "delete", "images", "--class", "Heavy", "--dry-run"}).output ==
             "3 of 5 jobs would be deleted; nothing was done.\n");
  BOOST_TEST(brood_on(redis, {"queues", "delete", "images", jid(2), jid(4)}).output == "2 jobs deleted\n");
  BOOST_TEST(brood_on(redis, {"queues", "delete", "images", "--class", "Heavy", "--yes"}).output == "1 job deleted\n");
  BOOST_TEST(redis.size_of("brood:quarantined") == 1U);
  BOOST_TEST(redis.size_of("queue:images@cap") == 1U);
  quarantine(6, "images");
  BOOST_TEST(brood_on(redis, {"queues", "clear", "images", "--yes"}).output == "3 jobs deleted\n");
  BOOST_TEST(redis.size_of("queue:images@cap") == 0U);
  BOOST_TEST(redis.size_of("queue:images@host") == 1U);
  BOOST_TEST(redis.size_of("brood:quarantined") == 1U);
}

BOOST_AUTO_TEST_CASE(hostile_text_reaches_neither_terminal_nor_program_as_it_is) {
  RedisServer redis;
  redis.command({"ZADD", "dead", "5", "no job \x1b[2J\xff"});
  redis.command({"ZADD", "dead", "6",
                 payload_text("Zip\\u001b[2J", "[\"\\u001b]0;x\\u0007\"]", 1,
                              R"("error_class":"E\u001b[31m","error_message":"a\nb\u0007","odd\u001b":"\u009b")")});
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"dead"}, {"dead", "show", jid(1)}, {"dead", "delete", "--all", "--dry-run"}}) {
    const CommandResult result = brood_on(redis, words);
    BOOST_TEST(result.status == 0, result.errors);
    for (const char c : {'\x1b', '\x07', '\xff'}) BOOST_TEST(result.output.find(c) == std::string::npos);
  }
  const CommandResult json = brood_on(redis, {"dead", "--json"});
  simdjson::dom::parser parser;
  const auto jobs = parser.parse(json.output).get_array();
  BOOST_TEST_REQUIRE(jobs.size() == 2U);
  BOOST_TEST(std::string(jobs.at(1)["payload"]) == "no job \x1b[2J\xEF\xBF\xBD");
  BOOST_TEST(jobs.at(1)["args"].is_null());
}

BOOST_AUTO_TEST_CASE(processes_of_other_machines_are_listed_and_told_what_to_do) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1});
  BOOST_REQUIRE(brood.wait_ready());
  BOOST_REQUIRE(eventually([&] { return redis.size_of("processes") == 1; }));
  const std::string identity = redis.smembers("processes")[0];
  BOOST_TEST(brood_on(redis, {"processes"}).output.find(identity) != std::string::npos);
  BOOST_TEST(brood_on(redis, {"processes", "quiet", "nobody"}).status == 69);
  BOOST_TEST(brood_on(redis, {"processes", "stop", identity.substr(0, identity.rfind(':'))}).status == 0);
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(a_deploy_is_marked_once_a_minute) {
  RedisServer redis;
  const CommandResult first = brood_on(redis, {"mark", "v1.2"});
  BOOST_TEST(first.output == "marked: v1.2\n", first.errors);
  BOOST_TEST(redis.keys("*-marks").size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_key_that_holds_something_else_is_no_fault_of_the_program) {
  RedisServer redis;
  for (const std::string key : {"queues", "schedule", "retry", "dead", "processes"}) {
    redis.flush();
    redis.command({"SET", key, "something else"});
    for (const std::string command : {"status", "queues", "scheduled", "retries", "dead", "processes"}) {
      const CommandResult result = brood_on(redis, {command});
      BOOST_TEST((result.status == 0 || result.status == 69),
                 command << " with a wrong " << key << ": " << result.errors);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_command_line_that_says_too_little_or_too_much_is_refused) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"retries", "kil"}, "brood retries: unknown verb \"kil\"; did you mean \"kill\"?\n"},
      {{"dead", "kill"}, "brood dead: unknown verb \"kill\"; "},
      {{"retries", "kill"}, "brood retries: choose jobs: JID..., filters such as --class, or --all\n"},
      {{"retries", "kill", "--all", "--class", "Zip"}, "brood retries: --all and filters exclude each other\n"},
      {{"retries", "kill", "abcd", "--all"}, "brood retries: ids and filters exclude each other; "},
      {{"retries", "list", "--yes"}, "brood retries: --yes is no argument of list\n"},
      {{"retries", "clear", "--class", "Zip"}, "brood retries: --class is no argument of clear\n"},
      {{"retries", "--limit", "0"}, "brood retries: --limit and --page begin at 1\n"},
      {{"retries", "--older-than", "long"}, "brood retries: --older-than must be a duration such as "},
      {{"queues", "show"}, "brood queues: the name of the queue is missing\n"},
      {{"processes", "stop"}, "brood processes: the identity of the process is missing\n"},
  };
  RedisServer redis;
  for (const auto& [arguments, sentence] : cases) {
    const CommandResult result = brood_on(redis, arguments);
    BOOST_TEST(result.status == 64);
    BOOST_TEST(result.errors.starts_with(sentence), result.errors << " does not begin with " << sentence);
  }
  for (const std::string command : {"queues", "retries", "scheduled", "dead", "processes"}) {
    BOOST_TEST(run_brood({command, "--redis", "unix:///nowhere/redis.sock"}).status == 69);
    BOOST_TEST(run_brood({command, "--help"}).output.find("Verbs:") != std::string::npos);
  }
}
