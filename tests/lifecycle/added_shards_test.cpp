#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/sharded_ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

CommandResult restart_with(BroodProcess& brood, const std::string& config) {
  std::ofstream(brood.home() / "brood.toml") << config;
  return run_brood({"restart"}, brood.environment());
}

}  // namespace

BOOST_AUTO_TEST_CASE(rolling_restarts_and_upgrades_go_on_in_all_shards) {
  ShardedLedger shards(3);
  BroodProcess brood(shards.with_workers(3));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  for (int round = 1; round <= 3; ++round) {
    for (std::size_t shard = 0; shard < 3; ++shard) shards.push(shard, 200, 2);
    const std::size_t before = times_logged(brood, "restart_ended");
    brood.signal(round == 2 ? SIGHUP : SIGUSR2);
    BOOST_TEST(eventually([&] { return times_logged(brood, "restart_ended") > before; }, 60s), brood.log_tail());
    BOOST_TEST(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
  }
  BOOST_TEST(times_logged(brood, "supervisor_took_over") == 2U, brood.log_tail());
  BOOST_TEST(eventually([&] { return shards.left() == 0; }, 20s));
  const Ledger::Verdict verdict = shards.ledger.judge(shards.pushed);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.doubled.empty());
}

// The job begins under the old configuration and ends after the new shards are served.
BOOST_AUTO_TEST_CASE(shards_that_a_restart_adds_are_served_after_it) {
  ShardedLedger shards(1);
  BroodProcess brood(shards.with_workers(3));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.push(0, 1, 6'000);
  BOOST_REQUIRE(eventually([&] { return shards.running() == 1; }));
  shards.push(0, 300, 2);
  for (int added = 0; added < 2; ++added) shards.servers.emplace_back(RedisServer::Options{.append_only = true});
  shards.push(1, 50, 1);
  shards.push(2, 50, 1);

  BOOST_TEST(restart_with(brood, shards.config()).status == 0, brood.log_tail());

  BOOST_TEST(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
  for (RedisServer& server : shards.servers)
    BOOST_TEST(eventually([&] { return server.size_of("processes") == 1; }), brood.log_tail());
  BOOST_TEST(times_logged(brood, "shard_added") == 2U, brood.log_tail());
  BOOST_TEST(run_brood({"upgrade"}, brood.environment()).status == 0, brood.log_tail());
  for (std::size_t shard = 0; shard < 3; ++shard) shards.push(shard, 50, 1);
  BOOST_TEST(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());
  for (RedisServer& server : shards.servers) BOOST_TEST(server.size_of("brood:processes") == 0U);
  BOOST_TEST(shards.left() == 0U);
  const Ledger::Verdict verdict = shards.ledger.judge(shards.pushed);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.doubled.empty());
}

BOOST_AUTO_TEST_CASE(a_shard_that_was_away_when_it_was_added_is_served_when_it_comes) {
  ShardedLedger shards(2);
  BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.servers.emplace_back(RedisServer::Options{.append_only = true});
  shards.push(2, 20, 1);
  shards.servers[2].kill9();
  BOOST_TEST(restart_with(brood, shards.config()).status == 0, brood.log_tail());
  shards.push(0, 20, 1);
  BOOST_TEST(eventually([&] { return shards.ledger.done().size() == 20; }, 20s), brood.log_tail());
  shards.servers[2].restart();
  BOOST_TEST(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_supervisor_and_a_worker_that_are_killed_after_a_shard_was_added_lose_nothing_there) {
  ShardedLedger shards(1);
  BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.servers.emplace_back(RedisServer::Options{.append_only = true});
  BOOST_TEST(restart_with(brood, shards.config()).status == 0, brood.log_tail());
  shards.push(1, 2, 4'000);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return shards.running() > 0; }, 10s), brood.log_tail());
  const pid_t victim = shards.ledger.runs().front().pid;
  brood.configure(shards.config());
  brood.kill9();
  kill(victim, SIGKILL);
  brood.start();
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  BOOST_TEST(eventually([&] { return shards.all_done() && shards.left() == 0; }, 60s), brood.log_tail());
  BOOST_TEST(shards.ledger.judge(shards.pushed).doubled.empty());
}

BOOST_AUTO_TEST_CASE(an_upgrade_that_would_serve_more_shards_sends_to_the_restart) {
  ShardedLedger shards(1);
  BroodProcess brood(shards.with_workers(1));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.servers.emplace_back(RedisServer::Options{});
  std::ofstream(brood.home() / "brood.toml") << shards.config();
  const CommandResult upgrade = run_brood({"upgrade"}, brood.environment());
  BOOST_TEST(upgrade.status != 0);
  BOOST_TEST((upgrade.errors + upgrade.output).find("run `brood restart` first") != std::string::npos,
             upgrade.output << upgrade.errors << brood.log_tail());
  shards.push(0, 10, 1);
  BOOST_TEST(eventually([&] { return shards.all_done(); }), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(jobs_log_in_to_a_shard_that_was_added_with_a_password) {
  const std::string secret = "correct-horse-battery";
  RedisServer first, second({.password = secret});
  const TemporaryDirectory directory;
  const std::string program = directory.write(
      "push", "#!/bin/sh\n" BROOD_BINARY_DIR "/bin/brood enqueue Fail --unchecked -q default --shard 1 >\"$1\" 2>&1\n");
  chmod(program.c_str(), 0755);
  const std::string commands = "[commands.Push]\nrun = [\"" + program + "\", \"{0}\"]\n";
  const auto shard = [](const RedisServer& redis) { return "[[redis.shard]]\nurl = \"" + redis.url() + "\"\n"; };
  BroodProcess brood(BroodOptions{.workers = 1, .config = commands + shard(first)});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  BOOST_TEST(restart_with(brood, commands + shard(first) + shard(second)).status == 0, brood.log_tail());

  enqueue(first, {payload_text("Push", "[\"" + (directory / "said") + "\"]", 1)});

  BOOST_TEST(eventually([&] { return second.size_of("retry") == 1; }, 30s), brood.log_tail()
                                                                                << text_of_file(directory / "said"));
  const std::string file = brood.home() / "run/redis-password." + std::to_string(brood.pid()) + ".1";
  BOOST_TEST(text_of_file(file) == secret);
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(access(file.c_str(), F_OK) != 0);
}
