#include <simdjson.h>

#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>

#include <fstream>
#include <set>

#include "shared/base/shard_of_key.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/sharded_ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

CommandResult restart_with(BroodProcess& brood, const std::string& config) {
  std::ofstream(brood.home() / "brood.toml") << config;
  return run_brood({"restart"}, brood.environment());
}

// Jobs that somebody enqueues who reads the same configuration.
struct Producer {
  void push(int count, int milliseconds) {
    const TemporaryDirectory directory;
    std::string lines;
    for (int i = 0; i < count; ++i, ++shards.pushed)
      lines += fmt::format("{{\"class\":\"Ledger\",\"args\":[\"{}\",\"{}\",{}]}}\n", shards.ledger.path(),
                           shards.pushed, milliseconds);
    const std::string file = directory.write("jobs", lines);
    const CommandResult pushed =
        run_brood({"enqueue", "--bulk", file, "-C", brood.home() / "brood.toml"}, brood.environment());
    BOOST_TEST(pushed.status == 0, pushed.errors);
  }
  ShardedLedger& shards;
  BroodProcess& brood;
};

// What `brood status --json` says of one.
std::string draining(BroodProcess& brood, std::size_t shard) {
  const CommandResult status = run_brood({"status", "--json", "-C", brood.home() / "brood.toml"}, brood.environment());
  simdjson::dom::parser parser;
  const simdjson::dom::element json = parser.parse(status.output);
  return simdjson::minify(json["shards"].get_array().at(shard)["draining"]);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_shard_is_drained_under_load_and_no_job_is_lost_or_done_twice) {
  ShardedLedger shards(3);
  BroodProcess brood(shards.with_workers(3, "poll_interval = \"100ms\"\n"));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  Producer producer{shards, brood};
  for (std::size_t shard = 0; shard < 3; ++shard) shards.push(shard, 300, 2);
  BOOST_TEST(draining(brood, 1) == "false");

  for (int round = 0; round < 10; ++round) producer.push(20, 1);
  BOOST_TEST(restart_with(brood, shards.config_draining({1})).status == 0, brood.log_tail());
  BOOST_TEST(draining(brood, 0) == "false");
  BOOST_TEST(draining(brood, 1) == "true");
  BOOST_TEST(times_logged(brood, "shard_drained") == 1U, brood.log_tail());
  for (int round = 0; round < 10; ++round) producer.push(20, 1);

  BOOST_TEST(eventually([&] { return shards.all_done() && shards.left() == 0; }, 60s), brood.log_tail());
  const std::string processed = shards.servers[1].get("stat:processed").value_or("0");
  for (int round = 0; round < 5; ++round) producer.push(20, 1);
  BOOST_TEST(eventually([&] { return shards.all_done() && shards.left() == 0; }, 60s), brood.log_tail());
  BOOST_TEST(shards.servers[1].get("stat:processed").value_or("0") == processed);
  const Ledger::Verdict verdict = shards.ledger.judge(shards.pushed);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.doubled.empty());
}

BOOST_AUTO_TEST_CASE(what_was_scheduled_or_failed_in_a_drained_shard_runs_there) {
  ShardedLedger shards(2);
  BroodProcess brood(BroodOptions{.workers = 2, .config = "poll_interval = \"100ms\"\n" + shards.config_draining({1})});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  const auto job = [&](int id) {
    return payload_text("Ledger", fmt::format("[\"{}\",\"{}\",1]", shards.ledger.path(), id), id + 1,
                        R"("queue":"default")");
  };
  const double soon = epoch_seconds(wall_now()) + 1;
  shards.servers[1].command({"ZADD", "schedule", std::to_string(soon), job(0)});
  shards.servers[1].command({"ZADD", "retry", std::to_string(soon), job(1)});
  shards.pushed = 2;
  BOOST_TEST(eventually([&] { return shards.all_done() && shards.left() == 0; }, 30s), brood.log_tail());
  BOOST_TEST(shards.ledger.judge(2).doubled.empty());
}

// The file says it before the supervisor does.
BOOST_AUTO_TEST_CASE(status_says_what_the_running_supervisor_does) {
  ShardedLedger shards(2);
  BroodProcess brood(shards.with_workers(1));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  std::ofstream(brood.home() / "brood.toml") << shards.config_draining({1});
  BOOST_TEST(draining(brood, 1) == "false");
  BOOST_TEST(run_brood({"restart"}, brood.environment()).status == 0, brood.log_tail());
  BOOST_TEST(draining(brood, 1) == "true");
  std::ofstream(brood.home() / "brood.toml") << shards.config();
  BOOST_TEST(draining(brood, 1) == "true");
  BOOST_TEST(run_brood({"restart"}, brood.environment()).status == 0, brood.log_tail());
  BOOST_TEST(draining(brood, 1) == "false");
  BOOST_TEST(times_logged(brood, "shard_drained_no_more") == 1U, brood.log_tail());
}

BOOST_AUTO_TEST_CASE(periodic_jobs_leave_a_shard_that_is_drained) {
  ShardedLedger shards(2);
  const std::vector<std::string> names{"0", "1"}, jobs{"one", "two", "three", "four", "five", "six"};
  std::string periodic;
  std::set<std::size_t> homes;
  for (const std::string& name : jobs) {
    periodic += "[periodic." + name + "]\ncron = \"* * * * * *\"\nclass = \"A\"\nqueue = \"" + name + "\"\n";
    homes.insert(shard_of_key(names, name));
  }
  BOOST_REQUIRE(homes.size() == 2U);
  BroodProcess brood(shards.with_workers(1, periodic));
  const auto waits = [&](std::size_t shard, const std::string& name) {
    return shards.servers[shard].size_of("queue:" + name);
  };
  for (const std::string& name : jobs)
    BOOST_TEST(eventually([&] { return waits(shard_of_key(names, name), name) >= 1; }), brood.log_tail());
  BOOST_TEST(restart_with(brood, periodic + shards.config_draining({1})).status == 0, brood.log_tail());
  std::size_t there = 0;
  for (const std::string& name : jobs) there += waits(1, name);
  for (const std::string& name : jobs) {
    const std::size_t before = waits(0, name);
    BOOST_TEST(eventually([&] { return waits(0, name) > before; }), brood.log_tail());
  }
  std::size_t later = 0;
  for (const std::string& name : jobs) later += waits(1, name);
  BOOST_TEST(later == there);
}
