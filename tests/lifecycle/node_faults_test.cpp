// Whatever happens to one node of several: no confirmed job is lost, none runs twice, work goes on once another node
// has taken over, and the other shards are not affected.  BROOD_STORM=40 runs a hundred thousand jobs.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis/find_slot_owner.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/confirmed_pusher.hpp"
#include "tests/support/cut_off_network.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/redis_cluster.hpp"
#include "tests/support/replication.hpp"
#include "tests/support/sentinel_setup.hpp"
#include "tests/support/storm.hpp"
#include "tests/support/test_authority.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr int ids_of_a_shard = 10'000'000;
constexpr int first_of_backlog = ids_of_a_shard / 2;
constexpr int workers = 4;
constexpr int most_in_hand = 32;  // of one worker: a batch
constexpr std::size_t jobs_in_a_backlog = 300;
constexpr auto expected_within = 5s;             // the promise
constexpr auto longest_on_a_busy_machine = 60s;  // beside other tests, and under sanitizers

int shard_of_id(const std::string& id) { return std::stoi(id) / ids_of_a_shard; }
double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

// The jobs that begin after this object was made.  Reads only the new part of the ledger.
class Begins {
 public:
  explicit Begins(const Ledger& ledger) {
    std::ofstream(ledger.path(), std::ios::app).close();  // no job may have begun yet
    file_.open(ledger.path());
    file_.seekg(0, std::ios::end);
  }

  // When all of these shards have begun a job since `from`: the time of the last of their first ones; nullopt before
  // that.
  std::optional<std::int64_t> of_all(const std::set<int>& shards, std::int64_t from) {
    read();
    std::int64_t last = from;
    for (const int shard : shards) {
      const auto& of_shard = begun_[shard];
      const auto after = std::upper_bound(of_shard.begin(), of_shard.end(), from);
      if (after == of_shard.end()) return std::nullopt;
      last = std::max(last, *after);
    }
    return last;
  }

 private:
  void read() {
    for (std::string part; std::getline(file_, part);) {
      line_ += part;
      if (file_.eof()) break;  // the rest of it is still to come
      if (line_.starts_with('S')) {
        std::istringstream words(line_);
        std::string kind, id, pid, start_time;
        std::int64_t began = 0;
        if (words >> kind >> id >> pid >> start_time >> began) begun_[shard_of_id(id)].push_back(began);
      }
      line_.clear();
    }
    file_.clear();
  }

  std::ifstream file_;
  std::string line_;
  std::map<int, std::vector<std::int64_t>> begun_;
};

// A fleet, a client that pushes to each of its shards, and its history.
class Fleet {
 public:
  Fleet(const std::string& config, std::vector<RedisAddress> shards)
      : shards_(std::move(shards)),
        brood_({.workers = workers, .config = config + "[log]\nlog_jobs = false\n"}),
        began_(ledger_now()) {
    BOOST_REQUIRE_MESSAGE(brood_.wait_ready(60s), brood_.log_tail());
    for (std::size_t shard = 0; shard < shards_.size(); ++shard)
      pushers_.push_back(std::make_unique<ConfirmedPusher>(
          shards_[shard], ledger_.path(), true,
          ConfirmedPusher::Pace{
              .at_once = storm_factor() > 1 ? 3 : 1, .job = 1, .first = static_cast<int>(shard) * ids_of_a_shard}));
    go_on(all(), ledger_now());
  }

  std::set<int> all() const {
    std::set<int> all;
    for (int shard = 0; shard < static_cast<int>(shards_.size()); ++shard) all.insert(shard);
    return all;
  }
  LogTail log_tail() const { return brood_.log_tail(); }
  const Ledger& ledger() const { return ledger_; }
  bool has_enough() const { return count() >= 2'500U * static_cast<std::size_t>(storm_factor()); }

  // Causes a fault of a node that serves these shards.  `happens` returns when a node serves them again.
  void suffer(const std::string& what, std::set<int> shards, const std::function<void()>& happens) {
    BOOST_TEST_MESSAGE(what);
    for (const int shard : shards) push_backlog(shard);  // so that there is work at once
    const std::int64_t from = ledger_now();
    happens();
    const std::int64_t there = ledger_now();
    const std::int64_t worked = go_on(shards, there);
    if (std::chrono::nanoseconds(worked - there) > expected_within)
      BOOST_TEST_MESSAGE("first job after " << seconds(worked - there) << " s:\n" << brood_.log_tail());
    faults_.push_back({what, std::move(shards), from, there, worked});
  }

  // Returns the ids of jobs that were not pushed, because a full node refused pushes.
  std::set<std::string> push_backlog(int shard) {
    const int first = shard * ids_of_a_shard + first_of_backlog + backlogs_++ * static_cast<int>(jobs_in_a_backlog);
    Command jobs{"LPUSH", RedisKey("queue:default")};
    std::set<std::string> ids;
    for (int id = first; id < first + static_cast<int>(jobs_in_a_backlog); ++id) {
      jobs.add(ledger_job(ledger_.path(), id, 1));
      ids.insert(std::to_string(id));
    }
    Connection redis(shards_[static_cast<std::size_t>(shard)], {5s, 20s});
    const std::vector<Reply> replies = redis.pipeline({jobs, {"WAIT", "1", "5000"}});
    BOOST_REQUIRE(replies[1].view().integer() >= 1);
    confirmed_.insert(ids.begin(), ids.end());
    return ids;
  }

  bool has_done(const std::set<std::string>& ids) const {
    const std::map<std::string, int> done = ledger_.done();
    return std::all_of(ids.begin(), ids.end(), [&](const std::string& id) { return done.contains(id); });
  }

  void judge() {
    for (const auto& pusher : pushers_) {
      pusher->stop();
      confirmed_.insert(pusher->confirmed().begin(), pusher->confirmed().end());
    }
    const auto not_done = [&] {
      std::this_thread::sleep_for(500ms);  // the ledger is long
      const std::map<std::string, int> done = ledger_.done();
      return static_cast<std::size_t>(
          std::count_if(confirmed_.begin(), confirmed_.end(), [&](const auto& id) { return !done.contains(id); }));
    };
    falls_to(0, not_done);
    const std::map<std::string, int> done = ledger_.done();
    std::size_t lost = 0;
    for (const std::string& id : confirmed_) lost += done.contains(id) ? 0 : 1;
    BOOST_TEST(lost == 0U, "lost " << lost << " of " << confirmed_.size() << "\n" << brood_.log_tail());
    BOOST_TEST(ledger_.judge(0).overlapped.empty(), brood_.log_tail());
    judge_repeats();
    const double took = seconds(ledger_now() - began_);
    BOOST_TEST_MESSAGE("confirmed " << confirmed_.size() << ", lost " << lost << ", done " << done.size() << " in "
                                    << took << " s");
    for (const Fault& fault : faults_) judge(fault);
    brood_.term();
    BOOST_TEST(brood_.wait_exit(60s).value_or(-1) == 0, brood_.log_tail());
  }

 private:
  struct Fault {
    std::string what;
    std::set<int> shards;
    std::int64_t from, there,
        worked;  // the times of the fault, of service, and when all shards have begun a job
  };

  std::size_t count() const {
    std::size_t sum = confirmed_.size();
    for (const auto& pusher : pushers_) sum += pusher->count();
    return sum;
  }

  // Returns when the last of these shards had begun a job.
  std::int64_t go_on(const std::set<int>& shards, std::int64_t from) {
    Begins begins(ledger_);
    std::optional<std::int64_t> worked;
    eventually([&] { return (worked = begins.of_all(shards, from)).has_value(); }, 60s);
    BOOST_REQUIRE_MESSAGE(worked, brood_.log_tail());
    return *worked;
  }

  // Only jobs that had ended but were not settled when their node went away may have run again.
  void judge_repeats() {
    std::map<std::string, std::vector<std::int64_t>> ends;
    for (const Ledger::Run& run : ledger_.runs()) {
      if (run.ended) ends[run.id].push_back(*run.ended);
    }
    std::size_t unsettled = 0, doubled = 0;
    for (const auto& [id, times] : ends) {
      if (times.size() < 2) continue;
      const bool excused =
          std::any_of(faults_.begin(), faults_.end(), [&, &id = id, &times = times](const Fault& fault) {
            return fault.shards.contains(shard_of_id(id)) && times[0] > fault.from - 1'000'000'000 &&
                   times[0] < fault.worked;
          });
      ++(excused ? unsettled : doubled);
    }
    BOOST_TEST(doubled == 0U, brood_.log_tail());
    BOOST_TEST(unsettled <= faults_.size() * workers * most_in_hand, brood_.log_tail());
    BOOST_TEST_MESSAGE("doubled " << doubled << ", and of those that had ended unsettled " << unsettled);
  }

  // The longest time in which none of these shards began a job, during the fault.
  std::int64_t longest_silence(const std::set<int>& shards, const Fault& fault) {
    if (begun_.empty()) {
      for (const Ledger::Run& run : ledger_.runs()) begun_[shard_of_id(run.id)].insert(run.began);
    }
    std::int64_t longest = 0;
    for (const int shard : shards) {
      std::int64_t last = fault.from;
      const std::set<std::int64_t>& begun = begun_[shard];
      for (auto at = begun.upper_bound(fault.from); at != begun.end() && *at <= fault.worked; ++at) {
        longest = std::max(longest, *at - last);
        last = *at;
      }
      longest = std::max(longest, fault.worked - last);
    }
    return longest;
  }

  void judge(const Fault& fault) {
    std::set<int> others = all();
    for (const int shard : fault.shards) others.erase(shard);
    const std::int64_t took = fault.worked - fault.there, silence = longest_silence(others, fault);
    BOOST_TEST_MESSAGE(fault.what << ": served again after " << seconds(fault.there - fault.from) << " s, first job "
                                  << seconds(took) << " s later"
                                  << (std::chrono::nanoseconds(took) > expected_within ? " (!)" : "")
                                  << "; longest silence of the other shards " << seconds(silence) << " s");
    BOOST_TEST((std::chrono::nanoseconds(took) < longest_on_a_busy_machine), fault.what);
    BOOST_TEST((std::chrono::nanoseconds(silence) < longest_on_a_busy_machine), fault.what);
  }

  const std::vector<RedisAddress> shards_;
  const TemporaryDirectory directory_;
  const Ledger ledger_{directory_ / "ledger"};
  BroodProcess brood_;
  const std::int64_t began_;
  std::vector<std::unique_ptr<ConfirmedPusher>> pushers_;
  std::set<std::string> confirmed_;
  std::vector<Fault> faults_;
  std::map<int, std::set<std::int64_t>> begun_;
  int backlogs_ = 0;
};

// The protocol, and a node that can be cut off if possible.
struct Ground {
  const TestAuthority authority{"Test Authority"};
  std::unique_ptr<const CutOffNetwork> network =
      networks_can_be_made(0) ? std::make_unique<const CutOffNetwork>() : nullptr;
  const std::string host = network ? network->here() : "127.0.0.1";
  const std::string first_host = network ? network->there() : "";
  const std::vector<std::string> first_prefix = network ? network->prefix() : std::vector<std::string>();

  RedisServer::TlsFiles certificate() const {
    return authority.issue({.names = "IP:" + host + (network ? ",IP:" + first_host : "")});
  }
  std::string config() const {
    return "wait = 1\nwait_timeout = \"300ms\"\n[redis.tls]\nca = \"" + authority.ca() + "\"\n";
  }
};

void fill(RedisServer& node) { BOOST_REQUIRE(!node.command({"CONFIG", "SET", "maxmemory", "1"}).view().is_error()); }
void empty(RedisServer& node) { BOOST_REQUIRE(!node.command({"CONFIG", "SET", "maxmemory", "0"}).view().is_error()); }

// The shards of a Redis Cluster of three masters with a replica each.
struct ClusterFleet {
  static constexpr int shards = 4;  // spread over all three masters
  static constexpr int of_first_node = 3;

  const Ground ground{};
  RedisCluster cluster{{.extra = {"--cluster-require-full-coverage", "no"},
                        .tls = ground.certificate(),
                        .host = ground.host,
                        .first_host = ground.first_host,
                        .first_prefix = ground.first_prefix}};
  Fleet fleet{"[redis]\nurl = \"" + cluster.url() + "\"\nshards = 4\n" + ground.config(), addresses()};

  std::vector<RedisAddress> addresses() const {
    std::vector<RedisAddress> all;
    for (int shard = 0; shard < shards; ++shard) all.push_back(cluster.address(shard));
    return all;
  }
  static int slot(int shard) { return slot_of("{brood:" + std::to_string(shard) + "}"); }
  RedisServer& owner(int shard) { return cluster.owner(slot(shard)); }

  std::set<int> shards_of(RedisServer& node) {
    std::set<int> found;
    for (int shard = 0; shard < shards; ++shard) {
      if (&owner(shard) == &node) found.insert(shard);
    }
    return found;
  }

  // Another node takes over everything that a node has served.
  void is_replaced(const std::string& what, RedisServer& node, const std::function<void()>& happens) {
    const std::set<int> served = shards_of(node);
    BOOST_REQUIRE(!served.empty());
    fleet.suffer(what, served, [&] {
      happens();
      BOOST_REQUIRE(eventually([&] { return &owner(*served.begin()) != &node; }, 60s));
    });
  }

  // Waits until each master has its replica again.
  void is_whole() {
    BOOST_REQUIRE_MESSAGE(eventually(
                              [&] {
                                if (!cluster.works()) return false;
                                int in_step = 0;
                                for (std::size_t i = 0; i < cluster.size(); ++i)
                                  in_step += Replication::of(cluster.node(i)).replicas_in_step > 0;
                                return in_step == 3;
                              },
                              60s),
                          fleet.log_tail());
  }

  void round() {
    RedisServer& killed = owner(0);
    is_replaced("kill -9", killed, [&] { killed.kill9(); });
    killed.restart();
    is_whole();

    RedisServer& stopped = owner(1);
    is_replaced("SIGSTOP", stopped, [&] { stopped.pause(); });
    stopped.resume();
    is_whole();

    RedisServer& left = owner(0);
    is_replaced("CLUSTER FAILOVER", left, [&] { cluster.fail_over(slot(0), cluster.replica_of(left)); });
    is_whole();

    RedisServer &from = owner(2), &to = owner(0);
    fleet.suffer("a slot moved", {2}, [&] { cluster.move_slot(slot(2), to); });
    fleet.suffer("and back", {2}, [&] { cluster.move_slot(slot(2), from); });

    RedisServer& full = owner(0);
    const std::set<std::string> backlog = fleet.push_backlog(0);
    fill(full);
    BOOST_TEST(eventually([&] { return fleet.has_done(backlog); }, 60s), "full\n" << fleet.log_tail());
    empty(full);

    if (!ground.network) return;
    RedisServer& apart = cluster.node(0);
    if (RedisServer& now = owner(of_first_node); &now != &apart)
      is_replaced("CLUSTER FAILOVER", now, [&] { cluster.fail_over(slot(of_first_node), apart); });
    is_whole();
    is_replaced("partition", apart, [&] { ground.network->cut(); });
    ground.network->mend();
    is_whole();
  }
};

// Three masters with a replica each, and three sentinels.
struct SentinelFleet {
  static constexpr std::size_t groups = 3;

  const Ground ground{};
  SentinelSetup redis{{.host = ground.host,
                       .first_host = ground.first_host,
                       .first_prefix = ground.first_prefix,
                       .groups = groups,
                       .replicas = 1,
                       .tls = ground.certificate()}};
  Fleet fleet{config(), addresses()};

  std::string config() const {
    std::string text = "[redis]\n" + ground.config();
    for (std::size_t group = 0; group < groups; ++group)
      text += "[[redis.shard]]\nname = \"" + std::to_string(group) + "\"\nurl = \"" + redis.url("", group) + "\"\n";
    return text;
  }
  std::vector<RedisAddress> addresses() const {
    std::vector<RedisAddress> all;
    for (std::size_t group = 0; group < groups; ++group) all.push_back(redis.address(group));
    return all;
  }

  void is_replaced(const std::string& what, std::size_t group, RedisServer& node,
                   const std::function<void()>& happens) {
    fleet.suffer(what, {static_cast<int>(group)}, [&] {
      happens();
      redis.master(&node, group);
    });
    former_[group] = &node;
  }

  // Waits until it is the master in the sentinels' view, too, and its replica, the former master, is in step.  The
  // sentinels need ten seconds until they make that one a replica, and half a minute to accept that a master has handed
  // over by itself; they let no replica take over until then.
  RedisServer& master(std::size_t group) {
    const RedisServer* const old = former_[group];
    const auto is_whole = [&] {
      for (std::size_t i = 0; i < 2; ++i) {
        RedisServer& one = redis.server(i, group);
        if (&one != old && redis.is_master(one)) return redis.is_in_step(one) && are_agreed_on(one, group);
      }
      return false;
    };
    BOOST_REQUIRE_MESSAGE(eventually(is_whole, 90s), fleet.log_tail());
    return redis.master(old, group);
  }

  bool are_agreed_on(const RedisServer& master, std::size_t group) {
    const std::string name = group == 0 ? "mymaster" : "mymaster" + std::to_string(group);
    for (std::size_t i = 0; i < 3; ++i) {
      const Reply at = redis.sentinel(i).command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name});
      if (at.view()[1].text() != std::to_string(master.port())) return false;
    }
    return true;
  }

  void hands_over(std::size_t group) {
    RedisServer& left = master(group);
    is_replaced("FAILOVER", group, left,
                [&] { BOOST_REQUIRE(eventually([&] { return !left.command({"FAILOVER"}).view().is_error(); }, 20s)); });
  }

  // One group recovers from its fault while another has one.
  void round() {
    RedisServer& killed = master(1);
    is_replaced("kill -9", 1, killed, [&] { killed.kill9(); });
    killed.restart();

    RedisServer& stopped = master(2);
    is_replaced("SIGSTOP", 2, stopped, [&] { stopped.pause(); });
    stopped.resume();

    RedisServer& first = master(0);
    if (ground.network && &first == &redis.server(0)) {
      is_replaced("partition", 0, first, [&] { ground.network->cut(); });
      ground.network->mend();
    } else {
      hands_over(0);  // so that it is the first again
    }
    hands_over(1);

    RedisServer& full = master(2);
    const std::set<std::string> backlog = fleet.push_backlog(2);
    fill(full);
    BOOST_TEST(eventually([&] { return fleet.has_done(backlog); }, 60s), "full\n" << fleet.log_tail());
    empty(full);
  }

  std::map<std::size_t, const RedisServer*> former_;  // masters
};

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_lost_or_run_twice_whatever_happens_to_a_node_of_a_cluster_that_speaks_tls) {
  ClusterFleet nodes;
  do nodes.round();
  while (!nodes.fleet.has_enough());
  nodes.fleet.judge();
}

BOOST_AUTO_TEST_CASE(nothing_is_lost_or_run_twice_whatever_happens_to_a_server_behind_sentinels_that_speak_tls) {
  SentinelFleet nodes;
  do nodes.round();
  while (!nodes.fleet.has_enough());
  nodes.fleet.judge();
}
