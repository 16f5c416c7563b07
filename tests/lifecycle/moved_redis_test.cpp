#include <sysexits.h>

#include <boost/test/unit_test.hpp>

#include "shared/base/clock.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/replication.hpp"
#include "tests/support/tcp_proxy.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// Two servers, one a replica of the other, behind an address that can move from one to the other.
struct Pair {
  RedisServer here{{.tcp = true}}, there{{.tcp = true}};
  TcpProxy address{here.socket_path(), TcpProxy::Listen::tcp};

  Pair() {
    follow(there, here);
    BOOST_REQUIRE(eventually([&] { return is_in_step(there, here); }, 30s));
  }

  // Fails over as an operator or a service does: no connection is closed.
  void fail_over() {
    address.point_at(there.socket_path());
    there.command({"REPLICAOF", "NO", "ONE"});
    follow(here, there);
    BOOST_REQUIRE(eventually([&] { return is_in_step(here, there); }, 30s));
  }
};

double last_beat(RedisServer& redis) {
  for (const std::string& identity : redis.smembers("processes"))
    return std::stod(redis.hget(identity, "beat").value_or("0"));
  return 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_fleet_goes_on_where_its_master_has_moved_although_no_connection_was_closed) {
  Pair redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood({.workers = 2, .arguments = {"--redis", redis.address.url()}});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  enqueue_ledger_jobs(redis.here, ledger.path(), 1);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(1); }), brood.log_tail());
  BOOST_REQUIRE(eventually([&] { return last_beat(redis.here) > 0; }));

  redis.fail_over();
  const double moved_at = epoch_seconds(wall_now());
  // The supervisor itself: it beats, and moves due jobs.
  redis.there.command({"ZADD", "schedule", "1", payload_text("Ledger", "[\"" + ledger.path() + "\",\"1\",0]", 2)});

  BOOST_TEST(eventually([&] { return last_beat(redis.there) > moved_at; }, 30s), brood.log_tail());
  BOOST_TEST(eventually([&] { return ledger.has_done(2); }, 30s), brood.log_tail());
  BOOST_TEST(redis.there.size_of("brood:processes") == 1U);
}

// Such a master accepts writes, and loses them at the next synchronisation.
BOOST_AUTO_TEST_CASE(a_former_master_that_still_takes_writes_is_left_too) {
  Pair redis;
  redis.here.command({"CONFIG", "SET", "replica-read-only", "no"});
  BroodProcess brood({.workers = 1, .arguments = {"--redis", redis.address.url()}});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  BOOST_REQUIRE(eventually([&] { return last_beat(redis.here) > 0; }));

  redis.fail_over();
  const double moved_at = epoch_seconds(wall_now());

  BOOST_TEST(eventually([&] { return last_beat(redis.there) > moved_at; }, 40s), brood.log_tail());
  BOOST_TEST(brood.log().find("is a replica") != std::string::npos, brood.log_tail());
}

// The worker waits for nothing, so nothing wakes it, and its results there are nowhere else.
BOOST_AUTO_TEST_CASE(a_worker_that_is_never_idle_leaves_such_a_master_too) {
  Pair redis;
  redis.here.command({"CONFIG", "SET", "replica-read-only", "no"});
  BroodProcess brood({.workers = 1, .arguments = {"--redis", redis.address.url()}});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  std::vector<std::string> jobs;
  for (int job = 0; job < 2000; ++job) jobs.push_back(payload_text("PoliteLoop", "[100]", job + 1));
  enqueue(redis.here, jobs);
  // Waits until some are done and the replica knows of them.
  const auto some_are_done = [&] {
    const auto left = redis.there.size_of("queue:default");
    return left > 0 && left < 1990;
  };
  BOOST_REQUIRE(eventually(some_are_done, 30s));

  redis.fail_over();
  const auto waiting = redis.there.size_of("queue:default");

  BOOST_TEST(eventually([&] { return redis.there.size_of("queue:default") + 20 < waiting; }, 60s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(an_address_of_a_replica_is_given_up_and_a_check_names_its_master) {
  Pair redis;
  redis.address.point_at(redis.there.socket_path());
  const CommandResult check = run_brood({"run", "--check", "--redis", redis.address.url()});
  BOOST_TEST(check.status == EX_TEMPFAIL, check.output + check.errors);
  BOOST_TEST(check.errors.find("this Redis is a replica of ") != std::string::npos, check.errors);

  BroodProcess brood(
      {.workers = 1, .config = "[redis]\ngive_up_after = \"1s\"\n", .arguments = {"--redis", redis.address.url()}});
  BOOST_TEST(brood.wait_exit(30s).value_or(-1) == EX_TEMPFAIL, brood.log_tail());
  BOOST_TEST(brood.log().find("event=redis_given_up") != std::string::npos, brood.log_tail());
  BOOST_TEST(brood.log().find("event=ready") == std::string::npos, brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_replica_is_not_used_until_it_is_the_master) {
  Pair redis;
  redis.address.point_at(redis.there.socket_path());
  BroodProcess brood({.workers = 1, .arguments = {"--redis", redis.address.url()}});
  BOOST_TEST(eventually([&] { return brood.log().find("is a replica") != std::string::npos; }), brood.log_tail());
  BOOST_TEST(last_beat(redis.here) == 0);

  redis.fail_over();

  BOOST_TEST(eventually([&] { return last_beat(redis.there) > 0; }, 30s), brood.log_tail());
}
