#include "supervisor/queues/doorbell.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "shared/store/watched_keys.hpp"
#include "supervisor/queues/key_change_listener.hpp"
#include "tests/store/invented_workers.hpp"
#include "tests/store/loop_with_redis.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_clients.hpp"
#include "tests/support/redis_stats.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

using Names = std::vector<std::string>;

Names many_queues(int count) {
  Names names;
  for (int i = 0; i < count; ++i) names.push_back("q" + std::to_string(100 + i));
  return names;
}

CapsuleSettings capsule_of(const Names& queues) {
  std::vector<QueueOrder::Entry> entries;
  for (const std::string& queue : queues) entries.push_back({queue, 0});
  CapsuleSettings capsule;
  capsule.queues = QueueOrder(entries);
  return capsule;
}

// Workers that consist only of their records, and the doorbell that watches them.
struct Listening : LoopWithRedis, InventedWorkers {
  static constexpr int most_workers = 4;

  Scoreboard board = Scoreboard::in_memory(most_workers);
  int workers = 0;
  std::vector<int> woken;
  bool redis_lets_go = true;
  bool search_in_vain = false;  // a woken worker finds nothing and waits again
  bool take_jobs = false;       // a woken worker begins one
  std::optional<Doorbell> doorbell;

  void add_idle_worker(const std::string& waits_on) {
    SlotRecord& record = board.slot(workers++);
    vacate(record, 1, 0);
    record.ready.store(1);
    WorkerSlot(record).adopt_incarnation(1);
    wait_on(workers - 1, waits_on);
  }
  void wait_on(int slot, const std::string& queue) {
    WorkerSlot worker(board.slot(slot));
    worker.set_queue(queue);
    worker.set_waiting_client(queue.empty() ? 0 : 1'000'000U + static_cast<unsigned>(slot));
  }
  void begin_a_job(int slot) { WorkerSlot(board.slot(slot)).set_fetched(1); }
  void end_its_job(int slot) { WorkerSlot(board.slot(slot)).clear_entries(); }

  void listen(CapsuleSettings capsule) {
    doorbell.emplace(loop, connection, *this);
    doorbell->set_capsules({std::move(capsule)});
    doorbell->listen();
  }
  void unblock(const SlotRecord& record) override { ring(slot_of(record)); }
  void wake(int slot) override {
    BOOST_TEST((board.slot(slot).waiting_client == 0U || !redis_lets_go));
    ring(slot);
  }
  bool may_unblock() const override { return redis_lets_go; }
  void ring(int slot) {
    woken.push_back(slot);
    if (search_in_vain) wait_on(slot, "elsewhere");
    if (take_jobs) begin_a_job(slot);
  }
  int slot_of(const SlotRecord& record) {
    int slot = 0;
    while (&board.slot(slot) != &record) ++slot;
    return slot;
  }
  std::vector<OccupiedSlot> fetching_slots() override {
    std::vector<OccupiedSlot> found;
    for (int i = 0; i < workers; ++i) found.push_back({.slot = i, .capsule = 0, .record = &board.slot(i)});
    return found;
  }
  void push(const std::string& queue, const std::string& job) { redis.command({"LPUSH", "queue:" + queue, job}); }

  std::string stats() { return std::string(redis.command({"INFO", "commandstats"}).view().text()); }
  bool says(const std::string& command) { return stats().find("cmdstat_" + command) != std::string::npos; }
  int peeks() { return connections_whose_last_command_is("blmove"); }
  int connections_whose_last_command_is(const std::string& command) {
    int count = 0;
    for (const RedisClient& client : RedisClient::of(redis, "brood-doorbell"))
      count += client.last_command.starts_with(command);
    return count;
  }
  void fill() {
    redis.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
    redis.command({"SET", "filling", std::string(2 << 20, 'x')});
    redis.command({"CONFIG", "SET", "maxmemory", "1mb"});
    BOOST_REQUIRE(redis.command({"SET", "refused", "x"}).view().is_error());
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_job_in_a_queue_without_a_waiting_worker_wakes_an_idle_one, Listening) {
  add_idle_worker("a");
  listen(capsule_of({"a", "b"}));
  BOOST_REQUIRE(run_until([&] { return peeks() == 1; }));
  redis.command({"CONFIG", "RESETSTAT"});
  push("b", "job");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
  BOOST_TEST(woken.front() == 0);
  BOOST_TEST(!says("evalsha"));
}

BOOST_FIXTURE_TEST_CASE(redis_lets_a_worker_go_before_we_hear_of_the_job, Listening) {
  add_idle_worker("a");
  Connection waiter(redis.address());
  board.slot(0).waiting_client = static_cast<std::uint64_t>(waiter.call({"CLIENT", "ID"}).view().integer());
  std::atomic<bool> unblock = false;
  std::thread worker([&] {
    unblock = waiter.call({"BLMOVE", "queue:a", "brood:inflight:me:0.1:a", "RIGHT", "LEFT", "200"}).view().is_nil();
  });
  const auto blocked = [&] {
    return redis.command({"INFO", "clients"}).view().text().find("blocked_clients:2") != std::string_view::npos;
  };
  listen(capsule_of({"a", "b"}));
  BOOST_CHECK(run_until(blocked));
  push("b", "job");
  BOOST_TEST(eventually([&] { return unblock.load(); }));  // while our loop stands still
  worker.join();
  const SteadyTime let_go = steady_now();
  run_for(50ms);
  // After 250 ms it counts as idle again, since its record still shows that it waits.
  BOOST_TEST((woken.empty() || steady_now() - let_go > 200ms));
}

BOOST_FIXTURE_TEST_CASE(if_redis_refuses_to_unblock_workers_are_ordered_to_wait_outside, Listening) {
  add_idle_worker("a");
  redis_lets_go = false;
  listen(capsule_of({"a", "b"}));
  push("b", "job");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
  BOOST_TEST(board.slot(0).waits_outside == 1U);
  redis_lets_go = true;
  BOOST_TEST(run_until([&] { return board.slot(0).waits_outside == 0U; }));
}

BOOST_FIXTURE_TEST_CASE(a_job_that_is_there_already_wakes_one_too, Listening) {
  push("b", "job");
  add_idle_worker("a");
  listen(capsule_of({"a", "b"}));
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
}

BOOST_FIXTURE_TEST_CASE(ringing_moves_nothing, Listening) {
  add_idle_worker("a");
  search_in_vain = true;
  listen(capsule_of({"a", "b"}));
  BOOST_REQUIRE(run_until([&] { return peeks() == 1; }));
  redis.command({"LPUSH", "queue:b", "1", "2", "3"});
  BOOST_TEST(run_until([&] { return woken.size() >= 5; }));
  BOOST_TEST(redis.lrange("queue:b") == (Names{"3", "2", "1"}), boost::test_tools::per_element());
  BOOST_TEST(redis.keys() == (Names{"queue:b"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(ringing_repeats_with_growing_pauses, Listening) {
  add_idle_worker("a");
  search_in_vain = true;
  listen(capsule_of({"a", "b"}));
  push("b", "job");
  run_for(1s);
  // 1, 2, 4 ... 64 ms, then every 100 ms.
  BOOST_TEST(woken.size() <= 18U);
  BOOST_TEST(run_until([&] { return woken.size() >= 7U; }));
}

BOOST_FIXTURE_TEST_CASE(each_ring_frees_another_worker_until_none_is_idle, Listening) {
  for (int i = 0; i < 3; ++i) add_idle_worker("a");
  take_jobs = true;
  listen(capsule_of({"a", "b"}));
  push("b", "job");
  BOOST_TEST(run_until([&] { return woken.size() == 3; }));
  std::sort(woken.begin(), woken.end());
  BOOST_TEST(woken == (std::vector{0, 1, 2}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(no_worker_is_woken_while_all_are_busy_and_one_is_once_it_is_idle, Listening) {
  push("b", "job");
  add_idle_worker("");
  begin_a_job(0);
  listen(capsule_of({"a", "b"}));
  run_for(300ms);
  BOOST_TEST(woken.empty());
  BOOST_TEST(doorbell->connections() == 0);
  end_its_job(0);
  wait_on(0, "a");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
}

BOOST_FIXTURE_TEST_CASE(with_a_waiter_on_every_queue_it_asks_nothing, Listening) {
  add_idle_worker("a");
  add_idle_worker("b");
  redis.command({"CONFIG", "RESETSTAT"});
  listen(capsule_of({"a", "b"}));
  push("b", "job");
  run_for(500ms);
  BOOST_TEST(woken.empty());
  BOOST_TEST(doorbell->connections() == 0);
  BOOST_TEST(!says("blmove"));
  BOOST_TEST(!says("eval"));
}

BOOST_FIXTURE_TEST_CASE(with_a_doorbell_on_every_queue_it_looks_no_more, Listening) {
  add_idle_worker("a");
  listen(capsule_of({"a", "b", "c"}));
  BOOST_REQUIRE(run_until([&] { return peeks() == 2; }));
  run_for(150ms);
  redis.command({"CONFIG", "RESETSTAT"});
  run_for(500ms);
  BOOST_TEST(!says("eval"));
  BOOST_TEST(!says("blmove"));
}

BOOST_FIXTURE_TEST_CASE(the_queue_of_a_worker_that_was_woken_gets_a_doorbell_at_once, Listening) {
  add_idle_worker("a");
  add_idle_worker("b");
  listen(capsule_of({"a", "b", "c"}));
  BOOST_REQUIRE(run_until([&] { return peeks() == 1; }));
  push("c", "job");
  BOOST_REQUIRE(run_until([&] { return woken.size() == 1; }, 1s));
  BOOST_TEST(woken.front() == 1);
  begin_a_job(1);
  redis.command({"DEL", "queue:c"});
  push("b", "job");
  BOOST_TEST(run_until([&] { return woken.size() == 2; }, 1s));
}

BOOST_FIXTURE_TEST_CASE(a_queue_that_its_worker_says_it_has_left_gets_a_doorbell_at_once, Listening) {
  add_idle_worker("a");
  add_idle_worker("b");
  listen(capsule_of({"a", "b"}));
  BOOST_TEST(doorbell->connections() == 0);
  begin_a_job(1);
  doorbell->look();
  BOOST_TEST(doorbell->connections() == 1);
  push("b", "job");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
}

BOOST_FIXTURE_TEST_CASE(queues_beyond_the_doorbells_are_looked_at, Listening) {
  const Names queues = many_queues(420);
  add_idle_worker(queues[0]);
  listen(capsule_of(queues));
  BOOST_REQUIRE(run_until([&] { return peeks() == 16; }));
  push(queues[419], "job");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
  BOOST_TEST(doorbell->connections() == 16);
}

BOOST_FIXTURE_TEST_CASE(a_look_wakes_as_many_as_there_are_jobs, Listening) {
  const Names queues = many_queues(30);
  for (int i = 0; i < 4; ++i) add_idle_worker(queues[0]);
  listen(capsule_of(queues));
  BOOST_REQUIRE(run_until([&] { return peeks() == 16; }));
  redis.command({"LPUSH", "queue:" + queues[29], "1", "2", "3"});
  BOOST_TEST(run_until([&] { return woken.size() >= 3; }));
}

BOOST_FIXTURE_TEST_CASE(where_blmove_is_forbidden_queues_are_looked_at, Listening) {
  redis.command({"ACL", "SETUSER", redis.user(), "-blmove"});
  add_idle_worker("");
  listen(capsule_of({"a", "b"}));
  run_for(200ms);
  push("a", "job");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
  BOOST_TEST(connection.connected());
}

BOOST_FIXTURE_TEST_CASE(what_one_redis_refuses_is_asked_of_the_next_at_once, Listening) {
  redis.command({"ACL", "SETUSER", redis.user(), "-blmove"});
  add_idle_worker("");
  listen(capsule_of({"a", "b"}));
  BOOST_REQUIRE(run_until([&] { return redis.command({"ACL", "LOG"}).view().size() > 0; }));
  redis.command({"CONFIG", "RESETSTAT"});
  BOOST_REQUIRE(run_until([&] { return says("evalsha"); }));  // the refusal has arrived, and it looks
  redis.command({"ACL", "SETUSER", redis.user(), "+blmove"});
  doorbell->redis_has_moved();
  BOOST_TEST(holds_within([&] { return peeks() == 2; }, 8s));  // what was refused here would be asked again after 10 s
}

BOOST_FIXTURE_TEST_CASE(in_a_full_redis_queues_are_looked_at, Listening) {
  push("b", "job");
  fill();
  add_idle_worker("");
  search_in_vain = true;
  listen(capsule_of({"a", "b"}));
  BOOST_TEST(run_until([&] { return woken.size() == 5; }));
  BOOST_TEST(connection.connected());
}

BOOST_FIXTURE_TEST_CASE(a_queue_that_is_no_list_holds_up_no_other, Listening) {
  redis.command({"SET", "queue:b", "x"});
  add_idle_worker("a");
  listen(capsule_of({"a", "b", "c"}));
  run_for(300ms);
  push("c", "job");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
  BOOST_TEST(peeks() <= 1);
}

BOOST_FIXTURE_TEST_CASE(a_queue_that_is_no_list_among_many_holds_up_no_other, Listening) {
  const Names queues = many_queues(30);
  redis.command({"SET", "queue:" + queues[20], "x"});
  add_idle_worker(queues[0]);
  listen(capsule_of(queues));
  run_for(300ms);
  push(queues[29], "job");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
}

BOOST_FIXTURE_TEST_CASE(a_capsule_of_every_queue_hears_of_those_that_redis_knows, Listening) {
  add_idle_worker("a");
  CapsuleSettings all = capsule_of({"a", "*"});
  listen(all);
  doorbell->know({.names = {"a", "b"}, .paused = {}});
  push("b", "job");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
  redis.command({"DEL", "queue:b"});
  woken.clear();
  doorbell->know({.names = {"a", "b", "new"}, .paused = {}});
  push("new", "job");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
}

BOOST_FIXTURE_TEST_CASE(no_worker_is_woken_for_a_paused_queue_until_it_is_unpaused, Listening) {
  add_idle_worker("a");
  listen(capsule_of({"a", "b", "c"}));
  doorbell->know({.names = {}, .paused = {"b"}});
  push("b", "job");
  run_for(300ms);
  BOOST_TEST(woken.empty());
  push("c", "job");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
  redis.command({"DEL", "queue:c"});
  run_for(300ms);
  woken.clear();
  doorbell->know({});
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
}

BOOST_FIXTURE_TEST_CASE(once_stopped_it_wakes_no_worker_and_has_no_connection, Listening) {
  add_idle_worker("a");
  listen(capsule_of({"a", "b"}));
  BOOST_REQUIRE(run_until([&] { return peeks() == 1; }));
  doorbell->stop();
  push("b", "job");
  BOOST_TEST(run_until([&] { return peeks() == 0; }));
  run_for(300ms);
  BOOST_TEST(woken.empty());
  BOOST_TEST(redis.lrange("queue:b") == (Names{"job"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(it_rings_again_after_redis_was_away, Listening) {
  add_idle_worker("a");
  listen(capsule_of({"a", "b"}));
  BOOST_REQUIRE(run_until([&] { return peeks() == 1; }));
  redis.kill9();
  run_for(300ms);
  BOOST_TEST(doorbell->connections() == 0);
  redis.restart();
  BOOST_TEST(run_until([&] { return peeks() == 1; }));
  push("b", "job");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
}

// As in a shard without workers, where nothing changes meanwhile.
BOOST_FIXTURE_TEST_CASE(it_rings_again_though_redis_is_back_before_it_has_looked, Listening) {
  add_idle_worker("a");
  listen(capsule_of({"a", "b"}));
  // In some rounds it looks in between, and sees that Redis is away.
  for (int round = 0; round < 20; ++round) {
    BOOST_REQUIRE(run_until([&] { return peeks() == 1; }, 2s));
    connection.close();
    redis.command({"CLIENT", "KILL", "TYPE", "normal"});
    BOOST_REQUIRE(
        run_until([&] { return doorbell->connections() == 0 || connections_whose_last_command_is("client") == 1; }));
    open(connection);
    doorbell->listen();
  }
  BOOST_REQUIRE(run_until([&] { return peeks() == 1; }, 2s));
  push("b", "job");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
}

// As after a quiet and its end that the workers did not notice.
BOOST_FIXTURE_TEST_CASE(it_rings_again_after_a_stop_in_which_nothing_changed, Listening) {
  add_idle_worker("a");
  listen(capsule_of({"a", "b"}));
  BOOST_REQUIRE(run_until([&] { return peeks() == 1; }));
  doorbell->stop();
  BOOST_REQUIRE(run_until([&] { return peeks() == 0; }));

  doorbell->listen();

  BOOST_REQUIRE(run_until([&] { return peeks() == 1; }, 2s));
  push("b", "job");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
}

// The server may be another one: a peek that waits at the former server would never ring.
BOOST_FIXTURE_TEST_CASE(it_peeks_anew_at_the_server_that_is_back, Listening) {
  add_idle_worker("a");
  listen(capsule_of({"a", "b"}));
  for (int round = 0; round < 5; ++round) {
    BOOST_REQUIRE(run_until([&] { return peeks() == 1; }));
    connection.close();
    open(connection);
    const std::size_t before = connections_of(redis);
    doorbell->listen();
    BOOST_TEST(run_until([&] { return connections_of(redis) > before; }, 2s));
  }
}

BOOST_FIXTURE_TEST_CASE(after_a_slow_answer_it_looks_again_within_seconds, Listening) {
  add_idle_worker("q100");
  listen(capsule_of(many_queues(30)));
  BOOST_REQUIRE(run_until([&] { return says("evalsha"); }));
  redis.command({"CLIENT", "PAUSE", "2000"});
  run_for(2500ms);  // a look among them
  push("q129", "job");
  BOOST_TEST(holds_within([&] { return !woken.empty(); }, 10s));
}

BOOST_FIXTURE_TEST_CASE(a_doorbell_may_be_destroyed_while_it_waits_and_looks, Listening) {
  const Names queues = many_queues(30);
  add_idle_worker(queues[0]);
  listen(capsule_of(queues));
  BOOST_REQUIRE(run_until([&] { return peeks() == 16; }));
  doorbell->listen();
  doorbell.reset();
  run_for(200ms);
  BOOST_TEST(woken.empty());
}

namespace {

// With notifications of queue changes, as in a shard.
struct Told : Listening {
  const Names queues = many_queues(420);
  std::optional<KeyChangeListener> watch;

  void begin() {
    add_idle_worker(queues[0]);
    listen(capsule_of(queues));
    watch.emplace(loop, connection, KeyChangeListener::Keys{{"schedule", [] {}}},
                  [this](bool hears) { doorbell->rely_on_reports(hears ? &watch->reader() : nullptr); });
    watch->hear_of_others([this](const std::vector<std::string>& keys) {
      Names changed;
      for (const std::string& key : keys) {
        if (const auto queue = queue_of(key)) changed.push_back(*queue);
      }
      doorbell->note_changes(changed);
    });
    watch->listen();
    BOOST_REQUIRE(run_until([&] { return watch->hears() && peeks() == 16; }));
    BOOST_REQUIRE(run_until([&] { return is_at_rest(); }));
  }
  bool is_at_rest() { return !is_sent_within("evalsha", 1s) && !says("eval:"); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(if_changes_are_reported_empty_queues_are_looked_at_only_once, Told) {
  begin();
  push(queues[300], "job");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
  BOOST_TEST(stats().find("cmdstat_llen:calls=1,") != std::string::npos, stats());  // of that queue alone
  std::uint32_t rings = 0;
  BOOST_TEST(rung_for(board.slot(0), rings) == queues[300]);
}

BOOST_FIXTURE_TEST_CASE(a_queue_that_has_become_empty_is_told_of_again, Told) {
  begin();
  for (int round = 0; round < 3; ++round) {
    push(queues[300], "job");
    BOOST_TEST(run_until([&] { return !woken.empty(); }));
    redis.command({"DEL", "queue:" + queues[300]});
    BOOST_REQUIRE(run_until([&] { return is_at_rest(); }));
    woken.clear();
  }
}

BOOST_FIXTURE_TEST_CASE(what_was_known_of_queues_ends_with_the_data, Told) {
  begin();
  redis.command({"FLUSHALL"});
  push(queues[300], "job");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
}

BOOST_FIXTURE_TEST_CASE(what_was_known_of_queues_ends_with_the_connection, Told) {
  begin();
  for (const RedisClient& client : RedisClient::of(redis, "brood-key-"))
    redis.command({"CLIENT", "KILL", "ID", client.id});
  push(queues[300], "job");
  BOOST_TEST(run_until([&] { return !woken.empty(); }));
}
