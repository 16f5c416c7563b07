#include <boost/test/unit_test.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "shared/base/identity.hpp"
#include "shared/store/identity_record.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/sharded_ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// The number of calls of each command in Redis, and when they were read.
struct Calls {
  std::chrono::steady_clock::time_point at;
  std::map<std::string, std::int64_t> of;

  // Since it started, including the calls of scripts.
  std::int64_t all() const {
    return std::accumulate(of.begin(), of.end(), std::int64_t{0},
                           [](std::int64_t sum, const auto& one) { return sum + one.second; });
  }
};

Calls calls_of(RedisServer& server) {
  const std::string stats(server.command({"INFO", "commandstats"}).view().text());
  Calls calls{std::chrono::steady_clock::now(), {}};
  std::istringstream lines(stats);
  for (std::string line; std::getline(lines, line);) {
    const std::string before = "cmdstat_", found = ":calls=";
    const std::size_t at = line.find(found);
    if (line.starts_with(before) && at != std::string::npos)
      calls.of[line.substr(before.size(), at - before.size())] = std::stoll(line.substr(at + found.size()));
  }
  return calls;
}

}  // namespace

BOOST_AUTO_TEST_CASE(sixteen_idle_shards_cost_at_most_22_commands_a_second) {
  constexpr std::size_t workers = 8;
  ShardedLedger shards(16);
  const BroodProcess brood(shards.with_workers(workers));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  // The first beats and looks come together.  The first sweeps, which scan, come one after the other, three seconds
  // apart.
  const auto settled_at = std::chrono::steady_clock::now() + 50s;
  BOOST_REQUIRE(eventually([&] { return std::chrono::steady_clock::now() > settled_at; }, 60s));
  for (RedisServer& server : shards.servers)
    BOOST_REQUIRE(eventually([&] { return calls_of(server).of.contains("scan"); }, 60s));
  BOOST_REQUIRE(eventually([&] { return children_of(brood.pid()).size() == workers; }, 60s));

  std::vector<Calls> before;
  for (RedisServer& server : shards.servers) before.push_back(calls_of(server));
  const auto end = std::chrono::steady_clock::now() + 40s;  // each shard gets two beats and two looks in this time
  BOOST_REQUIRE(eventually([&] { return std::chrono::steady_clock::now() > end; }, 60s));
  double a_second = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Calls after = calls_of(shards.servers[i]);
    const std::chrono::duration<double> between = after.at - before[i].at;
    a_second +=
        static_cast<double>(after.all() - before[i].all() - 1) / between.count();  // without the question itself
  }
  BOOST_TEST_MESSAGE(a_second << " commands a second");
  BOOST_TEST(a_second <= 22);
}

namespace {

constexpr const char* look_of_each_beat = "ping";  // sent first with each heartbeat

// The number of commands per heartbeat, over all supervisors of this Redis at rest.
double commands_a_beat(RedisServer& redis, std::size_t supervisors) {
  constexpr std::int64_t beats_of_each = 4;
  const auto calls = [&](const Calls& all) {
    const auto found = all.of.find(look_of_each_beat);
    return found == all.of.end() ? 0 : found->second;
  };
  const auto beats = static_cast<std::int64_t>(supervisors) * beats_of_each;
  const std::int64_t start = calls(calls_of(redis));
  BOOST_REQUIRE(eventually([&] { return calls(calls_of(redis)) >= start + beats / 2; }, 120s));  // at rest by then
  redis.command({"CONFIG", "RESETSTAT"});
  BOOST_REQUIRE(eventually([&] { return calls(calls_of(redis)) >= beats; }, 120s));
  Calls after = calls_of(redis);
  for (const char* ours : {"info", "config|resetstat"}) after.of.erase(ours);  // sent by supervisors during a look
  return static_cast<double>(after.all()) / static_cast<double>(calls(after));
}

std::string elsewhere(int number) { return "elsewhere" + std::to_string(1'000 + number) + ":1:cccccccccccc"; }

// Supervisors of other hosts, by their keys in Redis.
void forge_supervisors(RedisServer& redis, int count) {
  for (int i = 0; i < count; ++i) {
    Identity identity;
    identity.name = elsewhere(i);
    identity.hostname = "elsewhere";
    identity.boot_id = "another boot";
    identity.pid_namespace = "pid:[1]";
    identity.pid = 1;
    identity.start_time = 1;
    redis.command({"HSET", "brood:processes", identity.name, identity_record(identity)});
    redis.command({"HSET", identity.name, "info", R"({"version":"0.1.0","queues":["default"]})", "quiet", "false"});
    redis.command({"SADD", "processes", identity.name});
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_an_idle_supervisor_asks_does_not_grow_with_the_fleet) {
  RedisServer redis;
  std::vector<std::unique_ptr<BroodProcess>> broods;
  const auto start = [&](std::size_t count) {
    while (broods.size() < count) broods.push_back(std::make_unique<BroodProcess>(redis, BroodOptions{.workers = 1}));
    for (const auto& brood : broods) BOOST_REQUIRE_MESSAGE(brood->wait_ready(120s), brood->log_tail());
  };
  start(1);
  const double of_one = commands_a_beat(redis, 1);
  start(20);
  const double of_twenty = commands_a_beat(redis, 20);
  while (broods.size() > 1) broods.pop_back();
  BOOST_REQUIRE(eventually([&] { return redis.size_of("brood:processes") == 1; }, 120s));
  forge_supervisors(redis, 500);
  const double of_five_hundred = commands_a_beat(redis, 1);
  BOOST_TEST_MESSAGE("commands with each heartbeat: " << of_one << " of one supervisor, " << of_twenty << " of 20, "
                                                      << of_five_hundred << " beside 500");
  constexpr double more = 3;  // one command counts heartbeats, and sometimes one reads the list
  BOOST_TEST(of_twenty <= of_one + more);
  BOOST_TEST(of_five_hundred <= of_one + more);
}

BOOST_AUTO_TEST_CASE(tens_of_thousands_of_queues_are_looked_at_once_and_then_as_they_change) {
  constexpr int queues = 45'000, jobs = 200;
  RedisServer redis;
  redis.command({"EVAL", "for i = 1, tonumber(ARGV[1]) do redis.call('SADD', 'queues', 'q' .. i) end", "0",
                 std::to_string(queues)});
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  const BroodProcess brood(redis, {.workers = 4, .queues = {"*"}});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(120s), brood.log_tail());
  const auto looked_at = [&] { return calls_of(redis).of["llen"]; };
  BOOST_REQUIRE(eventually([&] { return looked_at() >= queues; }, 120s));
  std::int64_t last = -1;
  BOOST_REQUIRE(eventually([&] { return std::exchange(last, calls_of(redis).of["ping"]) >= 2; }, 120s));

  redis.command({"CONFIG", "RESETSTAT"});
  BOOST_REQUIRE(eventually([&] { return calls_of(redis).of["ping"] >= 2; }, 120s));  // two heartbeats later
  // Only the workers themselves look, now and then.
  BOOST_TEST(looked_at() <= 4 * 2 * queues);
  BOOST_TEST_MESSAGE("idle: " << looked_at() << " lists were looked at between two heartbeats");

  redis.command({"CONFIG", "RESETSTAT"});
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < jobs; ++i) {
    const std::string id = std::to_string(i), queue = "q" + std::to_string(1 + i * 211 % queues);
    enqueue(redis, {payload_text("Ledger", "[\"" + ledger.path() + "\",\"" + id + "\",0]", i)}, queue);
    std::this_thread::sleep_for(35ms);  // 28 jobs a second
  }
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(jobs); }, 60s), brood.log_tail());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  BOOST_TEST_MESSAGE("busy: " << looked_at() << " lists were looked at for " << jobs << " jobs in " << took.count()
                              << " s");
  BOOST_TEST(looked_at() <= jobs * queues / 4);  // otherwise each job would look at all of them
}
