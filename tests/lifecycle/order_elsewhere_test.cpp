// Sequences keep their order, and tenants their turns and caps, in a cluster, over TLS and in several shards.
#include <boost/test/unit_test.hpp>

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/redis_cluster.hpp"
#include "tests/support/sharded_ledger.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test_authority.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr int jobs = 160, most_of_a_tenant = 3;

// Jobs called <queue>/<sequence>/<number>.
std::string queue_of(const std::string& id) { return id.substr(0, id.find('/')); }
std::string sequence_of(const std::string& id) { return id.substr(0, id.rfind('/')); }
int number_of(const std::string& id) { return std::stoi(id.substr(id.rfind('/') + 1)); }

// The lines of a bulk: two tenants with two sequences each, and jobs without one.
std::string lines(const Ledger& ledger) {
  std::string text;
  for (int i = 0; i < jobs; ++i) {
    const std::string queue = i % 2 == 0 ? "images~a" : "images~b";
    const std::string sequence = i % 10 < 6 ? fmt::format("s{}", i % 4) : "none";
    const std::string member = sequence == "none" ? "" : fmt::format(R"(,"sequence":"{}/{}")", queue, sequence);
    text += fmt::format(R"({{"class":"Ledger","args":["{}","{}/{}/{}",{}],"queue":"{}"{}}})", ledger.path(), queue,
                        sequence, i, i % 3, queue, member) +
            "\n";
  }
  return text;
}

// Empty if each sequence ran in order, and each tenant within its cap.
std::string fault_of(const std::vector<Ledger::Run>& runs) {
  std::map<std::string, Ledger::Run> last;
  for (const Ledger::Run& run : runs) {
    const auto beside = std::count_if(runs.begin(), runs.end(), [&](const Ledger::Run& other) {
      return queue_of(other.id) == queue_of(run.id) && other.began <= run.began && other.ended > run.began;
    });
    if (beside > most_of_a_tenant) return fmt::format("{} ran as the {}th of its tenant", run.id, beside);
    const std::string sequence = sequence_of(run.id);
    if (sequence.ends_with("/none")) continue;
    const auto before = last.find(sequence);
    if (before != last.end() && number_of(before->second.id) > number_of(run.id))
      return run.id + " ran after " + before->second.id;
    if (before != last.end() && before->second.ended && *before->second.ended > run.began)
      return run.id + " began before the end of " + before->second.id;
    last.insert_or_assign(sequence, run);
  }
  return "";
}

void judge_in(const std::string& redis_section, BroodOptions options = {}) {
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  options.workers = 4;
  options.config = fmt::format(
      "queues = [\"images~*\"]\npoll_interval = \"100ms\"\n[limits.each]\nqueues = [\"images~*\"]\n"
      "concurrent = {}\nper = \"tenant\"\n{}",
      most_of_a_tenant, redis_section);
  BroodProcess brood(options);
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  const CommandResult pushed =
      run_brood({"enqueue", "--bulk", directory.write("jobs", lines(ledger)), "-C", brood.home() / "brood.toml"},
                brood.environment());
  BOOST_REQUIRE_MESSAGE(pushed.status == 0, pushed.errors);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(jobs / 4); }, 60s), brood.log_tail());
  if (const auto workers = brood.workers(); !workers.empty()) ::kill(workers.front(), SIGKILL);
  // A job whose worker was killed is retried later, and its sequence waits for it.
  BOOST_TEST(eventually(
                 [&] {
                   run_brood({"retries", "run", "--all", "-C", brood.home() / "brood.toml"}, brood.environment());
                   return ledger.has_done(jobs);
                 },
                 90s),
             brood.log_tail());
  BOOST_TEST(ledger.done().size() == static_cast<std::size_t>(jobs));
  BOOST_TEST(fault_of(ledger.runs()) == "");
  const auto listed = [&] {
    return run_brood({"sequences", "--json", "-C", brood.home() / "brood.toml"}, brood.environment()).output;
  };
  BOOST_TEST(eventually([&] { return listed().find("images~") == std::string::npos; }), listed());
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());
}

}  // namespace

BOOST_AUTO_TEST_CASE(in_a_cluster) {
  const RedisCluster cluster({.replicas_of_each = 0});
  judge_in("[redis]\nurl = \"" + cluster.url() + "\"\nshards = 2\n");
}

BOOST_AUTO_TEST_CASE(over_tls) {
  const TestAuthority authority;
  const RedisServer redis({.append_only = true, .tls = authority.issue()});
  judge_in("[redis]\nurl = \"" + redis.url() + "\"\n[redis.tls]\nca = \"" + authority.ca() + "\"\n");
}

BOOST_AUTO_TEST_CASE(in_three_shards) {
  const ShardedLedger shards(3);
  judge_in(shards.config());
}
