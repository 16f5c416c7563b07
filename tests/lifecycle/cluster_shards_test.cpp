#include <fmt/format.h>
#include <simdjson.h>

#include <boost/test/unit_test.hpp>
#include <fstream>

#include "shared/redis/find_slot_owner.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/redis_cluster.hpp"
#include "tests/support/storm.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// A fleet in a cluster whose number of shards grows and shrinks.
struct GrowingFleet {
  RedisCluster cluster{{.replicas_of_each = 0}};
  TemporaryDirectory directory;
  Ledger ledger{directory / "ledger"};
  BroodProcess brood;
  int pushed = 0;

  explicit GrowingFleet(int shards) : brood(BroodOptions{.workers = 3, .config = config_of(shards)}) {
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  }

  std::string config_of(int shards, const std::string& drained = "") const {
    return fmt::format("poll_interval = \"100ms\"\n[redis]\nurl = \"{}\"\nshards = {}\n", cluster.url(), shards) +
           (drained.empty() ? "" : "drain = [" + drained + "]\n");
  }
  std::string config() const { return brood.home() / "brood.toml"; }

  CommandResult restart_with(int shards, const std::string& drained = "") {
    std::ofstream(config()) << config_of(shards, drained);
    return run_brood({"restart"}, brood.environment());
  }

  // Pushes as a client with the same configuration does, to one shard after the other.
  void push(int count, int milliseconds = 1) {
    std::string lines;
    for (int i = 0; i < count; ++i, ++pushed)
      lines +=
          fmt::format("{{\"class\":\"Ledger\",\"args\":[\"{}\",\"{}\",{}]}}\n", ledger.path(), pushed, milliseconds);
    push_lines(lines);
  }
  void push_lines(const std::string& lines, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"enqueue", "--bulk", directory.write("jobs", lines), "-C", config()};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult told = run_brood(words, brood.environment());
    BOOST_TEST(told.status == 0, told.errors);
  }
  // Many small pushes, so that each shard gets some.
  void push_rounds(int rounds) {
    for (int round = 0; round < rounds; ++round) push(10);
  }
  bool all_done() const { return ledger.has_done(static_cast<std::size_t>(pushed)); }

  // A member in `brood status --json`.
  std::string of_shard(std::size_t number, const std::string& member) {
    const CommandResult status = run_brood({"status", "--json", "-C", config()}, brood.environment());
    simdjson::dom::parser parser;
    const simdjson::dom::element json = parser.parse(status.output);
    return simdjson::minify(json["shards"].get_array().at(number)[member]);
  }

  bool is_known_in(int shard) { return !cluster.keys(fmt::format("{{brood:{}}}processes", shard)).empty(); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(shards_of_a_cluster_are_added_drained_and_taken_out_under_load_while_a_slot_moves) {
  GrowingFleet fleet(2);
  fleet.push_rounds(10);

  BOOST_TEST(fleet.restart_with(4).status == 0, fleet.brood.log_tail());
  BOOST_TEST(times_logged(fleet.brood, "shard_added") == 2U, fleet.brood.log_tail());
  fleet.push_rounds(20);
  BOOST_TEST(eventually([&] { return fleet.is_known_in(2) && fleet.is_known_in(3); }), fleet.brood.log_tail());

  fleet.push(100, 20);
  BOOST_TEST(fleet.restart_with(4, "2, 3").status == 0, fleet.brood.log_tail());
  BOOST_TEST(times_logged(fleet.brood, "shard_drained") == 2U, fleet.brood.log_tail());
  const int slot = slot_of("{brood:3}");
  RedisServer& owner = fleet.cluster.owner(slot);
  fleet.cluster.move_slot(slot, &owner == &fleet.cluster.node(0) ? fleet.cluster.node(1) : fleet.cluster.node(0));
  fleet.push_rounds(10);
  BOOST_TEST(eventually([&] { return fleet.all_done(); }, 60s), fleet.brood.log_tail());
  BOOST_TEST(eventually([&] { return fleet.of_shard(2, "left") == "0" && fleet.of_shard(3, "left") == "0"; }),
             fleet.brood.log_tail());

  const CommandResult removed = fleet.restart_with(2);
  BOOST_TEST(removed.status == 0, removed.errors << fleet.brood.log_tail());
  BOOST_TEST(eventually([&] { return times_logged(fleet.brood, "shard_removed") == 2; }), fleet.brood.log_tail());
  for (const int shard : {2, 3}) {
    for (const std::string& key : fleet.cluster.keys(fmt::format("{{brood:{}}}*", shard)))
      BOOST_TEST((key.find("processes") == key.npos && key.find("queue:") == key.npos), key);
  }
  fleet.push_rounds(10);
  BOOST_TEST(run_brood({"upgrade"}, fleet.brood.environment()).status == 0, fleet.brood.log_tail());
  BOOST_TEST(times_logged(fleet.brood, "supervisor_took_over") == 1U, fleet.brood.log_tail());
  fleet.push_rounds(10);
  BOOST_TEST(eventually([&] { return fleet.all_done(); }, 60s), fleet.brood.log_tail());
  BOOST_TEST(!fleet.is_known_in(2));
  BOOST_TEST(!fleet.is_known_in(3));

  fleet.brood.term();
  BOOST_TEST(fleet.brood.wait_exit().value_or(-1) == 0, fleet.brood.log_tail());
  const Ledger::Verdict verdict = fleet.ledger.judge(fleet.pushed);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.doubled.empty());
}

BOOST_AUTO_TEST_CASE(a_shard_of_a_cluster_that_is_not_empty_is_not_taken_out) {
  GrowingFleet fleet(2);
  fleet.push_lines("{\"class\":\"Ledger\",\"args\":[],\"at\":4000000000}\n", {"--shard", "1"});
  const std::vector<pid_t> workers = fleet.brood.workers();
  const CommandResult refused = fleet.restart_with(1);
  BOOST_TEST(refused.status == 78);
  BOOST_TEST(refused.errors.find("the shard 1 cannot be taken out, for it has 1 scheduled job: drain it first") !=
                 std::string::npos,
             refused.errors);
  BOOST_TEST((fleet.brood.workers() == workers));
  BOOST_TEST(eventually([&] { return fleet.is_known_in(1); }));
  std::ofstream(fleet.config()) << fleet.config_of(2);
  fleet.push_rounds(4);
  BOOST_TEST(eventually([&] { return fleet.all_done(); }), fleet.brood.log_tail());
}
