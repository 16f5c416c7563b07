#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <fstream>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/redis_clients.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// A brood with a ledger for each queue.
struct Site {
  RedisServer redis;
  TemporaryDirectory directory;
  BroodProcess brood;
  int pushed = 0;

  explicit Site(BroodOptions options) : brood(redis, std::move(options)) {
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  }
  Ledger ledger(const std::string& queue) const { return Ledger(directory / queue); }
  void push(const std::string& queue, int jobs = 1, int milliseconds = 0) {
    std::vector<std::string> payloads;
    for (int i = 0; i < jobs; ++i) {
      ++pushed;
      payloads.push_back(payload_text(
          "Ledger",
          "[\"" + ledger(queue).path() + "\",\"" + std::to_string(pushed) + "\"," + std::to_string(milliseconds) + "]",
          pushed));
    }
    enqueue(redis, payloads, queue);
  }
  std::size_t begun(const std::string& queue) const { return ledger(queue).runs().size(); }
  // Waits for the supervisor's log line: then every worker can know of the pause.
  void pause(const std::string& queue) {
    const std::size_t before = times_logged(brood, "queues_paused");
    redis.command({"SADD", "paused", queue});
    BOOST_REQUIRE_MESSAGE(eventually([&] { return times_logged(brood, "queues_paused") > before; }), brood.log_tail());
  }
  void unpause(const std::string& queue) { redis.command({"SREM", "paused", queue}); }
  // The clients of workers that have waited in Redis for this long.
  std::vector<RedisClient> waiting_clients(std::chrono::seconds at_least = 0s) {
    std::vector<RedisClient> workers = RedisClient::of(redis, "brood-worker");
    std::erase_if(workers, [&](const RedisClient& worker) { return !worker.is_blocked || worker.idle < at_least; });
    return workers;
  }
  int waiters() { return static_cast<int>(waiting_clients().size()); }
  // The registered incarnations of all its workers.
  std::size_t incarnations() {
    std::size_t count = 0;
    for (const std::string& key : redis.keys("brood:inflight:*"))
      count += redis.command({"TYPE", key}).view().text() == "hash" ? redis.size_of(key) : 0;
    return count;
  }
  // For workers without a job: either none is blocked, or all wait on another queue.
  bool nobody_waits_on(const std::string& queue) {
    if (waiters() == 0) return true;
    for (const std::string& key : redis.keys("brood:inflight:*")) {
      if (redis.command({"TYPE", key}).view().text() != "hash") continue;
      for (const auto& [field, value] : redis.hgetall(key)) {
        if (value.ends_with(" " + queue)) return false;
      }
    }
    return true;
  }
};

// The number of times that a process has gone to sleep voluntarily.
long times_slept(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("voluntary_ctxt_switches:")) return std::stol(line.substr(line.find(':') + 1));
  }
  return -1;
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_worker_fetches_from_a_paused_queue_and_all_do_when_it_is_unpaused) {
  Site site({.workers = 2, .queues = {"one", "two"}});
  BOOST_REQUIRE(eventually([&] { return site.waiters() == 2; }));
  site.pause("one");
  // Workers that waited on the queue have left it too: one that stayed would get the job at once.
  BOOST_REQUIRE(eventually([&] { return site.nobody_waits_on("one"); }));
  site.push("two", 20);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return site.begun("two") == 20; }), site.brood.log_tail());
  site.push("one", 3);
  for (int round = 0; round < 5; ++round) {
    site.push("two", 20, 5);
    BOOST_REQUIRE_MESSAGE(eventually([&] { return site.begun("two") == 20 + 20 * (round + 1U); }),
                          site.brood.log_tail());
  }
  BOOST_TEST(site.begun("one") == 0U);
  BOOST_TEST(site.redis.size_of("queue:one") == 3U);

  site.unpause("one");
  BOOST_TEST(eventually([&] { return site.begun("one") == 3; }), site.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_busy_worker_leaves_a_paused_queue_and_finishes_the_job_in_hand) {
  Site site({.workers = 1, .queues = {"one", "two"}});
  site.push("one", 4'000, 10);
  site.push("two", 1);
  BOOST_REQUIRE(eventually([&] { return site.begun("one") > 10; }));
  site.pause("one");
  BOOST_TEST(eventually([&] { return site.begun("two") == 1; }), site.brood.log_tail());
  BOOST_TEST(site.redis.size_of("queue:one") > 100U);
  BOOST_TEST(eventually([&] { return jobs_in_flight(site.redis) == 0; }));
  for (const Ledger::Run& run : site.ledger("one").runs()) BOOST_TEST(run.ended.has_value());
  BOOST_TEST(site.begun("one") + site.redis.size_of("queue:one") == 4'000U);

  site.redis.command({"LTRIM", "queue:one", "0", "99"});
  const std::size_t before = site.begun("one");
  site.unpause("one");
  BOOST_TEST(eventually([&] { return site.begun("one") == before + 100; }, 30s), site.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(with_all_queues_paused_workers_idle) {
  Site site({.workers = 2, .queues = {"one"}});
  BOOST_REQUIRE(eventually([&] { return site.waiters() == 2; }));
  site.pause("one");
  BOOST_REQUIRE(eventually([&] { return site.waiters() == 0; }));
  site.push("one", 5);
  const long before = site.redis.commands_processed();
  const auto asked = std::chrono::steady_clock::now();
  BOOST_REQUIRE(eventually([&] { return std::chrono::steady_clock::now() - asked > 3s; }));
  // Two workers look every two seconds, the supervisor a few times a second.  A busy loop would send thousands.
  BOOST_TEST(site.redis.commands_processed() - before < 200);
  BOOST_TEST(site.begun("one") == 0U);

  site.unpause("one");
  BOOST_TEST(eventually([&] { return site.begun("one") == 5; }), site.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_worker_that_hears_of_a_pause_while_it_waits_for_an_incarnation_waits_on_no_paused_queue) {
  Site site({.workers = 1, .queues = {"one"}});
  BOOST_REQUIRE(eventually([&] { return site.waiters() == 1; }));
  const pid_t worker = site.brood.workers().front();
  // Its wait is lost, and with it its incarnation.  The supervisor is slow to give it another.
  site.brood.signal(SIGSTOP);
  // An earlier message may end the wait first, and between two waits the worker would lose only a connection.
  BOOST_REQUIRE(eventually([&] { return site.waiting_clients(1s).size() == 1; }));
  site.redis.command({"CLIENT", "KILL", "ID", site.waiting_clients().at(0).id});
  BOOST_REQUIRE(eventually([&] { return site.incarnations() == 0; }));
  const long slept = times_slept(worker);
  BOOST_REQUIRE(eventually([&] { return times_slept(worker) > slept + 3; }));  // it looks ten times a second
  // The worker is slow too, so it learns of both changes at once.
  BOOST_REQUIRE(kill(worker, SIGSTOP) == 0);
  site.redis.command({"SADD", "paused", "one"});
  site.brood.signal(SIGCONT);
  BOOST_REQUIRE(eventually([&] { return times_logged(site.brood, "queues_paused") == 1; }));
  BOOST_REQUIRE(kill(worker, SIGCONT) == 0);
  BOOST_REQUIRE(eventually([&] { return site.incarnations() == 1; }, 20s));

  // It looks every two seconds, so three seconds are enough.
  site.push("one", 3);
  const auto pushed = std::chrono::steady_clock::now();
  BOOST_REQUIRE(eventually([&] { return std::chrono::steady_clock::now() - pushed > 3s; }));
  BOOST_TEST(site.waiters() == 0);
  BOOST_TEST(site.begun("one") == 0U);
  BOOST_TEST(site.redis.size_of("queue:one") == 3U);

  site.unpause("one");
  BOOST_TEST(eventually([&] { return site.begun("one") == 3; }), site.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(due_jobs_go_to_a_paused_queue_and_stay_there) {
  Site site({.workers = 1, .queues = {"one"}, .config = "poll_interval = \"50ms\"\n"});
  site.pause("one");
  const std::string args = "[\"" + site.ledger("one").path() + "\",\"0\",0]";
  site.redis.command({"ZADD", "schedule", "1", payload_text("Ledger", args, 1, R"("queue":"one")")});
  BOOST_TEST(eventually([&] { return site.redis.size_of("queue:one") == 1; }), site.brood.log_tail());
  BOOST_TEST(site.begun("one") == 0U);
}

BOOST_AUTO_TEST_CASE(a_pause_holds_through_restarts_of_workers_supervisor_and_redis) {
  Site site({.workers = 2, .queues = {"one", "two"}});
  site.pause("one");
  BOOST_REQUIRE(eventually([&] { return site.nobody_waits_on("one"); }));
  site.push("one", 3);
  BOOST_TEST(run_brood({"restart"}, site.brood.environment()).status == 0);
  BOOST_TEST(run_brood({"upgrade"}, site.brood.environment()).status == 0, site.brood.log_tail());
  site.push("two", 50, 1);
  BOOST_TEST(eventually([&] { return site.begun("two") == 50; }, 20s), site.brood.log_tail());
  site.brood.kill9();
  site.brood.start();
  site.push("two", 50, 1);
  BOOST_TEST(eventually([&] { return site.begun("two") == 100; }, 20s), site.brood.log_tail());
  BOOST_TEST(site.begun("one") == 0U);
  BOOST_TEST(site.redis.size_of("queue:one") == 3U);
}

BOOST_AUTO_TEST_CASE(a_key_that_is_no_set_pauses_nothing_and_is_logged_once) {
  Site site({.workers = 1, .queues = {"one"}});
  site.pause("one");
  site.push("one", 2);
  site.redis.command({"SET", "paused", "one"});
  BOOST_TEST(eventually([&] { return site.begun("one") == 2; }), site.brood.log_tail());
  BOOST_TEST(eventually([&] { return times_logged(site.brood, "pauses_unknown") == 1; }), site.brood.log_tail());
  site.push("one", 2);
  BOOST_TEST(eventually([&] { return site.begun("one") == 4; }), site.brood.log_tail());
  BOOST_TEST(times_logged(site.brood, "pauses_unknown") == 1U, site.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_star_takes_all_queues_but_the_paused_ones_and_those_named_before_it_come_first) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  redis.command({"SADD", "paused", "paused"});
  redis.command({"SADD", "queues", "not a <safe> name"});
  long number = 0;
  for (const char* queue : {"last", "a", "b", "paused", "first"}) {
    std::vector<std::string> payloads;
    for (int i = 0; i < 20; ++i)
      payloads.push_back(payload_text(
          "Ledger", "[\"" + ledger.path() + "\",\"" + std::string(queue) + "-" + std::to_string(i) + "\",0]",
          ++number));
    enqueue(redis, payloads, queue);
  }
  const BroodProcess brood(redis, {.workers = 1, .config = "queues = [\"first\", \"*\", \"last\"]\n"});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(80); }, 20s), brood.log_tail());

  std::string order;
  for (const Ledger::Run& run : ledger.runs()) {
    const std::string queue = run.id.substr(0, run.id.find('-'));
    order += queue == "first" ? 'f' : queue == "last" ? 'l' : '*';
  }
  BOOST_TEST(order == std::string(20, 'f') + std::string(40, '*') + std::string(20, 'l'));
  BOOST_TEST(redis.size_of("queue:paused") == 20U);
  BOOST_TEST(eventually([&] { return times_logged(brood, "queues_left_out") == 1; }), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(queues_of_a_pattern_are_taken_in_its_place_and_excluded_ones_never) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  long number = 0;
  const auto push = [&](const std::string& queue, int jobs) {
    for (int i = 0; i < jobs; ++i) {
      const std::string id = queue + "-" + std::to_string(++number);
      enqueue(redis, {payload_text("Ledger", "[\"" + ledger.path() + "\",\"" + id + "\",0]", number)}, queue);
    }
  };
  for (const char* queue : {"other", "mail_bulk", "mail_a", "mail_b", "critical"}) push(queue, 5);
  const BroodProcess brood(redis,
                           {.workers = 1, .config = "queues = [\"critical\", \"mail*\", \"!mail_bulk\", \"*\"]\n"});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(20); }, 20s), brood.log_tail());
  std::string order;
  for (const Ledger::Run& run : ledger.runs()) order += run.id.front();
  BOOST_TEST(order == "ccccc" + std::string(10, 'm') + "ooooo");

  push("mail_new", 5);
  push("mail_bulk", 1);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(25); }, 20s), brood.log_tail());
  BOOST_TEST(redis.size_of("queue:mail_bulk") == 6U);

  const auto enqueued_in = [&](const std::string& queue) {
    return run_brood({"enqueue", "--redis", redis.url(), "-q", queue, "Ledger", ledger.path(), "last", "0"}).errors;
  };
  BOOST_TEST(enqueued_in("other") == "");
  BOOST_TEST(enqueued_in("mail_bulk").find("no process fetches from queue \"mail_bulk\" now") != std::string::npos);
}
