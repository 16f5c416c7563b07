#include "supervisor/queues/worker_unblocker.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <optional>
#include <thread>

#include "tests/store/loop_with_redis.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// A worker's connection, with a thread that waits on it.
struct Waiting : LoopWithRedis {
  Scoreboard board = Scoreboard::in_memory(1);
  WorkerSlot worker{board.slot(0)};
  Connection waiter{redis.address()};
  std::uint64_t id = static_cast<std::uint64_t>(waiter.call({"CLIENT", "ID"}).view().integer());
  std::thread thread;
  std::atomic<bool> ended = false, nothing_came = false;
  std::optional<WorkerUnblocker> unblocking;

  int in_vain = 0;

  Waiting() {
    unblocking.emplace(loop, connection, [this](const SlotRecord& record) {
      BOOST_TEST(&record == &board.slot(0));
      ++in_vain;
    });
  }
  ~Waiting() {
    if (thread.joinable()) thread.join();
  }

  void wait(const char* seconds = "3") {
    thread = std::thread([this, seconds] {
      nothing_came =
          waiter.call({"BLMOVE", "queue:a", "brood:inflight:me:0.1:a", "RIGHT", "LEFT", seconds}).view().is_nil();
      ended = true;
    });
  }
  bool is_blocked() {
    return redis.command({"INFO", "clients"}).view().text().find("blocked_clients:1") != std::string_view::npos;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_worker_that_waits_is_unblocked_with_nothing, Waiting) {
  worker.set_waiting_client(id);
  wait();
  BOOST_REQUIRE(run_until([&] { return is_blocked(); }));
  unblocking->unblock(board.slot(0));
  BOOST_TEST(run_until([&] { return ended.load(); }, 1s));
  BOOST_TEST(nothing_came);
}

BOOST_FIXTURE_TEST_CASE(one_whose_wait_is_still_on_its_way_to_redis_is_unblocked_too, Waiting) {
  worker.set_waiting_client(id);
  unblocking->unblock(board.slot(0));
  run_for(30ms);
  wait();
  BOOST_TEST(run_until([&] { return ended.load(); }, 1s));
  BOOST_TEST(nothing_came);
}

BOOST_FIXTURE_TEST_CASE(one_that_has_its_job_is_left_alone_when_it_waits_again, Waiting) {
  worker.set_waiting_client(id);
  unblocking->unblock(board.slot(0));
  run_for(10ms);
  worker.set_waiting_client(0);
  bool answered = false;  // and what was sent before it
  connection.send({"PING"}, 20s, [&](AsyncConnection::Result) { answered = true; });
  BOOST_REQUIRE(run_until([&] { return answered; }));
  run_for(30ms);
  worker.set_waiting_client(id);
  wait("10");
  BOOST_REQUIRE(run_until([&] { return is_blocked(); }));
  BOOST_TEST(!holds_within([&] { return ended.load(); }, 300ms));
  redis.command({"LPUSH", "queue:a", "x"});
}

BOOST_FIXTURE_TEST_CASE(one_that_does_not_wait_in_redis_costs_no_command, Waiting) {
  redis.command({"CONFIG", "RESETSTAT"});
  unblocking->unblock(board.slot(0));
  run_for(30ms);
  BOOST_TEST(redis.command({"INFO", "commandstats"}).view().text().find("unblock") == std::string_view::npos);
  wait();
  redis.command({"LPUSH", "queue:a", "x"});
}

BOOST_FIXTURE_TEST_CASE(a_refusal_is_survived, Waiting) {
  redis.command({"ACL", "SETUSER", redis.user(), "-client|unblock"});
  worker.set_waiting_client(id);
  wait("60");
  unblocking->unblock(board.slot(0));
  BOOST_TEST(run_until([&] { return !unblocking->allowed(); }));
  BOOST_TEST(!ended);
  BOOST_TEST(connection.connected());
  redis.command({"LPUSH", "queue:a", "x"});
}

// Its connection was lost after it had asked for the id.
BOOST_FIXTURE_TEST_CASE(a_worker_that_waits_under_another_client_id_is_reported, Waiting) {
  worker.set_waiting_client(id + 1'000'000);
  wait("30");
  BOOST_REQUIRE(run_until([&] { return is_blocked(); }));
  unblocking->unblock(board.slot(0));
  BOOST_TEST(run_until([&] { return in_vain == 1; }));
  BOOST_TEST(!ended);
  redis.command({"LPUSH", "queue:a", "x"});
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_has_gone_on_is_not_reported, Waiting) {
  worker.set_waiting_client(id + 1'000'000);
  unblocking->unblock(board.slot(0));
  run_for(30ms);
  worker.set_waiting_client(0);
  run_for(1s);
  BOOST_TEST(in_vain == 0);
}
