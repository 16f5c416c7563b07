#include <simdjson.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <thread>

#include "shared/base/identity.hpp"
#include "shared/store/identity_record.hpp"
#include "shared/store/keys.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/lends_terminals.hpp"
#include "tests/support/redis_clients.hpp"
#include "tests/support/terminal.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string stranger = "there:4711:0123456789ab";
const std::string neighbour = "there:4712:0123456789ac";

CommandResult recover(const RedisServer& redis, std::vector<std::string> arguments,
                      const std::map<std::string, std::string>& environment = {}) {
  arguments.insert(arguments.begin(), {"recover", "--redis", redis.url()});
  return run_brood(arguments, environment);
}

// A supervisor of another host that holds one job.
void strand(RedisServer& redis, const std::string& identity, const std::string& payload) {
  Identity self = Identity::of_this_process();
  self.boot_id = "another";
  redis.command({"HSET", keys::brood_processes, identity, identity_record(self)});
  redis.command({"HSET", keys::in_flight_hash(identity), "0.1", "3 default"});
  redis.command({"LPUSH", keys::in_flight_list(identity, "0.1", "default"), payload});
}

std::string json_of(const CommandResult& result, const std::string& identity, const std::string& member) {
  simdjson::dom::parser parser;
  for (const simdjson::dom::element one : parser.parse(result.output)["identities"].get_array()) {
    if (std::string(one["identity"]) == identity) return simdjson::minify(one[member]);
  }
  return "not listed";
}

std::string only_identity(RedisServer& redis) {
  const auto all = redis.hgetall("brood:processes");
  BOOST_REQUIRE_EQUAL(all.size(), 1U);
  return all.begin()->first;
}

// The number of workers that have begun a job.  A job that is in flight may not run yet.
long busy_workers(const BroodProcess& brood) {
  const std::string status = run_brood({"status", "--json"}, brood.environment()).output, busy = R"("state":"busy")";
  long count = 0;
  for (std::size_t at = status.find(busy); at != status.npos; at = status.find(busy, at + 1)) ++count;
  return count;
}

const std::string job = payload_text("Zip", "[1]", 7);

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_killed_supervisor_and_its_workers_had_in_flight_goes_back_uncharged) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 2});
  const std::vector<std::string> payloads = {payload_text("Sleep", "[60000]", 1), payload_text("Sleep", "[60000]", 2)};
  enqueue(redis, payloads);
  BOOST_REQUIRE(eventually([&] { return busy_workers(brood) == 2; }, 30s));
  const std::string identity = only_identity(redis);

  const std::vector<pid_t> children = children_of(brood.pid());
  kill(brood.pid(), SIGSTOP);  // so that it does not refill meanwhile
  for (const pid_t child : children) kill(child, SIGKILL);
  brood.kill9();
  for (const pid_t child : children) BOOST_REQUIRE(eventually([&] { return !process_exists(child); }));
  const CommandResult result = recover(redis, {"--all", "--json"}, brood.environment());  // without a question

  BOOST_TEST(result.status == 0, result.errors);
  BOOST_TEST(json_of(result, identity, "standing") == "\"dead\"");
  BOOST_TEST(json_of(result, identity, "recovered") == "true");
  BOOST_TEST(json_of(result, identity, "given_back") == "2");
  BOOST_TEST(jobs_in_flight(redis) == 0U);
  std::vector<std::string> back = redis.lrange("queue:default");
  std::sort(back.begin(), back.end());
  BOOST_TEST(back == payloads, boost::test_tools::per_element());
  BOOST_TEST(redis.size_of("retry") == 0U);
  BOOST_TEST(redis.size_of("brood:processes") == 0U);
  BOOST_TEST(redis.keys("brood:recovered:*").size() == 2U);  // the third time each would go to the dead set
  BOOST_TEST(recover(redis, {"--all", "--yes"}, brood.environment()).output == "No supervisor holds jobs in flight.\n");
}

BOOST_AUTO_TEST_CASE(a_living_supervisor_is_never_touched_named_or_not) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1});
  enqueue(redis, {payload_text("Sleep", "[60000]", 1)});
  BOOST_REQUIRE(eventually([&] { return busy_workers(brood) == 1; }, 30s));
  const std::string identity = only_identity(redis);

  BOOST_TEST(recover(redis, {"--all", "--yes"}).status == 0);
  const CommandResult named = recover(redis, {identity, "--yes", "--json"});
  BOOST_TEST(named.status == 75);
  BOOST_TEST(json_of(named, identity, "standing") == "\"lives\"");
  redis.command({"DEL", identity});  // a missing heartbeat proves nothing against a process that exists
  BOOST_TEST(recover(redis, {identity, "--yes"}).status == 75);

  BOOST_TEST(jobs_in_flight(redis) == 1U);
  BOOST_TEST(redis.size_of("queue:default") == 0U);
}

BOOST_AUTO_TEST_CASE(a_supervisor_that_stopped_in_order_holds_nothing_and_is_not_listed) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1});
  enqueue(redis, {job, payload_text("Fail", "[]", 8)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("retry") == 2; }, 30s), brood.log_tail());
  BOOST_REQUIRE(eventually([&] { return no_job_is_left(redis, "default", true); }, 30s));
  brood.term();
  BOOST_REQUIRE(brood.wait_exit() == 0);

  for (const bool expired : {false, true}) {  // its heartbeat stays for a minute
    if (expired) {
      for (const std::string& key : redis.keys("*:*:*")) {
        if (!key.starts_with("brood:")) redis.command({"DEL", key});
      }
    }
    const CommandResult result = recover(redis, {"--all", "--wait", "0s"}, brood.environment());
    BOOST_TEST(result.status == 0, result.errors);
    BOOST_TEST(result.output.find("No supervisor holds jobs in flight") != std::string::npos, result.output);
    BOOST_TEST(recover(redis, {"--all", "--json"}, brood.environment()).output ==
               "{\"dry_run\":false,\"identities\":[]}\n");
  }
}

BOOST_AUTO_TEST_CASE(a_dead_supervisors_worker_may_finish_its_job) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1, .shutdown_timeout = "40"});
  enqueue(redis, {payload_text("Sleep", "[60000]", 1)});
  BOOST_REQUIRE(eventually([&] { return busy_workers(brood) == 1; }, 30s));
  const std::string identity = only_identity(redis);
  const std::vector<pid_t> workers = brood.workers();

  brood.kill9();  // its worker still has shutdown_timeout
  const CommandResult finishing = recover(redis, {"--all", "--yes", "--json"}, brood.environment());
  BOOST_TEST(finishing.status == 75);
  BOOST_TEST(json_of(finishing, identity, "standing") == "\"finishing\"");
  BOOST_TEST(jobs_in_flight(redis) == 1U);

  kill(workers.at(0), SIGKILL);
  BOOST_REQUIRE(eventually([&] { return !process_exists(workers.at(0)); }));
  BOOST_TEST(recover(redis, {identity, "--yes"}, brood.environment()).status == 0);
  BOOST_TEST(redis.size_of("queue:default") == 1U);
}

BOOST_AUTO_TEST_CASE(another_hosts_that_beats_is_left_alone_and_a_silent_one_is_given_back) {
  RedisServer redis;
  strand(redis, stranger, job);
  strand(redis, neighbour, job);
  redis.command({"HSET", neighbour, "beat", "1"});

  const CommandResult result = recover(redis, {"--all", "--yes", "--wait", "0.1s", "--json"});

  BOOST_TEST(result.status == 0);
  BOOST_TEST(json_of(result, stranger, "standing") == "\"silent\"");
  BOOST_TEST(json_of(result, stranger, "given_back") == "1");
  BOOST_TEST(json_of(result, neighbour, "recovered") == "false");
  BOOST_TEST(redis.lrange("queue:default") == std::vector<std::string>{job}, boost::test_tools::per_element());
  BOOST_TEST(jobs_in_flight(redis) == 1U);
  BOOST_TEST(recover(redis, {neighbour, "--yes"}).status == 75);
}

BOOST_AUTO_TEST_CASE(another_hosts_that_beats_while_it_is_watched_lives) {
  RedisServer redis;
  strand(redis, stranger, job);
  CommandResult result;
  std::thread command([&] { result = recover(redis, {"--all", "--yes", "--wait", "1h"}); });
  const bool watches = eventually([&] { return !RedisClient::of(redis, "brood-recover").empty(); });

  redis.command({"HSET", stranger, "beat", "1"});
  command.join();

  BOOST_TEST(watches);
  BOOST_TEST(result.status == 0);
  BOOST_TEST(jobs_in_flight(redis) == 1U);
}

BOOST_AUTO_TEST_CASE(a_named_supervisor_is_not_watched_and_the_beginning_of_its_name_is_enough) {
  RedisServer redis;
  strand(redis, stranger, job);
  strand(redis, neighbour, job);
  const CommandResult ambiguous = recover(redis, {"there", "--yes"});
  BOOST_TEST(ambiguous.status == 64);
  BOOST_TEST(ambiguous.errors.find(stranger + " or " + neighbour) != std::string::npos, ambiguous.errors);
  BOOST_TEST(recover(redis, {"nowhere", "--yes"}).status == 64);

  const CommandResult result = recover(redis, {"there:4711", "--yes"});

  BOOST_TEST(result.status == 0, result.errors);
  BOOST_TEST(result.output.find(stranger + ": 1 job given back") != std::string::npos, result.output);
  BOOST_TEST(jobs_in_flight(redis) == 1U);
}

BOOST_AUTO_TEST_CASE(lists_that_nothing_else_names_are_found) {
  RedisServer redis;
  redis.command({"LPUSH", keys::in_flight_list(stranger, "0.1", "default"), job});
  redis.command({"HSET", keys::in_flight_hash(neighbour), "0.1", "3 default"});
  redis.command({"LPUSH", keys::in_flight_list(neighbour, "0.1", "default"), job});

  BOOST_TEST(recover(redis, {"--all", "--yes", "--wait", "0"}).status == 0);

  BOOST_TEST(redis.size_of("queue:default") == 2U);
  BOOST_TEST(redis.keys("brood:inflight:*").size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_refused_recovery_is_reported_and_holds_up_no_other) {
  RedisServer redis;
  strand(redis, stranger, job);
  strand(redis, neighbour, job);
  redis.command({"HSET", keys::in_flight_hash(stranger), "0.1", "3 broken"});
  redis.command({"LPUSH", keys::in_flight_list(stranger, "0.1", "broken"), job});
  redis.command({"SET", "queue:broken", "no list"});

  const CommandResult result = recover(redis, {"--all", "--yes", "--wait", "0", "--json"});

  BOOST_TEST(result.status == 75);
  BOOST_TEST(json_of(result, stranger, "error").find("WRONGTYPE") != std::string::npos);
  BOOST_TEST(json_of(result, neighbour, "given_back") == "1");
}

BOOST_AUTO_TEST_CASE(a_dry_run_and_a_question_without_a_terminal_change_nothing) {
  RedisServer redis;
  strand(redis, stranger, job);

  const CommandResult dry = recover(redis, {"--all", "--dry-run"});
  BOOST_TEST(dry.status == 0);
  BOOST_TEST(dry.output.find(stranger) != std::string::npos);
  BOOST_TEST(dry.output.find("1 job") != std::string::npos);
  for (const std::vector<std::string>& words : {std::vector<std::string>{stranger}, {"--all", "--wait", "0"}}) {
    const CommandResult unasked = recover(redis, words);
    BOOST_TEST(unasked.status == 64);
    BOOST_TEST(unasked.errors.find("--yes") != std::string::npos);
  }

  BOOST_TEST(jobs_in_flight(redis) == 1U);
  BOOST_TEST(redis.keys("brood:recovered:*").size() == 0U);
}

BOOST_AUTO_TEST_CASE(on_a_terminal_it_asks_and_says_what_it_means, *boost::unit_test::precondition(lends_terminals)) {
  RedisServer redis;
  strand(redis, stranger, job);
  {
    OnTerminal terminal({"recover", stranger, "--redis", redis.url()});
    BOOST_REQUIRE(terminal.shows("Go on? [y/N]"));
    BOOST_TEST(terminal.text().find("cut off from Redis, its running job runs twice") != std::string::npos);
    terminal.type("n\n");
    BOOST_TEST(terminal.status() == 75);
    BOOST_TEST(jobs_in_flight(redis) == 1U);
  }
  OnTerminal terminal({"recover", stranger, "--redis", redis.url()});
  BOOST_REQUIRE(terminal.shows("Go on? [y/N]"));
  terminal.type("y\n");
  BOOST_TEST(terminal.status() == 0);
  BOOST_TEST(redis.size_of("queue:default") == 1U);
}

BOOST_AUTO_TEST_CASE(a_command_line_that_says_too_little_or_too_much_is_refused) {
  BOOST_TEST(run_brood({"recover"}).status == 64);
  BOOST_TEST(run_brood({"recover", "--all", stranger}).status == 64);
  BOOST_TEST(run_brood({"recover", "--all", "--wait", "soon"}).status == 64);
  BOOST_TEST(run_brood({"recover", "--all", "--redis", "unix:///nowhere/redis.sock"}).status == 69);
}
