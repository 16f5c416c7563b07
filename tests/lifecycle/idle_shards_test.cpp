#include <boost/test/unit_test.hpp>

#include <chrono>
#include <map>
#include <numeric>
#include <sstream>
#include <vector>

#include "tests/support/eventually.hpp"
#include "tests/support/sharded_ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// How often Redis was asked for each command, and when it was asked for that.
struct Calls {
  std::chrono::steady_clock::time_point at;
  std::map<std::string, std::int64_t> of;

  // Of clients, since it started: what its own scripts call is not counted.
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

BOOST_AUTO_TEST_CASE(sixteen_idle_shards_cost_at_most_twenty_commands_a_second) {
  constexpr std::size_t workers = 8;
  ShardedLedger shards(16);
  const BroodProcess brood(shards.with_workers(workers));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  // The first beats and looks come together, and the first sweeps, which scan, one after the other, three seconds
  // apart.
  const auto settled_at = std::chrono::steady_clock::now() + 50s;
  BOOST_REQUIRE(eventually([&] { return std::chrono::steady_clock::now() > settled_at; }, 60s));
  for (RedisServer& server : shards.servers)
    BOOST_REQUIRE(eventually([&] { return calls_of(server).of.contains("scan"); }, 60s));
  BOOST_REQUIRE(eventually([&] { return children_of(brood.pid()).size() == workers; }, 60s));

  std::vector<Calls> before;
  for (RedisServer& server : shards.servers) before.push_back(calls_of(server));
  const auto end = std::chrono::steady_clock::now() + 40s;  // in which each shard is beaten for and looked at twice
  BOOST_REQUIRE(eventually([&] { return std::chrono::steady_clock::now() > end; }, 60s));
  double a_second = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Calls after = calls_of(shards.servers[i]);
    const std::chrono::duration<double> between = after.at - before[i].at;
    a_second +=
        static_cast<double>(after.all() - before[i].all() - 1) / between.count();  // but for the question itself
  }
  BOOST_TEST_MESSAGE(a_second << " commands a second");
  BOOST_TEST(a_second <= 20);
}
