#include <sysexits.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>

#include "shared/redis/connection.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/confirmed_pusher.hpp"
#include "tests/support/cut_off_network.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/sentinel_setup.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr auto longest_on_a_busy_machine = 20s;  // the promise is 5 s: node_faults measures that

// The time until a job begins; half a minute if none does.
std::chrono::milliseconds time_until_begun(const Ledger& ledger) {
  const std::int64_t from = ledger_now();
  std::int64_t began = 0;
  eventually(
      [&] {
        for (const Ledger::Run& run : ledger.runs()) {
          if (run.began > from) began = began == 0 ? run.began : std::min(began, run.began);
        }
        return began != 0;
      },
      30s);
  return began == 0 ? std::chrono::milliseconds(30s) : std::chrono::milliseconds((began - from) / 1'000'000);
}

struct Fleet {
  SentinelSetup redis;
  TemporaryDirectory directory;
  Ledger ledger{directory / "ledger"};
  BroodProcess brood;
  ConfirmedPusher pusher;

  explicit Fleet(int wait = 1)
      : brood({.workers = 2,
               .config = "[redis]\nurl = \"" + redis.url() + "\"\nwait = " + std::to_string(wait) +
                         "\nwait_timeout = \"500ms\"\n"}),
        pusher(redis.address(), ledger.path(), wait > 0, {}) {
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
    BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.done().size() > 50; }, 20s), brood.log_tail());
  }

  // Waits for a master other than `first`, and until a job has begun after that one was there.
  std::chrono::milliseconds time_until_work(RedisServer& first) {
    redis.master(&first);
    const std::chrono::milliseconds took = time_until_begun(ledger);
    BOOST_REQUIRE_MESSAGE((took < 30s), brood.log_tail());
    return took;
  }

  // No confirmed push is lost, and at most this many have run twice.
  void judge(std::size_t most_doubled) {
    pusher.stop();
    const auto missing = [&] {
      const std::map<std::string, int> done = ledger.done();
      std::size_t count = 0;
      for (const std::string& id : pusher.confirmed()) count += done.contains(id) ? 0 : 1;
      return count;
    };
    BOOST_TEST(pusher.confirmed().size() > 50U);
    BOOST_TEST(eventually([&] { return missing() == 0; }, 60s), "lost " << missing() << "\n"
                                                                        << brood.log_tail() << "\n"
                                                                        << redis.sentinel(0).log());
    std::size_t doubled = 0;
    for (const auto& [id, times] : ledger.done()) doubled += times > 1 ? 1 : 0;
    BOOST_TEST(doubled <= most_doubled, brood.log_tail());
    BOOST_TEST(ledger.judge(0).overlapped.empty());
    BOOST_TEST_MESSAGE("confirmed " << pusher.confirmed().size() << ", doubled " << doubled);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(work_goes_on_after_the_master_has_handed_over) {
  Fleet fleet;
  RedisServer& first = fleet.redis.server(0);
  BOOST_REQUIRE(first.command({"FAILOVER"}).view().text() == "OK");
  const std::chrono::milliseconds took = fleet.time_until_work(first);
  BOOST_TEST_MESSAGE("after FAILOVER: " << took.count() << " ms");
  BOOST_TEST((took < longest_on_a_busy_machine), fleet.brood.log_tail());
  // The supervisor has moved too: only it beats.
  BOOST_TEST(eventually([&] { return contains(fleet.brood.log(), "event=redis_is_back"); }, 20s),
             fleet.brood.log_tail());
  fleet.judge(0);
}

BOOST_AUTO_TEST_CASE(work_goes_on_after_the_master_was_killed_and_the_old_one_is_not_used_when_it_is_back) {
  Fleet fleet;
  RedisServer& first = fleet.redis.server(0);
  first.kill9();
  const std::chrono::milliseconds took = fleet.time_until_work(first);
  BOOST_TEST_MESSAGE("after kill -9: " << took.count() << " ms");
  BOOST_TEST((took < longest_on_a_busy_machine), fleet.brood.log_tail());

  first.restart();
  const std::size_t before = fleet.pusher.count();
  BOOST_TEST(eventually([&] { return fleet.pusher.count() > before + 100; }, 20s));
  BOOST_TEST(eventually([&] { return !fleet.redis.is_master(first); }, 30s));
  fleet.judge(2);
}

BOOST_AUTO_TEST_CASE(work_goes_on_while_the_old_master_stands_still_with_all_its_connections) {
  Fleet fleet;
  RedisServer& first = fleet.redis.server(0);
  first.pause();
  const std::chrono::milliseconds took = fleet.time_until_work(first);
  BOOST_TEST_MESSAGE("after SIGSTOP: " << took.count() << " ms");
  BOOST_TEST((took < longest_on_a_busy_machine), fleet.brood.log_tail());
  BOOST_TEST(eventually([&] { return contains(fleet.brood.log(), "event=redis_is_back"); }, 20s),
             fleet.brood.log_tail());

  first.resume();
  BOOST_TEST(eventually([&] { return !fleet.redis.is_master(first); }, 30s));
  fleet.judge(2);
}

BOOST_AUTO_TEST_CASE(idle_workers_that_wait_in_the_old_master_are_woken) {
  SentinelSetup redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood({.workers = 2, .config = "[redis]\nurl = \"" + redis.url() + "\"\n"});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  enqueue(redis.server(0), {ledger_job(ledger.path(), 0, 0)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(1); }), brood.log_tail());

  redis.server(0).pause();
  RedisServer& second = redis.master(&redis.server(0));
  enqueue(second, {ledger_job(ledger.path(), 1, 0), ledger_job(ledger.path(), 2, 0)});

  BOOST_TEST(eventually([&] { return ledger.has_done(3); }, 5s), brood.log_tail());
  BOOST_TEST(second.size_of("brood:processes") == 1U);
  redis.server(0).resume();
}

// Both sides then have the same jobs in their queue.
BOOST_AUTO_TEST_CASE(workers_that_are_cut_off_with_the_old_master_begin_no_job_that_others_may_have_by_now,
                     *boost::unit_test::precondition(networks_can_be_made)) {
  constexpr int jobs = 800;
  const CutOffNetwork network;
  SentinelSetup redis({.host = network.here(), .first_host = network.there(), .first_prefix = network.prefix()});
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  const std::string config = "[redis]\nurl = \"" + redis.url() + "\"\nwait = 1\nwait_timeout = \"300ms\"\n";
  BroodProcess beside({.workers = 2, .config = config});
  BroodProcess with_it({.workers = 2, .config = config, .prefix = network.prefix()});
  BOOST_REQUIRE_MESSAGE(beside.wait_ready(), beside.log_tail());
  BOOST_REQUIRE_MESSAGE(with_it.wait_ready(), with_it.log_tail());
  enqueue_ledger_jobs(redis.server(0), ledger.path(), jobs, 50);
  BOOST_TEST(redis.server(0).integer({"WAIT", "2", "10000"}) == 2);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.done().size() > 30; }, 20s), beside.log_tail());

  network.cut();
  RedisServer& second = redis.master(&redis.server(0));
  BOOST_TEST((time_until_begun(ledger) < longest_on_a_busy_machine), beside.log_tail());
  BOOST_TEST(eventually([&] { return ledger.done().size() > 200; }, 30s), beside.log_tail());
  network.mend();

  BOOST_TEST(eventually([&] { return !redis.is_master(redis.server(0)); }, 60s));
  BOOST_TEST(eventually([&] { return ledger.has_done(jobs); }, 60s), beside.log_tail());
  const Ledger::Verdict verdict = ledger.judge(jobs);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.doubled.size() <= 4U, with_it.log_tail());  // those that ran when the line was cut
  BOOST_TEST_MESSAGE("doubled " << verdict.doubled.size());
  // The worker is with the others again.
  BOOST_TEST(eventually([&] { return second.size_of("brood:processes") == 2U; }, 30s), with_it.log_tail());
}

BOOST_AUTO_TEST_CASE(without_its_sentinels_a_fleet_goes_on_with_the_master_it_knows) {
  Fleet fleet;
  for (std::size_t i = 0; i < 3; ++i) fleet.redis.sentinel(i).kill9();
  const std::vector<pid_t> workers = fleet.brood.workers();
  kill(workers.front(), SIGKILL);  // its successor has to find the server again
  BOOST_TEST(eventually([&] {
    const std::vector<pid_t> now = fleet.brood.workers();
    return now.size() == 2 && std::find(now.begin(), now.end(), workers.front()) == now.end();
  }));
  const std::size_t before = fleet.ledger.done().size();
  BOOST_TEST(eventually([&] { return fleet.ledger.done().size() > before + 200; }, 20s), fleet.brood.log_tail());

  for (std::size_t i = 0; i < 3; ++i) fleet.redis.sentinel(i).start();
  fleet.redis.server(0).kill9();
  BOOST_TEST((fleet.time_until_work(fleet.redis.server(0)) < longest_on_a_busy_machine), fleet.brood.log_tail());
  fleet.judge(3);
}

BOOST_AUTO_TEST_CASE(without_replicas_a_fleet_goes_on_as_long_as_the_sentinels_name_its_master_and_says_so) {
  SentinelSetup redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(
      {.workers = 2, .config = "[redis]\nurl = \"" + redis.url() + "\"\nwait = 1\nwait_timeout = \"100ms\"\n"});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  redis.server(1).pause();
  redis.server(2).pause();
  enqueue_ledger_jobs(redis.server(0), ledger.path(), 20, 10);

  BOOST_TEST(eventually([&] { return ledger.has_done(20); }, 30s), brood.log_tail());
  BOOST_TEST(contains(brood.log(), "event=replicas_do_not_confirm"), brood.log_tail());
  const std::string metrics =
      run_brood({"status", "--format", "prometheus", "--redis", redis.url()}, brood.environment()).output;
  BOOST_TEST(contains(metrics, "brood_settles_unconfirmed_total{identity="), metrics);
  const CommandResult pushed =
      run_brood({"enqueue", "Hello"},
                {{"BROOD_REDIS_URL", redis.url()}, {"BROOD_REDIS_WAIT", "1"}, {"BROOD_REDIS_WAIT_TIMEOUT_MS", "100"}});
  BOOST_TEST(pushed.status == EX_UNAVAILABLE, pushed.errors);
  BOOST_TEST(contains(pushed.errors, "pushed, but only 0 of 1 replicas confirmed it"), pushed.errors);
  redis.server(1).resume();
  redis.server(2).resume();
  BOOST_TEST(ledger.judge(20).doubled.empty());
}

BOOST_AUTO_TEST_CASE(what_the_sentinels_refuse_is_refused_at_the_start) {
  SentinelSetup redis({.password = "hunter2", .sentinel_password = "secret"});
  const TemporaryDirectory directory;
  const std::string wrong = directory.write("wrong", "wrong\n"), right = directory.write("right", "secret\n");
  const std::string unknown = redis.url().substr(0, redis.url().rfind('/')) + "/nobody";
  struct Refusal {
    std::string config, sentence;
  };
  const auto config = [](const std::string& url, const std::string& file) {
    return "[redis]\nurl = \"" + url + "\"\ngive_up_after = \"1s\"\n" +
           (file.empty() ? "" : "[redis.sentinel]\npassword_file = \"" + file + "\"\n");
  };
  for (const auto& [toml, sentence] :
       {Refusal{config(redis.url(), ""), "NOAUTH"}, Refusal{config(redis.url(), wrong), "WRONGPASS"},
        Refusal{config(unknown, right), "no master by the name nobody"}}) {
    const std::string file = directory.write("brood.toml", toml);
    const CommandResult check = run_brood({"run", "--check", "-C", file});
    BOOST_TEST(check.status == EX_TEMPFAIL, sentence + check.errors);
    BOOST_TEST(contains(check.errors, sentence), check.errors);
    BroodProcess brood({.workers = 1, .config = toml});
    BOOST_TEST(brood.wait_exit(30s).value_or(-1) == EX_TEMPFAIL, sentence + brood.log_tail());
    BOOST_TEST(contains(brood.log(), "event=redis_given_up"), brood.log_tail());
    BOOST_TEST(contains(brood.log(), sentence), brood.log_tail());
    BOOST_TEST(!contains(brood.log(), "hunter2"), brood.log_tail());
  }

  const std::string file = directory.write("brood.toml", config(redis.url(), right));
  const CommandResult check = run_brood({"run", "--check", "-C", file});
  BOOST_TEST(check.status == 0, check.errors);
  BOOST_TEST(contains(check.output, "version"), check.output);
  BOOST_TEST(!contains(check.output, "secret"), check.output);

  // The start waits for a sentinel that does not answer.
  for (std::size_t i = 0; i < 3; ++i) redis.sentinel(i).kill9();
  const CommandResult away = run_brood({"run", "--check", "-C", file});
  BOOST_TEST(away.status == 0, away.errors);
  BOOST_TEST(contains(away.output, "no sentinel answers"), away.output);
}

BOOST_AUTO_TEST_CASE(commands_find_the_master_by_its_sentinels) {
  SentinelSetup redis;
  const CommandResult pushed = run_brood({"enqueue", "Anything", "--redis", redis.url()});
  BOOST_TEST(pushed.status == 0, pushed.errors);
  BOOST_TEST(redis.server(0).size_of("queue:default") == 1U);
  BOOST_REQUIRE(redis.server(0).command({"FAILOVER"}).view().text() == "OK");
  redis.master(&redis.server(0));
  BOOST_TEST(eventually([&] { return !redis.is_master(redis.server(0)); }));

  const CommandResult queues = run_brood({"queues", "--redis", redis.url()});

  BOOST_TEST(queues.status == 0, queues.errors);
  BOOST_TEST(contains(queues.output, "default"), queues.output);
}
