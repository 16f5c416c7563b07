#include <simdjson.h>

#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>
#include <csignal>

#include <fstream>
#include <set>

#include "shared/base/shard_of_key.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_clients.hpp"
#include "tests/support/sharded_ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

CommandResult restart_with(BroodProcess& brood, const std::string& config) {
  std::ofstream(brood.home() / "brood.toml") << config;
  return run_brood({"restart"}, brood.environment());
}

// Enqueues jobs with the same configuration.
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

std::string status_of(BroodProcess& brood) { return run_brood({"status", "--json"}, brood.environment()).output; }

// Connections of its supervisor and workers.
std::size_t clients_of_brood(RedisServer& redis) { return RedisClient::of(redis, "brood-").size(); }

// The member `draining` of a shard in `brood status --json`.
std::string draining(BroodProcess& brood, std::size_t shard) {
  const CommandResult status = run_brood({"status", "--json", "-C", brood.home() / "brood.toml"}, brood.environment());
  simdjson::dom::parser parser;
  const simdjson::dom::element json = parser.parse(status.output);
  return simdjson::minify(json["shards"].get_array().at(shard)["draining"]);
}

// Waits for this answer.  If the supervisor does not answer in time, status reads the configuration's file.
bool shows_draining(BroodProcess& brood, std::size_t shard, const std::string& expected) {
  return eventually([&] { return draining(brood, shard) == expected; });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_shard_is_drained_under_load_and_no_job_is_lost_or_done_twice) {
  ShardedLedger shards(3);
  BroodProcess brood(shards.with_workers(3, "poll_interval = \"100ms\"\n"));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  Producer producer{shards, brood};
  for (std::size_t shard = 0; shard < 3; ++shard) shards.push(shard, 300, 2);
  BOOST_TEST(shows_draining(brood, 1, "false"));

  for (int round = 0; round < 10; ++round) producer.push(20, 1);
  BOOST_TEST(restart_with(brood, shards.config_draining({1})).status == 0, brood.log_tail());
  BOOST_TEST(shows_draining(brood, 0, "false"));
  BOOST_TEST(shows_draining(brood, 1, "true"));
  BOOST_TEST(times_logged(brood, "shard_drained") == 1U, brood.log_tail());
  for (int round = 0; round < 10; ++round) producer.push(20, 1);

  const auto all_counted = [&] {
    int processed = 0;
    for (RedisServer& server : shards.servers) processed += std::stoi(server.get("stat:processed").value_or("0"));
    return processed == shards.pushed;
  };
  BOOST_TEST(eventually([&] { return shards.all_done() && shards.left() == 0; }, 60s), brood.log_tail());
  BOOST_TEST(eventually(all_counted, 30s), brood.log_tail());
  const std::string processed = shards.servers[1].get("stat:processed").value_or("0");
  for (int round = 0; round < 5; ++round) producer.push(20, 1);
  BOOST_TEST(eventually([&] { return shards.all_done() && shards.left() == 0; }, 60s), brood.log_tail());
  BOOST_TEST(eventually(all_counted, 30s), brood.log_tail());
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

// The file changes before the supervisor does.
BOOST_AUTO_TEST_CASE(status_says_what_the_running_supervisor_does) {
  ShardedLedger shards(2);
  BroodProcess brood(shards.with_workers(1));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  std::ofstream(brood.home() / "brood.toml") << shards.config_draining({1});
  BOOST_TEST(shows_draining(brood, 1, "false"));
  BOOST_TEST(run_brood({"restart"}, brood.environment()).status == 0, brood.log_tail());
  BOOST_TEST(shows_draining(brood, 1, "true"));
  std::ofstream(brood.home() / "brood.toml") << shards.config();
  BOOST_TEST(shows_draining(brood, 1, "true"));
  BOOST_TEST(run_brood({"restart"}, brood.environment()).status == 0, brood.log_tail());
  BOOST_TEST(shows_draining(brood, 1, "false"));
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

BOOST_AUTO_TEST_CASE(a_shard_that_is_drained_is_taken_out_and_the_fleet_goes_on_without_it) {
  ShardedLedger shards(3);
  BroodProcess brood(shards.with_workers(3, "poll_interval = \"100ms\"\n"));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  Producer producer{shards, brood};
  for (std::size_t shard = 0; shard < 3; ++shard) shards.push(shard, 200, 2);
  BOOST_TEST(restart_with(brood, shards.config_draining({1})).status == 0, brood.log_tail());
  for (int round = 0; round < 5; ++round) producer.push(20, 1);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return shards.all_done() && shards.left() == 0; }, 60s), brood.log_tail());
  shards.servers[1].command({"ZADD", "dead", "1", payload_text("Gone", "[]")});
  const std::string processed = shards.servers[1].get("stat:processed").value_or("0");

  const CommandResult removed = restart_with(brood, shards.config_without({1}));
  BOOST_TEST(removed.status == 0, removed.errors << brood.log_tail());
  BOOST_TEST(eventually([&] { return times_logged(brood, "shard_removed") == 1; }), brood.log_tail());
  BOOST_TEST(times_logged(brood, "dead_jobs_stay") >= 1U, brood.log_tail());
  BOOST_TEST(shards.servers[1].size_of("processes") == 0U);
  BOOST_TEST(shards.servers[1].size_of("brood:processes") == 0U);
  BOOST_TEST(shards.servers[1].size_of("dead") == 1U);
  BOOST_TEST(eventually([&] { return clients_of_brood(shards.servers[1]) == 0; }), brood.log_tail());
  for (int round = 0; round < 5; ++round) producer.push(20, 1);
  for (const std::size_t shard : {0U, 2U}) shards.push(shard, 100, 1);
  BOOST_TEST(eventually([&] { return shards.all_done() && shards.left() == 0; }, 60s), brood.log_tail());

  // Now the server may go.
  shards.servers[1].kill9();
  BOOST_TEST(run_brood({"upgrade"}, brood.environment()).status == 0, brood.log_tail());
  BOOST_TEST(times_logged(brood, "supervisor_took_over") == 1U, brood.log_tail());
  for (int round = 0; round < 3; ++round) producer.push(20, 1);
  for (const std::size_t shard : {0U, 2U}) shards.push(shard, 100, 1);
  BOOST_TEST(eventually([&] { return shards.all_done(); }, 60s), brood.log_tail());

  // Another shard is added at the end, while its place stays empty.
  shards.servers.emplace_back(RedisServer::Options{.append_only = true});
  const CommandResult added = restart_with(brood, shards.config_without({1}));
  BOOST_TEST(added.status == 0, added.errors << brood.log_tail());
  shards.push(3, 50, 1);
  BOOST_TEST(eventually([&] { return shards.all_done(); }, 60s), brood.log_tail());
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());
  for (const std::size_t shard : {0U, 2U, 3U}) BOOST_TEST(shards.servers[shard].size_of("brood:processes") == 0U);
  const Ledger::Verdict verdict = shards.ledger.judge(shards.pushed);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.doubled.empty());
  BOOST_TEST(processed != "0");
}

BOOST_AUTO_TEST_CASE(a_shard_that_was_taken_out_is_added_again_at_once) {
  ShardedLedger shards(2);
  BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  BOOST_TEST(restart_with(brood, shards.config_draining({1})).status == 0, brood.log_tail());
  BOOST_TEST(restart_with(brood, shards.config_without({1})).status == 0, brood.log_tail());
  BOOST_TEST(eventually([&] { return times_logged(brood, "shard_removed") == 1; }), brood.log_tail());
  BOOST_TEST(restart_with(brood, shards.config()).status == 0, brood.log_tail());
  shards.push(1, 20, 1);
  BOOST_TEST(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
  BOOST_TEST(eventually([&] { return shards.servers[1].size_of("processes") == 1U; }), brood.log_tail());
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());
  BOOST_TEST(times_logged(brood, "name_is_taken") == 0U);
}

BOOST_AUTO_TEST_CASE(the_first_shard_is_taken_out_while_another_is_added) {
  ShardedLedger shards(2);
  BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  BOOST_TEST(restart_with(brood, shards.config_draining({0})).status == 0, brood.log_tail());
  shards.servers.emplace_back(RedisServer::Options{.append_only = true});
  const CommandResult changed = restart_with(brood, shards.config_without({0}));
  BOOST_TEST(changed.status == 0, changed.errors << brood.log_tail());
  BOOST_TEST(eventually([&] { return times_logged(brood, "shard_removed") == 1; }), brood.log_tail());
  BOOST_TEST(times_logged(brood, "shard_added") == 1U);
  shards.servers[0].kill9();
  for (const std::size_t shard : {1U, 2U}) shards.push(shard, 50, 1);
  BOOST_TEST(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
  BOOST_TEST(run_brood({"upgrade"}, brood.environment()).status == 0, brood.log_tail());
  for (const std::size_t shard : {1U, 2U}) shards.push(shard, 50, 1);
  BOOST_TEST(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());
  BOOST_TEST(shards.ledger.judge(shards.pushed).doubled.empty());
}

BOOST_AUTO_TEST_CASE(a_shard_that_is_not_empty_is_not_taken_out_and_the_fleet_goes_on_untouched) {
  ShardedLedger shards(2);
  BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.servers[1].command({"ZADD", "schedule", "4e9", payload_text("Ledger", "[]")});
  const std::vector<pid_t> workers = brood.workers();
  const CommandResult refused = restart_with(brood, shards.config_without({1}));
  BOOST_TEST(refused.status == 78);
  BOOST_TEST(refused.errors.find("the shard 1 cannot be taken out, for it has 1 scheduled job: drain it first") !=
                 std::string::npos,
             refused.errors);
  BOOST_TEST((brood.workers() == workers));
  shards.push(1, 10, 1);
  BOOST_TEST(eventually([&] { return shards.all_done(); }), brood.log_tail());
  BOOST_TEST(eventually([&] { return shards.servers[1].size_of("processes") == 1; }), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_shard_that_is_away_is_not_taken_out) {
  ShardedLedger shards(2);
  BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.servers[1].kill9();
  const CommandResult refused = restart_with(brood, shards.config_without({1}));
  BOOST_TEST(refused.status == 78);
  BOOST_TEST(refused.errors.find("because it cannot be checked whether it is empty") != std::string::npos,
             refused.errors);
  shards.push(0, 10, 1);
  BOOST_TEST(eventually([&] { return shards.all_done(); }, 20s), brood.log_tail());
}

// A client without the new configuration still pushes there while the workers are replaced.
BOOST_AUTO_TEST_CASE(jobs_that_come_during_the_roll_bring_the_old_workers_back) {
  ShardedLedger shards(2);
  BroodProcess brood(shards.with_workers(2, "[restart]\ncanary = true\ncanary_watch = \"1h\"\n"));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.push(0, 6, 1'000);  // once a second the runs of the old workers are noted
  BOOST_REQUIRE(eventually([&] { return shards.all_done(); }));
  // The new workers are watched as long as they have such a job.
  const auto go_on = [&] {
    if (shards.servers[0].size_of("queue:default") < 2) shards.push(0, 1, 3'000);
  };
  BOOST_REQUIRE(eventually([&] {
    go_on();
    return shards.running() == 2;
  }));
  std::ofstream(brood.home() / "brood.toml") << "[restart]\ncanary = true\ncanary_watch = \"1h\"\n"
                                             << shards.config_without({1});
  brood.signal(SIGHUP);
  BOOST_REQUIRE_MESSAGE(eventually(
                            [&] {
                              go_on();
                              return status_of(brood).find("all 2 workers are new") != std::string::npos;
                            },
                            20s),
                        status_of(brood) << brood.log_tail());
  shards.servers[1].command({"ZADD", "schedule", "4e9", payload_text("Ledger", "[]")});
  BOOST_TEST(eventually([&] { return times_logged(brood, "restart_ended") == 1; }, 30s), brood.log_tail());
  BOOST_TEST(brood.log().find("outcome=rolled_back") != std::string::npos, brood.log_tail());
  shards.push(1, 10, 1);
  BOOST_TEST(eventually([&] { return shards.all_done(); }, 20s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(an_upgrade_that_would_leave_a_shard_out_sends_to_the_restart) {
  ShardedLedger shards(2);
  BroodProcess brood(shards.with_workers(1));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  std::ofstream(brood.home() / "brood.toml") << shards.config_without({1});
  const CommandResult upgrade = run_brood({"upgrade"}, brood.environment());
  BOOST_TEST(upgrade.status != 0);
  BOOST_TEST((upgrade.errors + upgrade.output).find("run `brood restart` first") != std::string::npos,
             upgrade.output << upgrade.errors << brood.log_tail());
}
