#include <boost/test/unit_test.hpp>

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <deque>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/storm.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// Several Redis servers, and one ledger of the jobs of all of them.
struct Shards {
  explicit Shards(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) servers.emplace_back(RedisServer::Options{.append_only = true});
  }

  std::string config(const std::string& more = "") const {
    std::string text = more;
    for (const RedisServer& server : servers) text += fmt::format("[[redis.shard]]\nurl = \"{}\"\n", server.url());
    return text;
  }
  BroodOptions with_workers(int workers, const std::string& more = "") const {
    return {.workers = workers, .config = config(more)};
  }

  // Jobs whose ids go on where the last ones ended.
  void push(std::size_t shard, int count, int milliseconds, const std::string& queue = "default") {
    std::vector<std::string> payloads;
    for (int i = 0; i < count; ++i, ++pushed)
      payloads.push_back(
          payload_text("Ledger", fmt::format("[\"{}\",\"{}\",{}]", ledger.path(), pushed, milliseconds), pushed + 1));
    enqueue(servers.at(shard), payloads, queue);
  }
  bool all_done() const { return ledger.has_done(static_cast<std::size_t>(pushed)); }
  int running() const {
    const std::vector<Ledger::Run> runs = ledger.runs();
    return static_cast<int>(std::count_if(runs.begin(), runs.end(), [](const Ledger::Run& run) { return !run.ended; }));
  }
  std::size_t left() {
    std::size_t jobs = 0;
    for (RedisServer& server : servers)
      jobs += server.size_of("queue:default") + server.size_of("retry") + jobs_in_flight(server);
    return jobs;
  }
  bool all_drained() {
    return std::all_of(servers.begin(), servers.end(), [](RedisServer& server) { return drained(server); });
  }

  std::deque<RedisServer> servers;
  TemporaryDirectory directory;
  Ledger ledger{directory / "ledger"};
  int pushed = 0;
};

// Of clients, since it started: what its own scripts call is not counted.
std::int64_t commands_of(RedisServer& server) {
  const std::string stats(server.command({"INFO", "commandstats"}).view().text());
  std::int64_t calls = 0;
  std::istringstream lines(stats);
  for (std::string line; std::getline(lines, line);) {
    const std::string found = "calls=";
    const std::size_t at = line.find(found);
    if (at != std::string::npos) calls += std::stoll(line.substr(at + found.size()));
  }
  return calls;
}

int workers_waiting(RedisServer& server) {
  std::istringstream clients(std::string(server.command({"CLIENT", "LIST"}).view().text()));
  int waiting = 0;
  for (std::string line; std::getline(clients, line);)
    waiting += line.find("name=brood-worker") != line.npos && line.find("cmd=blmove") != line.npos;
  return waiting;
}

}  // namespace

BOOST_AUTO_TEST_CASE(fewer_workers_than_shards_perform_the_jobs_of_all_of_them_each_once) {
  Shards shards(3);
  for (std::size_t shard = 0; shard < 3; ++shard) shards.push(shard, 100, 0);
  const BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  for (std::size_t shard = 0; shard < 3; ++shard) shards.push(shard, 100, 0);

  BOOST_REQUIRE_MESSAGE(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
  const Ledger::Verdict verdict = shards.ledger.judge(shards.pushed);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.doubled.empty());
}

BOOST_AUTO_TEST_CASE(all_idle_workers_come_to_the_shard_that_has_jobs) {
  Shards shards(3);
  const BroodProcess brood(shards.with_workers(6));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  for (const std::size_t shard : {2U, 0U}) {
    shards.push(shard, 6, 3'000);
    BOOST_TEST(eventually([&] { return shards.running() == 6; }, 2s), brood.log_tail());
    BOOST_REQUIRE(eventually([&] { return shards.all_done(); }, 20s));
  }
}

BOOST_AUTO_TEST_CASE(a_worker_in_a_shard_with_endless_work_performs_the_jobs_of_the_others_too) {
  Shards shards(3);
  const BroodProcess brood(shards.with_workers(1));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.push(0, 4'000, 2);
  BOOST_REQUIRE(eventually([&] { return shards.running() == 1; }));
  shards.push(1, 1, 0);
  shards.push(2, 1, 0);
  BOOST_TEST(eventually([&] { return shards.servers[1].size_of("queue:default") == 0; }, 5s), brood.log_tail());
  BOOST_TEST(eventually([&] { return shards.servers[2].size_of("queue:default") == 0; }, 5s), brood.log_tail());
  BOOST_TEST(shards.servers[0].size_of("queue:default") > 100U);
}

BOOST_AUTO_TEST_CASE(a_capsule_of_one_worker_runs_one_job_at_a_time_and_keeps_the_order_of_each_shard) {
  Shards shards(2);
  for (int i = 0; i < 20; ++i) {
    shards.push(0, 2, 5);
    shards.push(1, 2, 5);
  }
  const BroodProcess brood(shards.with_workers(1));
  BOOST_REQUIRE_MESSAGE(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
  const std::vector<Ledger::Run> runs = shards.ledger.runs();
  std::array<int, 2> last{-1, -1};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int id = std::stoi(runs[i].id);
    int& before = last[static_cast<std::size_t>(id / 2 % 2)];
    BOOST_TEST(id > before);
    before = id;
    if (i > 0) BOOST_TEST(runs[i].began >= runs[i - 1].ended.value_or(runs[i].began + 1));
  }
}

BOOST_AUTO_TEST_CASE(a_shard_that_is_killed_delays_its_own_jobs_alone) {
  Shards shards(3);
  const BroodProcess brood(shards.with_workers(3));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.push(1, 50, 1);
  BOOST_REQUIRE(eventually([&] { return shards.all_done(); }, 20s));
  shards.push(1, 30, 20);
  BOOST_REQUIRE(eventually([&] { return shards.running() > 0; }));
  shards.servers[1].kill9();
  const int before = shards.pushed;
  shards.push(0, 100, 1);
  shards.push(2, 100, 1);
  const auto others_done = [&] {
    const auto done = shards.ledger.done();
    for (int id = before; id < shards.pushed; ++id)
      if (!done.contains(std::to_string(id))) return false;
    return true;
  };
  BOOST_TEST(eventually(others_done, 10s), brood.log_tail());

  shards.servers[1].restart();
  BOOST_TEST(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
  BOOST_TEST(eventually([&] { return shards.left() == 0; }, 20s));
  BOOST_TEST(shards.ledger.judge(shards.pushed).doubled.empty());
}

BOOST_AUTO_TEST_CASE(who_waits_in_a_shard_that_hangs_goes_to_the_others) {
  Shards shards(2);
  const BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  BOOST_REQUIRE(eventually([&] { return workers_waiting(shards.servers[0]) == 1; }));
  shards.servers[0].pause();
  BOOST_REQUIRE(eventually([&] { return times_logged(brood, "redis_away") > 0; }, 40s));
  shards.push(1, 2, 4'000);
  BOOST_TEST(eventually([&] { return shards.running() == 2; }, 3s), brood.log_tail());
  shards.servers[0].resume();
  shards.push(0, 20, 1);
  BOOST_TEST(eventually([&] { return shards.all_done(); }, 30s), brood.log_tail());
  BOOST_TEST(shards.ledger.judge(shards.pushed).doubled.empty());
  BOOST_TEST(eventually([&] { return shards.left() == 0; }, 20s));
}

BOOST_AUTO_TEST_CASE(what_could_not_be_settled_in_a_shard_that_was_away_is_though_the_supervisor_dies_meanwhile) {
  Shards shards(2);
  BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.push(0, 2, 500);
  BOOST_REQUIRE(eventually([&] { return shards.running() == 2; }));
  shards.servers[0].kill9();
  BOOST_REQUIRE_MESSAGE(eventually([&] { return times_logged(brood, "worker_leaves_jobs_to_recovery") == 2; }, 20s),
                        brood.log_tail());
  shards.push(1, 2, 0);
  BOOST_TEST(eventually([&] { return shards.all_done(); }), brood.log_tail());
  brood.kill9();
  brood.start();
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  // The other shard has been looked at, and names the dead one no more; its file is there still.
  BOOST_REQUIRE(eventually([&] { return shards.servers[1].size_of("brood:processes") <= 1; }, 20s));

  shards.servers[0].restart();
  BOOST_TEST(eventually([&] { return shards.left() == 0 && times_logged(brood, "supervisor_inherited") > 0; }, 30s),
             brood.log_tail());
  const Ledger::Verdict verdict = shards.ledger.judge(shards.pushed);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.doubled.empty());
}

BOOST_AUTO_TEST_CASE(a_start_with_a_shard_away_is_ready) {
  Shards shards(2);
  shards.servers[1].kill9();
  const BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.push(0, 10, 0);
  BOOST_TEST(eventually([&] { return shards.all_done(); }), brood.log_tail());
  shards.servers[1].restart();
  shards.push(1, 10, 0);
  BOOST_TEST(eventually([&] { return shards.all_done(); }, 20s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_redis_that_is_named_twice_is_refused_at_the_start) {
  const RedisServer redis;
  const std::string alias = fmt::format("unix:///.{}", redis.socket_path());
  const std::string config =
      fmt::format("[[redis.shard]]\nurl = \"{}\"\n[[redis.shard]]\nurl = \"{}\"\n", redis.url(), alias);
  BroodProcess brood({.workers = 1, .config = config});
  BOOST_TEST(brood.wait_exit().value_or(-1) == 78, brood.log_tail());
  BOOST_TEST(brood.log().find("are the same Redis") != std::string::npos, brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_shard_that_can_never_be_used_is_refused_while_the_others_go_on) {
  Shards shards(1);
  RedisServer unfit(RedisServer::Options{.extra = {"--cluster-enabled", "yes"}});
  unfit.kill9();
  const BroodProcess brood(shards.with_workers(2, fmt::format("[[redis.shard]]\nurl = \"{}\"\n", unfit.url())));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  unfit.restart();
  BOOST_TEST(eventually([&] { return brood.log().find("event=redis_unfit") != std::string::npos; }), brood.log_tail());
  shards.push(0, 10, 0);
  BOOST_TEST(eventually([&] { return shards.all_done(); }), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_quiet_that_comes_through_any_shard_holds_for_all) {
  Shards shards(2);
  const BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  for (RedisServer& server : shards.servers)
    BOOST_REQUIRE(eventually([&] { return server.size_of("processes") == 1; }));
  const std::string identity = shards.servers[1].smembers("processes").front();
  BOOST_TEST(shards.servers[0].smembers("processes").front() == identity);
  shards.servers[1].command({"LPUSH", identity + "-signals", "TSTP"});
  BOOST_TEST(eventually([&] { return shards.servers[0].hget(identity, "quiet") == "true"; }), brood.log_tail());
  shards.push(0, 1, 0);
  BOOST_TEST(!eventually([&] { return shards.all_done(); }, 500ms));
}

BOOST_AUTO_TEST_CASE(jobs_are_counted_in_the_shard_that_they_were_in) {
  Shards shards(2);
  BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.push(0, 30, 1);
  shards.push(1, 70, 1);
  BOOST_REQUIRE(eventually([&] { return shards.all_done(); }));
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(shards.servers[0].get("stat:processed").value_or("") == "30");
  BOOST_TEST(shards.servers[1].get("stat:processed").value_or("") == "70");
}

BOOST_AUTO_TEST_CASE(kills_of_workers_supervisors_and_a_shard_lose_no_job_and_settle_none_twice) {
  Shards shards(3);
  BroodProcess brood(shards.with_workers(4, "poll_interval = \"100ms\"\n"));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  Dice dice;
  std::set<pid_t> killed;
  const int rounds = 12 * storm_factor();
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t shard = 0; shard < 3; ++shard) shards.push(shard, 300, 1);
    BOOST_TEST_REQUIRE(kill_a_worker(brood, dice, killed), brood.log_tail());
    if (round % 4 == 1) {
      brood.kill9();
      brood.start();
      BOOST_TEST_REQUIRE(brood.wait_ready(), brood.log_tail());
    }
    if (round % 4 == 3) {
      RedisServer& server = shards.servers[static_cast<std::size_t>(round / 4) % 3];
      server.kill9();
      BOOST_TEST_REQUIRE(kill_a_worker(brood, dice, killed), brood.log_tail());
      server.restart();
    }
  }
  BOOST_TEST(shards.all_drained(), brood.log_tail());
  BOOST_TEST(stop_when_up(brood) == 0, brood.log_tail());
  for (RedisServer& server : shards.servers) {
    BOOST_TEST(server.size_of("dead") == 0U);
    BOOST_TEST(jobs_in_flight(server) == 0U);
    BOOST_TEST(server.size_of("brood:processes") == 0U);
  }
  BOOST_TEST(shards.ledger.judge(shards.pushed).lost.empty());
  BOOST_TEST(settled_twice(shards.ledger, killed).empty());
}

BOOST_AUTO_TEST_CASE(rolling_restarts_and_upgrades_go_on_in_all_shards) {
  Shards shards(3);
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

BOOST_AUTO_TEST_CASE(a_restart_is_refused_that_would_serve_other_shards) {
  Shards shards(2);
  BroodProcess brood(shards.with_workers(1));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  BOOST_TEST(run_brood({"restart"}, brood.environment()).status == 0);

  shards.servers.emplace_back(RedisServer::Options{});
  std::ofstream(brood.home() / "brood.toml") << shards.config();
  const CommandResult restart = run_brood({"restart"}, brood.environment());

  BOOST_TEST(restart.status == 78);
  BOOST_TEST(restart.errors.find("stop it and start it again") != std::string::npos, restart.output << restart.errors);
}
// Those of all shards are told in the first that can be used.
BOOST_AUTO_TEST_CASE(what_classes_have_done_is_told_though_the_first_shard_is_away) {
  Shards shards(2);
  BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.servers[0].pause();
  shards.push(1, 20, 1);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return shards.all_done(); }, 20s), brood.log_tail());
  const auto runs_told = [&](RedisServer& server) {
    long runs = 0;
    for (const std::string& key : server.keys("brood:usage:*")) {
      for (const auto& [field, value] : server.hgetall(key)) runs += field == "Ledger|runs" ? std::stol(value) : 0;
    }
    return runs;
  };
  BOOST_TEST(eventually([&] { return runs_told(shards.servers[1]) == 20; }, 60s), brood.log_tail());
  shards.servers[0].resume();
  BOOST_TEST(eventually([&] { return times_logged(brood, "redis_is_back") > 0; }, 30s), brood.log_tail());
  shards.push(0, 10, 1);
  BOOST_TEST(eventually([&] { return runs_told(shards.servers[0]) == 10; }, 60s), brood.log_tail());
  BOOST_TEST(runs_told(shards.servers[1]) == 20);
}

BOOST_AUTO_TEST_CASE(an_upgrade_waits_for_no_shard_that_is_away_and_its_dead_are_charged_when_it_is_back) {
  Shards shards(2);
  BroodProcess brood(shards.with_workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  shards.push(1, 1, 60'000);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return shards.running() == 1; }, 20s), brood.log_tail());
  const pid_t victim = shards.ledger.runs().front().pid;
  shards.servers[1].pause();
  kill(victim, SIGKILL);
  BOOST_REQUIRE(eventually([&] { return times_logged(brood, "redis_away") > 0; }, 30s));

  const CommandResult upgrade = run_brood({"upgrade"}, brood.environment());

  BOOST_TEST(upgrade.status == 0, upgrade.output << upgrade.errors << brood.log_tail());
  BOOST_TEST(times_logged(brood, "supervisor_took_over") == 1U, brood.log_tail());
  BOOST_TEST(shards.servers[0].size_of("brood:processes") == 1U);
  shards.servers[1].resume();
  BOOST_TEST(eventually([&] { return shards.servers[1].size_of("retry") == 1; }, 30s), brood.log_tail());
  BOOST_TEST(shards.servers[1].zrange("retry").at(0).first.find("SIGKILL") != std::string::npos);
  BOOST_TEST(jobs_in_flight(shards.servers[1]) == 0U);
}

BOOST_AUTO_TEST_CASE(sixteen_idle_shards_cost_at_most_twenty_commands_a_second) {
  Shards shards(16);
  const BroodProcess brood(shards.with_workers(8));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  const auto commands = [&] {
    std::int64_t all = 0;
    for (RedisServer& server : shards.servers) all += commands_of(server);
    return all;
  };
  // The first beats and looks come together, and the first sweeps one after the other, three seconds apart.
  const auto settled_at = std::chrono::steady_clock::now() + 65s;
  BOOST_REQUIRE(eventually([&] { return std::chrono::steady_clock::now() > settled_at; }, 80s));
  const std::int64_t before = commands();
  const auto end = std::chrono::steady_clock::now() + 30s;
  BOOST_REQUIRE(eventually([&] { return std::chrono::steady_clock::now() > end; }, 40s));
  const double a_second = static_cast<double>(commands() - before) / 30;
  BOOST_TEST_MESSAGE(a_second << " commands a second");
  BOOST_TEST(a_second <= 20);
}
