#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <thread>

#include "tests/support/brood_process.hpp"
#include "tests/support/census.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

std::string ledger_payload(const Ledger& ledger, int id, int milliseconds) {
  return payload_text("Ledger",
                      "[\"" + ledger.path() + "\",\"" + std::to_string(id) + "\"," + std::to_string(milliseconds) + "]",
                      id + 1);
}

bool is_full(RedisServer& redis) { return redis.command({"SET", "refused", "x"}).view().is_error(); }

// Fills it to its limit with noeviction, and a megabyte beyond what draining the queues will free: it stays full to the
// end.
void fill(RedisServer& redis) {
  redis.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  redis.command({"SET", "filling", std::string(2 << 20, 'x')});
  redis.command({"CONFIG", "SET", "maxmemory", "1mb"});
  BOOST_REQUIRE(is_full(redis));
}

// The `beat` of the only process that Sidekiq's tools see; 0 if there is none.
double last_beat(RedisServer& redis) {
  const std::vector<std::string> processes = redis.smembers("processes");
  return processes.size() != 1 ? 0 : std::stod(redis.hget(processes.front(), "beat").value_or("0"));
}

bool holds(RedisServer& redis, const std::string& set, const std::string& text) {
  const auto members = redis.zrange(set);
  return std::any_of(members.begin(), members.end(),
                     [&](const auto& member) { return member.first.find(text) != std::string::npos; });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_redis_that_fills_under_load_is_worked_on) {
  constexpr int jobs = 4000;
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = 4});
  BOOST_REQUIRE(brood.wait_ready());
  enqueue_ledger_jobs(redis, ledger.path(), jobs, 1);
  enqueue(redis,
          {payload_text("Fail", "[\"into a full Redis\"]", 1'000'001), payload_text("Segfault", "[]", 1'000'002)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.done().size() > 200; }, 20s), brood.log_tail());

  fill(redis);

  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(jobs); }, 30s), brood.log_tail());
  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 2; }, 10s), brood.log_tail());
  BOOST_TEST(holds(redis, "retry", "into a full Redis"));
  BOOST_TEST(holds(redis, "retry", R"("error_class":"SIGSEGV")"));
  BOOST_TEST(eventually([&] { return brood.workers().size() == 4; }));
  BOOST_TEST(Census(redis).misplaced(ledger, jobs) == "");
  BOOST_TEST(is_full(redis));
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());
  BOOST_TEST(redis.size_of("brood:processes") == 0U);
  BOOST_TEST(redis.size_of("processes") == 0U);
  const Ledger::Verdict verdict = ledger.judge(jobs);
  BOOST_TEST(verdict.doubled.size() == 0U);
  BOOST_TEST(verdict.overlapped.size() == 0U);
  BOOST_TEST(redis.get("stat:failed").value_or("0") == "2");
  BOOST_TEST(redis.get("stat:processed").value_or("0") == std::to_string(jobs + 2));
}

BOOST_AUTO_TEST_CASE(heartbeat_and_schedule_go_on_in_a_full_redis) {
  constexpr int jobs = 50;
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  const auto due = std::chrono::system_clock::now() + 3s;
  const double score = std::chrono::duration<double>(due.time_since_epoch()).count();
  for (int id = 0; id < jobs; ++id)
    redis.integer({"ZADD", "schedule", std::to_string(score), ledger_payload(ledger, id, 0)});
  redis.integer({"SADD", "queues", "default"});
  fill(redis);

  BroodProcess brood(redis, {.workers = 2, .config = "poll_interval = \"500ms\"\n"});

  BOOST_TEST(eventually([&] { return last_beat(redis) > 0; }), brood.log_tail());
  const double first = last_beat(redis);
  BOOST_TEST(eventually([&] { return ledger.has_done(jobs); }, 20s), brood.log_tail());
  BOOST_TEST(ledger.judge(jobs).doubled.size() == 0U);
  BOOST_TEST(eventually([&] { return last_beat(redis) > first; }, 15s), brood.log_tail());
  BOOST_TEST(is_full(redis));
}

BOOST_AUTO_TEST_CASE(a_stop_gives_back_and_a_kill_is_recovered_from_in_a_full_redis) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  enqueue(redis, {ledger_payload(ledger, 0, 60'000), ledger_payload(ledger, 1, 60'000)});
  fill(redis);
  BroodProcess brood(redis, {.workers = 2, .shutdown_timeout = "1"});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.runs().size() == 2; }, 20s), brood.log_tail());

  kill_with_workers(brood);
  brood.start();
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.runs().size() == 4; }, 20s), brood.log_tail());
  brood.term();

  BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());
  BOOST_TEST(is_full(redis));
  BOOST_TEST(redis.size_of("queue:default") == 2U);
  BOOST_TEST(redis.size_of("retry") == 0U);
  BOOST_TEST(redis.size_of("brood:processes") == 0U);
  BOOST_TEST(jobs_in_flight(redis) == 0U);
}

BOOST_AUTO_TEST_CASE(workers_killed_in_a_full_redis_are_charged_and_refilled) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  enqueue(redis, {ledger_payload(ledger, 0, 60'000), ledger_payload(ledger, 1, 60'000)});
  fill(redis);
  BroodProcess brood(redis, {.workers = 2});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.runs().size() == 2; }, 20s), brood.log_tail());

  for (const pid_t worker : brood.workers()) kill(worker, SIGKILL);

  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 2; }), brood.log_tail());
  BOOST_TEST(holds(redis, "retry", "SIGKILL"));
  BOOST_TEST(is_full(redis));
  BOOST_TEST(eventually([&] { return brood.workers().size() == 2; }));
}

// Each round of one worker evicts the fields of another.
BOOST_AUTO_TEST_CASE(a_redis_that_evicts_what_workers_need_is_not_stormed_and_serves_again_when_it_has_room) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = 2});
  BOOST_REQUIRE(brood.wait_ready());
  redis.command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  // So little memory that it evicts what it has just stored, again and again.
  const auto evicts_all_the_time = [&](long long limit) {
    redis.command({"CONFIG", "SET", "maxmemory", std::to_string(limit)});
    const long long evicted = redis.figure("stats", "evicted_keys");
    return within(1s, [&] { return redis.figure("stats", "evicted_keys") > evicted + 5; });
  };
  long long limit = redis.figure("memory", "used_memory");
  while (!evicts_all_the_time(limit) && limit > 500'000) limit -= 4'000;
  BOOST_TEST_MESSAGE(limit);

  redis.command({"CONFIG", "RESETSTAT"});
  const std::size_t said_before = brood.log().size();
  std::this_thread::sleep_for(5s);  // the observed time
  const long long commands = redis.commands_processed();
  const std::string which(redis.command({"INFO", "commandstats"}).view().text());
  BOOST_TEST(commands / 5 < 1'000, commands << " commands\n"
                                            << which << brood.log_tail());  // 60,000 a second were once observed
  BOOST_TEST((brood.log().size() - said_before) / 5 < 20'000U, brood.log_tail());

  redis.command({"CONFIG", "SET", "maxmemory", "0"});
  enqueue(redis, {ledger_payload(ledger, 1, 0)});
  BOOST_TEST(eventually([&] { return ledger.done().contains("1"); }, 30s), brood.log_tail());
  BOOST_TEST_MESSAGE(redis.figure("stats", "evicted_keys"));
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());
}
