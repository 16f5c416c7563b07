#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "shared/redis/connection.hpp"
#include "shared/redis/find_server.hpp"
#include "shared/redis/find_slot_owner.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/queues/push_commands.hpp"
#include "shared/store/queues/queue_jobs.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/lost.hpp"
#include "tests/support/redis_cluster.hpp"
#include "tests/support/replication.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

// A shard in a slot of a real cluster, while the slot moves from node to node.

namespace {

const std::string identity = "here:7:aaaaaaaaaaaa";
const Connection::Timeouts patient{5s, 10s};

struct Sharded {
  RedisCluster cluster;
  RedisAddress address = RedisAddress::parse(cluster.url());
  int slot = slot_of(address.key_prefix);
  Connection redis{address, patient};

  explicit Sharded(RedisCluster::Options options = {.replicas_of_each = 0}) : cluster(std::move(options)) {}

  RedisServer& owner() { return cluster.owner(slot); }
  RedisServer& another_master() {
    RedisServer& now = owner();
    return &cluster.node(0) == &now ? cluster.node(1) : cluster.node(0);
  }
  std::string text(const Command& command) { return std::string(redis.call(command).view().text()); }
};

Command set(const std::string& key, const std::string& value) { return {"SET", RedisKey(key), value}; }
Command get(const std::string& key) { return {"GET", RedisKey(key)}; }

// Some workers and a pusher, each with its own connection.  They act as brood does: they send a call with the same
// bytes until it is answered, and a fenced worker begins anew.
class Load {
 public:
  Load(const RedisAddress& address, int workers, bool confirmed = false) : address_(address), confirmed_(confirmed) {
    threads_.emplace_back([this] { push(); });
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this, i] { work(i); });
  }
  ~Load() { end(); }

  // Waits until all pushed jobs have run.
  void end() {
    pushing_ = false;
    if (!threads_.empty()) threads_.front().join();
    eventually([&] { return runs() >= pushed_ || failed_; }, 60s);
    working_ = false;
    for (std::size_t i = 1; i < threads_.size(); ++i) threads_[i].join();
    threads_.clear();
  }

  std::size_t pushed() const { return pushed_; }
  std::size_t runs() {
    const std::lock_guard lock(mutex_);
    return runs_.size();
  }
  // Checks that all jobs ran, each once.
  void check() {
    end();
    const std::lock_guard lock(mutex_);
    BOOST_TEST(failure_ == "");
    BOOST_TEST(runs_.size() == pushed_);
    std::size_t twice = 0;
    for (const auto& [job, times] : runs_) twice += times > 1 ? 1 : 0;
    BOOST_TEST(twice == 0U);
    BOOST_TEST(fenced_ == 0U);
  }

 private:
  // Sends as Session does.
  Reply deliver(Connection& redis, const std::function<Reply()>& send) {
    for (const SteadyTime until = steady_now() + 60s; steady_now() < until;) {
      try {
        Reply reply = send();
        const ErrorKind kind = classify_error(reply.view().error());
        if (kind == ErrorKind::none && confirm(redis)) return reply;
        if (kind == ErrorKind::other) throw std::runtime_error(std::string(reply.view().error()));
        if (kind == ErrorKind::not_applied_reconnect) redis.disconnect();
      } catch (const ConnectionLost&) {
      }
      std::this_thread::sleep_for(20ms);
    }
    throw std::runtime_error("no answer in a minute");
  }
  bool confirm(Connection& redis) { return !confirmed_ || redis.call({"WAIT", "1", "1000"}).view().integer() >= 1; }
  void guarded(const std::function<void()>& act) {
    try {
      act();
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      failure_ = error.what();
      failed_ = true;
    }
  }

  // Each push is one command, and is sent again only if it was not applied.  A lost answer would leave that unknown, so
  // batches are numbered.
  void push() {
    guarded([this] {
      Connection redis(address_, patient);
      while (pushing_) {
        const std::string job = std::to_string(pushed_);
        // First pushed to a separate key, again and again until it is there, then moved.
        deliver(redis, [&] {
          return redis.call(
              {"EVAL",
               "if redis.call('SADD', KEYS[1], ARGV[1]) == 1 then redis.call('LPUSH', KEYS[2], ARGV[1]) end "
               "return 1",
               "2", RedisKey("pushed"), RedisKey("queue:a"), job});
        });
        ++pushed_;
      }
    });
  }

  void work(int slot) {
    guarded([this, slot] {
      Connection redis(address_, patient);
      const std::string field = std::to_string(slot) + ".1";
      deliver(redis, [&] { return redis.run(register_incarnation(identity, "{}", field)); });
      Settlement next{.identity = identity,
                      .field = field,
                      .held_queue = "",
                      .outcomes = {},
                      .draw = {"a"},
                      .want = 3,
                      .wait_queue = "",
                      .dead_limits = {}};
      while (working_ || !next.outcomes.empty()) {
        const ScriptCall call = settle_and_fetch(next, wall_now());
        const Reply reply = deliver(redis, [&] { return redis.run(call); });
        const Settled settled = read_settled(reply.view());
        if (settled.fenced) {
          ++fenced_;
          throw std::runtime_error("fenced");
        }
        next.number = settled.number;
        next.held_queue = settled.queue;
        next.outcomes.clear();
        const std::lock_guard lock(mutex_);
        for (const std::string& job : settled.payloads) {
          ++runs_[job];
          next.outcomes.push_back(Outcome{});
        }
      }
    });
  }

  const RedisAddress address_;
  const bool confirmed_;
  std::atomic<bool> pushing_ = true, working_ = true, failed_ = false;
  std::atomic<std::size_t> pushed_ = 0, fenced_ = 0;
  std::mutex mutex_;
  std::map<std::string, int> runs_;
  std::string failure_;
  std::vector<std::thread> threads_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_shard_is_found_at_the_node_that_owns_its_slot) {
  Sharded site;
  BOOST_TEST(site.text(set("k", "v")) == "OK");
  BOOST_TEST(site.owner().get("{brood:0}k").value() == "v");
  BOOST_TEST((find_server(site.address, steady_now() + 5s).server.port == site.owner().port()));

  // Whichever node is asked.
  for (std::size_t i = 0; i < site.cluster.size(); ++i) {
    RedisAddress by_one = site.address;
    by_one.seeds = {{"127.0.0.1", site.cluster.node(i).port()}};
    Connection redis(by_one, patient);
    BOOST_TEST(redis.call(get("k")).view().text() == "v");
  }
  RedisAddress other = in_shard(site.address, 5);
  Connection redis(other, patient);
  BOOST_TEST(redis.call(get("k")).view().is_nil());
}

BOOST_AUTO_TEST_CASE(a_connection_follows_its_slot) {
  Sharded site;
  site.text(set("k", "1"));
  for (int i = 0; i < 3; ++i) {
    RedisServer& next = site.another_master();
    site.cluster.move_slot(site.slot, next);
    BOOST_TEST(site.text(get("k")) == "1");
    const std::vector<Reply> replies = site.redis.pipeline({set("a", "1"), set("b", "2"), get("a")});
    BOOST_TEST(replies[2].view().text() == "1");
    BOOST_TEST(next.get("{brood:0}b").value() == "2");
  }
}

BOOST_AUTO_TEST_CASE(a_redirection_that_leads_nowhere_does_not_say_that_nothing_was_sent_where_something_was) {
  Sharded site;
  RedisServer &here = site.owner(), &elsewhere = site.another_master();
  std::string key = "k";
  while (&site.cluster.owner(slot_of(key)) != &elsewhere) key += "k";
  const Command goes_elsewhere{"SET", key, "1"};  // not in the shard
  Connection redis(site.address, {5s, 5s});
  redis.call(get("k"));
  elsewhere.kill9();

  BOOST_CHECK_EXCEPTION(redis.pipeline({set("k", "1"), goes_elsewhere}), ConnectionLost,
                        [](const ConnectionLost& lost) { return !lost.nothing_was_sent(); });
  BOOST_TEST(here.get("{brood:0}k").value_or("") == "1");
  BOOST_CHECK_EXCEPTION(redis.call(goes_elsewhere), ConnectionLost, lost_by(Loss::not_connected));
}

BOOST_AUTO_TEST_CASE(another_node_has_to_say_that_this_one_owns_its_slot_still) {
  Sharded site;
  BOOST_TEST(site.text(set("k", "1")) == "OK");
  BOOST_TEST(site.redis.is_at_master());
  RedisServer& owner = site.owner();
  for (std::size_t i = 0; i < site.cluster.size(); ++i) {
    if (&site.cluster.node(i) != &owner) site.cluster.node(i).pause();
  }
  BOOST_TEST(!site.redis.is_at_master());
  for (std::size_t i = 0; i < site.cluster.size(); ++i) {
    if (&site.cluster.node(i) != &owner) site.cluster.node(i).resume();
  }
  BOOST_TEST(eventually([&] { return site.cluster.works(); }, 30s));
  BOOST_TEST(site.redis.is_at_master());

  site.cluster.move_slot(site.slot, site.another_master());
  BOOST_TEST(!site.redis.is_at_master());
  BOOST_TEST(site.text(get("k")) == "1");
  BOOST_TEST(site.redis.is_at_master());
}

// Long before its own deadline: a node that stands still closes no connection.
BOOST_AUTO_TEST_CASE(a_wait_for_a_node_that_stands_still_ends_when_it_has_a_successor) {
  Sharded site({.replicas_of_each = 1});
  RedisServer& first = site.owner();
  Connection redis(site.address, {5s, 120s});
  int moves = 0;
  redis.on_another_server([&] { ++moves; });
  redis.call(set("k", "1"));
  BOOST_TEST(moves == 0);
  first.pause();
  std::string why;
  try {
    redis.call(set("k", "2"));
  } catch (const ConnectionLost& lost) {
    why = lost.what();
  }
  BOOST_TEST(why.find("another node owns the slot by now") != why.npos, why);
  BOOST_TEST(redis.call(set("k", "3")).view().text() == "OK");
  BOOST_TEST(moves == 1);
  first.resume();
}

BOOST_AUTO_TEST_CASE(a_transaction_follows_its_slot_as_a_whole) {
  Sharded site;
  site.text(set("k", "1"));
  RedisServer& next = site.another_master();
  site.cluster.move_slot(site.slot, next);
  const std::vector<Reply> replies =
      site.redis.pipeline({{"MULTI"}, {"INCR", RedisKey("k")}, {"INCR", RedisKey("k")}, {"EXEC"}});
  BOOST_TEST(replies.back().view()[1].integer() == 3);
  BOOST_TEST(next.get("{brood:0}k").value() == "3");
}

BOOST_AUTO_TEST_CASE(while_a_slot_moves_single_keys_are_read_and_written_where_they_are) {
  Sharded site;
  site.text(set("old", "1"));
  RedisServer &from = site.owner(), &to = site.another_master();
  site.cluster.begin_move(site.slot, from, to);

  BOOST_TEST(site.text(set("new", "2")) == "OK");
  BOOST_TEST(site.text(get("old")) == "1");
  const std::vector<Reply> replies = site.redis.pipeline({get("new"), get("old"), set("other", "3")});
  BOOST_TEST(replies[0].view().text() == "2");
  BOOST_TEST(replies[1].view().text() == "1");
  BOOST_TEST(from.keys() == Strings{"{brood:0}old"}, boost::test_tools::per_element());
  BOOST_TEST(to.keys() == (Strings{"{brood:0}new", "{brood:0}other"}), boost::test_tools::per_element());
  const std::uint64_t connections = site.redis.connections();  // the other node is asked aside
  BOOST_TEST(connections == 1U);

  site.cluster.move_keys(site.slot, from, to);
  site.cluster.end_move(site.slot, from, to);
  BOOST_TEST(site.text(get("old")) == "1");
  BOOST_TEST(site.text(get("new")) == "2");
}

BOOST_AUTO_TEST_CASE(while_a_slot_moves_a_write_is_confirmed_where_it_went) {
  Sharded site({.replicas_of_each = 1});
  site.text(set("old", "1"));
  RedisServer &from = site.owner(), &to = site.another_master();
  site.cluster.begin_move(site.slot, from, to);

  const std::vector<Reply> replies = site.redis.pipeline({set("old", "2"), set("new", "3"), {"WAIT", "1", "5000"}});
  BOOST_TEST(replies[0].view().text() == "OK");
  BOOST_TEST(replies[1].view().text() == "OK");
  BOOST_TEST(replies[2].view().integer() == 1);
  BOOST_TEST(to.keys() == Strings{"{brood:0}new"}, boost::test_tools::per_element());

  // No replica confirms there.
  site.cluster.replica_of(to).pause();
  const std::vector<Reply> alone = site.redis.pipeline({set("old", "4"), set("newer", "5"), {"WAIT", "1", "200"}});
  BOOST_TEST(alone[1].view().text() == "OK");
  BOOST_TEST(alone[2].view().integer() == 0);
}

BOOST_AUTO_TEST_CASE(a_script_waits_until_its_slot_has_moved) {
  Sharded site;
  PushCommands pushes(0);
  pushes.add("a", "job");
  site.redis.pipeline(pushes.take());
  RedisServer &from = site.owner(), &to = site.another_master();
  site.cluster.begin_move(site.slot, from, to);
  const SteadyTime begun = steady_now();
  std::thread moving([&] {
    std::this_thread::sleep_for(300ms);
    site.cluster.move_keys(site.slot, from, to);
    site.cluster.end_move(site.slot, from, to);
  });
  const Reply reply = site.redis.run(queue_page("a", {}, 10));
  moving.join();
  BOOST_TEST(read_queue_page(reply.view()).payloads == Strings{"job"}, boost::test_tools::per_element());
  BOOST_TEST((steady_now() - begun >= 250ms));
}

BOOST_AUTO_TEST_CASE(a_slot_that_keeps_moving_is_reported_after_a_while) {
  Sharded site;
  PushCommands pushes(0);
  pushes.add("a", "job");
  site.redis.pipeline(pushes.take());
  site.cluster.begin_move(site.slot, site.owner(), site.another_master());
  const Reply reply = site.redis.run(queue_page("a", {}, 10));
  BOOST_TEST((classify_error(reply.view().error()) == ErrorKind::not_applied_retry), reply.view().error());
}

BOOST_AUTO_TEST_CASE(a_wait_in_redis_ends_when_its_slot_has_moved_and_the_next_call_goes_there) {
  Sharded site;
  const Command wait = wait_on_queue(identity, "0.1", "a", 60s);
  std::thread moving([&] {
    BOOST_TEST(eventually([&] {
      const Reply info = site.owner().command({"INFO", "clients"});
      return info.view().text().find("blocked_clients:1") != std::string_view::npos;
    }));
    site.cluster.move_slot(site.slot, site.another_master());
  });
  const std::vector<Reply> replies = site.redis.call_patiently({wait}, {.longest = 30s});
  moving.join();
  BOOST_TEST(replies.front().view().error().starts_with("MOVED"), replies.front().view().error());
  BOOST_TEST(site.text(set("k", "1")) == "OK");
  BOOST_TEST(site.redis.connections() == 2U);
}

BOOST_AUTO_TEST_CASE(nothing_is_lost_or_done_twice_while_a_slot_moves_back_and_forth) {
  Sharded site;
  // Enough keys to make a move take a while.
  for (int i = 0; i < 300; ++i) site.text(set("filler:" + std::to_string(i), "x"));
  Load load(site.address, 3);
  for (int i = 0; i < 8; ++i) {
    const std::size_t before = load.runs();
    BOOST_TEST(eventually([&] { return load.runs() >= before + 50; }, 20s));
    site.cluster.move_slot(site.slot, site.another_master());
  }
  load.check();
  BOOST_TEST_MESSAGE(load.pushed() << " jobs");
}

BOOST_AUTO_TEST_CASE(nothing_is_lost_or_done_twice_in_a_failover_by_hand) {
  Sharded site({.replicas_of_each = 1});
  Load load(site.address, 3);
  for (int i = 0; i < 3; ++i) {
    const std::size_t before = load.runs();
    BOOST_TEST(eventually([&] { return load.runs() >= before + 50; }, 20s));
    RedisServer& master = site.owner();
    RedisServer& replica = site.cluster.replica_of(master);
    site.cluster.fail_over(site.slot, replica);
    // The next one needs a replica too.
    BOOST_TEST(eventually([&] { return is_in_step(master, replica); }, 20s));
  }
  load.check();
}

BOOST_AUTO_TEST_CASE(what_a_replica_has_confirmed_outlives_the_death_of_the_master) {
  Sharded site({.replicas_of_each = 1});
  Load load(site.address, 2, true);
  BOOST_TEST(eventually([&] { return load.runs() >= 50; }, 20s));
  RedisServer& master = site.owner();
  master.kill9();
  BOOST_TEST(eventually([&] { return &site.owner() != &master; }, 30s));
  const SteadyTime elected = steady_now();
  const std::size_t before = load.runs();
  // Without its master no replica confirms.  The former master comes back as a replica.
  master.restart();
  BOOST_TEST(eventually([&] { return load.runs() >= before + 20; }, 20s));
  BOOST_TEST_MESSAGE(
      "consumed again " << std::chrono::duration_cast<std::chrono::milliseconds>(steady_now() - elected).count()
                        << " ms after the election was seen");
  load.check();
}

BOOST_AUTO_TEST_CASE(a_cluster_that_is_none_is_refused) {
  RedisServer plain(RedisServer::Options{.tcp = true});
  Connection redis(RedisAddress::parse("cluster://127.0.0.1:" + std::to_string(plain.port())), patient);
  try {
    redis.call({"PING"});
    BOOST_TEST(false, "connected");
  } catch (const ConnectionLost& refused) {
    BOOST_TEST((refused.why == Loss::login_refused));
    BOOST_TEST(std::string(refused.what()).find("use redis:// instead") != std::string::npos, refused.what());
  }
}

BOOST_AUTO_TEST_CASE(a_cluster_that_is_away_is_lost_and_not_refused) {
  Connection redis(RedisAddress::parse("cluster://127.0.0.1:" + std::to_string(free_port())), {1s, 1s});
  try {
    redis.call({"PING"});
    BOOST_TEST(false, "connected");
  } catch (const ConnectionLost& lost) {
    BOOST_TEST((lost.why != Loss::login_refused));
    BOOST_TEST(std::string(lost.what()).find("no node of the cluster answers") != std::string::npos, lost.what());
  }
}
