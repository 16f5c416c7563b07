#include <boost/test/unit_test.hpp>

#include <sstream>

#include "tests/support/eventually.hpp"
#include "tests/support/sharded_ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

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

}  // namespace

BOOST_AUTO_TEST_CASE(sixteen_idle_shards_cost_at_most_twenty_commands_a_second) {
  ShardedLedger shards(16);
  const BroodProcess brood(shards.with_workers(8));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  const auto commands = [&] {
    std::int64_t all = 0;
    for (RedisServer& server : shards.servers) all += commands_of(server);
    return all;
  };
  // The first beats and looks come together, and the first sweeps one after the other, three seconds apart.
  const auto settled_at = std::chrono::steady_clock::now() + 50s;
  BOOST_REQUIRE(eventually([&] { return std::chrono::steady_clock::now() > settled_at; }, 60s));
  const std::int64_t before = commands();
  const auto end = std::chrono::steady_clock::now() + 20s;  // in which each shard is beaten for and looked at once
  BOOST_REQUIRE(eventually([&] { return std::chrono::steady_clock::now() > end; }, 30s));
  const auto our_own = static_cast<std::int64_t>(shards.servers.size());  // what asked how many there were before
  const double a_second = static_cast<double>(commands() - before - our_own) / 20;
  BOOST_TEST_MESSAGE(a_second << " commands a second");
  BOOST_TEST(a_second <= 20);
}
