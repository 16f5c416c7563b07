#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <optional>
#include <set>
#include <thread>

#include "tests/support/brood_process.hpp"
#include "tests/support/census.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/redis_clients.hpp"
#include "tests/support/tcp_proxy.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

BroodOptions behind(const TcpProxy& proxy, int workers) {
  return {.workers = workers, .config = "poll_interval = \"1s\"\n", .arguments = {"--redis", proxy.url()}};
}

// A brood that reaches its Redis over an unreliable network, with jobs waiting.  If `milliseconds_each` is nullopt,
// they come with begin().
struct Site {
  explicit Site(int jobs_to_do, std::optional<int> milliseconds_each, int workers = 4)
      : jobs(jobs_to_do), brood(behind(proxy, workers)) {
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
    if (milliseconds_each) begin(*milliseconds_each);
  }

  void begin(int milliseconds_each) { enqueue_ledger_jobs(redis, ledger.path(), jobs, milliseconds_each); }
  bool finished() {
    make_retries_due(redis);
    return redis.size_of("queue:default") == 0 && ledger.has_done(static_cast<std::size_t>(jobs));
  }
  std::size_t done() const { return ledger.done().size(); }

  const int jobs;
  RedisServer redis;
  TcpProxy proxy{redis.socket_path(), TcpProxy::Listen::tcp};
  TemporaryDirectory directory;
  Ledger ledger{directory / "ledger"};
  BroodProcess brood;
};

// The ids of the workers' connections to Redis.
std::set<std::string> worker_connections(RedisServer& redis) {
  std::set<std::string> ids;
  for (const RedisClient& worker : RedisClient::of(redis, "brood-worker-")) ids.insert(worker.id);
  return ids;
}

// Nothing is lost and no job overlaps itself.  At the end only the counters are left.
void check_end(Site& site, int kills, long least_counted = 1) {
  BOOST_REQUIRE_MESSAGE(eventually([&] { return site.finished(); }, 150s), site.brood.log_tail());
  site.brood.term();
  BOOST_TEST(site.brood.wait_exit().value_or(-1) == 0, site.brood.log_tail());

  const Ledger::Verdict verdict = site.ledger.judge(site.jobs);
  BOOST_TEST(verdict.lost.size() == 0U);
  BOOST_TEST(verdict.unexpected.size() == 0U);
  BOOST_TEST(verdict.overlapped.size() == 0U);
  BOOST_TEST(verdict.doubled.size() <= static_cast<std::size_t>(kills));  // for each kill one that was not noted
  BOOST_TEST(jobs_in_flight(site.redis) == 0U);
  BOOST_TEST(site.redis.size_of("brood:processes") == 0U);
  BOOST_TEST(site.redis.size_of("dead") == 0U);
  for (const std::string& key : site.redis.keys("brood:inflight:*"))
    BOOST_TEST(site.redis.command({"TYPE", key}).view().text() == "string", key);  // a tombstone

  // A count with an unknown outcome is not repeated, so the total may be lower than the number of runs.  A worker that
  // was killed at the start of a job has counted it, but not recorded it.
  const long processed = std::stol(site.redis.get("stat:processed").value_or("0"));
  BOOST_TEST(processed >= least_counted);
  BOOST_TEST(processed <= static_cast<long>(site.ledger.runs().size()) + kills);
}

}  // namespace

BOOST_AUTO_TEST_CASE(connections_reset_at_random_points_lose_and_double_nothing) {
  Dice dice;
  Site site(5000, 2);
  int cuts = 0;
  for (const auto end = Clock::now() + 6s; (Clock::now() < end || cuts <= 20) && !site.ledger.has_done(4500);) {
    const std::size_t before = site.proxy.accepted();
    // 0 bytes further: before the request, or between its effect and its reply.
    const auto bytes = static_cast<std::size_t>(std::max(0, dice.roll(-300, 700)));
    switch (dice.roll(0, 9)) {
      case 0:
        site.proxy.reset_connections();
        break;
      case 1:
      case 2:
      case 3:
      case 4:
        site.proxy.cut_requests_after(bytes);
        break;
      default:
        site.proxy.cut_replies_after(bytes);
        break;
    }
    cuts += within(500ms, [&] { return site.proxy.accepted() > before; });
  }
  BOOST_TEST((cuts > 20 || site.ledger.has_done(4500)));

  check_end(site, 0, 0);  // each count may have lost its answer
}

BOOST_AUTO_TEST_CASE(random_kills_of_workers_meanwhile_cost_each_the_job_in_hand) {
  Dice dice;
  Site site(5000, 2);
  int kills = 0;
  for (const auto end = Clock::now() + 6s; (Clock::now() < end || kills <= 10) && !site.ledger.has_done(4500);) {
    dice.roll(0, 1) == 0 ? site.proxy.cut_requests_after(static_cast<std::size_t>(dice.roll(0, 700)))
                         : site.proxy.cut_replies_after(static_cast<std::size_t>(dice.roll(0, 700)));
    const std::size_t done = site.done();
    within(300ms, [&] { return site.done() > done + static_cast<std::size_t>(dice.roll(1, 60)); });
    const std::vector<pid_t> workers = site.brood.workers();
    if (workers.empty()) continue;
    kills += kill(workers[static_cast<std::size_t>(dice.roll(0, static_cast<int>(workers.size()) - 1))], SIGKILL) == 0;
    make_retries_due(site.redis);
  }
  BOOST_TEST((kills > 10 || site.ledger.has_done(4500)));

  check_end(site, kills);
  BOOST_TEST(times_logged(site.brood, "job_crashed") <= static_cast<std::size_t>(kills), site.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(at_every_instant_of_a_faulty_run_each_job_is_in_one_place) {
  Dice dice;
  Site site(6000, 2);
  int looks = 0, restarts = 0;
  for (const auto end = Clock::now() + 8s; (Clock::now() < end || looks <= 5) && !site.ledger.has_done(5500);) {
    BOOST_REQUIRE_EQUAL(Census(site.redis).misplaced(site.ledger, site.jobs), "");
    ++looks;
    const std::vector<pid_t> workers = site.brood.workers();
    if (dice.roll(0, 2) == 0 && !workers.empty())
      kill(workers[static_cast<std::size_t>(dice.roll(0, static_cast<int>(workers.size()) - 1))], SIGKILL);
    // The more processes Redis knows, including dead ones, the longer the schedulers rest between their looks.
    if (dice.roll(0, 15) == 0 && restarts < 6) {
      ++restarts;
      kill_with_workers(site.brood);
      site.brood.start();
    }
    site.proxy.cut_replies_after(static_cast<std::size_t>(dice.roll(0, 400)));
    make_retries_due(site.redis);
  }
  BOOST_TEST((looks > 5 || site.ledger.has_done(5500)));

  // A job that ran at three of these ends, or crashed three workers, is in `dead`, as intended.
  const auto all_are_done_or_dead = [&] {
    make_retries_due(site.redis);
    return site.redis.size_of("queue:default") == 0 && site.redis.size_of("retry") == 0 &&
           site.done() + site.redis.size_of("dead") >= static_cast<std::size_t>(site.jobs);
  };
  const bool ended = eventually(all_are_done_or_dead, 40s);
  BOOST_REQUIRE_MESSAGE(ended, site.done() << " done, " << site.redis.size_of("dead") << " dead, "
                                           << site.redis.size_of("retry") << " in retry, "
                                           << site.redis.size_of("queue:default") << " queued, "
                                           << jobs_in_flight(site.redis) << " in flight\n"
                                           << site.brood.log_tail());
  BOOST_TEST(eventually([&] { return jobs_in_flight(site.redis) == 0; }), site.brood.log_tail());
}

// A command whose client has given up may still arrive.  A late reply may have been the only answer to a fetch.
BOOST_AUTO_TEST_CASE(a_direction_that_stands_still_beyond_the_deadline_loses_and_doubles_nothing) {
  Site late_requests(8'000, std::nullopt, 2), late_replies(8'000, std::nullopt, 2);
  late_requests.begin(2);
  late_replies.begin(2);
  const auto under_load = [&] { return late_requests.done() > 100 && late_replies.done() > 100; };
  BOOST_REQUIRE(eventually(under_load, 20s));
  BOOST_REQUIRE(late_requests.redis.size_of("queue:default") > 1000);  // a worker that waits for jobs gives up nothing
  BOOST_REQUIRE(late_replies.redis.size_of("queue:default") > 1000);
  const std::set<std::string> before_requests = worker_connections(late_requests.redis),
                              before_replies = worker_connections(late_replies.redis);

  late_requests.proxy.stall_requests();
  late_replies.proxy.stall_replies();
  std::this_thread::sleep_for(20s);  // a worker waits ten seconds for a reply, and may send its request late
  late_requests.proxy.stall_requests(false);
  late_replies.proxy.stall_replies(false);

  const auto others = [](Site& site, const std::set<std::string>& before) {
    const std::set<std::string> now = worker_connections(site.redis);
    return now.size() == before.size() &&
           std::none_of(now.begin(), now.end(), [&](const std::string& id) { return before.contains(id); });
  };
  BOOST_TEST(eventually([&] { return others(late_requests, before_requests) && others(late_replies, before_replies); }),
             "no worker gave up");
  check_end(late_requests, 0);
  check_end(late_replies, 0);
}

BOOST_AUTO_TEST_CASE(a_network_that_delays_and_passes_single_bytes_only_slows_the_work) {
  Site site(400, 0, 2);
  site.proxy.split_into(1);
  const std::size_t before = site.done();
  BOOST_TEST(eventually([&] { return site.done() >= before + 2; }, 60s), site.brood.log_tail());
  site.proxy.split_into(100);
  site.proxy.delay(20ms);
  const std::size_t then = site.done();
  BOOST_TEST(eventually([&] { return site.done() >= then + 20; }, 60s), site.brood.log_tail());
  site.proxy.split_into(0);
  site.proxy.delay(0ms);

  check_end(site, 0, 0);  // all may have run while no answer to a count came in time
}

BOOST_AUTO_TEST_CASE(workers_of_a_flushed_redis_say_what_they_dropped_and_go_on) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger lost(directory / "lost"), ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = 4});
  enqueue_ledger_jobs(redis, lost.path(), 5000, 20);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return lost.done().size() > 50; }, 20s), brood.log_tail());
  const std::vector<pid_t> workers = brood.workers();

  redis.flush();
  enqueue_ledger_jobs(redis, ledger.path(), 500);

  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(500); }, 20s), brood.log_tail());
  // Every form of the status reports this.  A worker that was in a job at the flush may notice it later than the
  // others.
  long dropped = 0;
  std::string json, text, metrics;
  const auto status = [&](const std::string& format) {
    return run_brood({"status", "--format", format, "--redis", redis.url()}, brood.environment()).output;
  };
  const auto all_tell_of_them = [&] {
    dropped = sum_logged(brood, "worker_fenced", "outcomes_dropped");
    const std::string number = std::to_string(dropped);
    json = status("json");
    text = status("text");
    metrics = status("prometheus");
    const std::size_t metric = metrics.find("brood_outcomes_dropped_total{identity=");
    return dropped >= 1 && json.find("\"outcomes_dropped\":" + number + ",\"unconfirmed\":0") != json.npos &&
           text.find(dropped == 1 ? "1 outcome was dropped" : number + " outcomes were dropped") != text.npos &&
           metric != metrics.npos && metrics.find("\"} " + number + "\n", metric) != metrics.npos;
  };
  BOOST_TEST(eventually(all_tell_of_them), json << text << metrics << brood.log_tail());
  BOOST_TEST(dropped <= 4, brood.log_tail());
  BOOST_TEST(ledger.judge(500).doubled.size() == 0U);
  BOOST_TEST(brood.workers() == workers);
  BOOST_TEST(redis.size_of("brood:processes") == 1U);
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(redis.size_of("brood:processes") == 0U);
  BOOST_TEST(jobs_in_flight(redis) == 0U);
}

// A replica that takes over may have missed the last writes: its numbers and jobs are older.
BOOST_AUTO_TEST_CASE(a_redis_that_rolled_back_loses_none_of_the_jobs_that_it_has) {
  constexpr int jobs = 8'000;  // so that workers hold some when Redis is killed
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  enqueue_ledger_jobs(redis, ledger.path(), jobs, 2);
  BroodProcess brood(redis, {.workers = 4});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.done().size() > 300; }, 20s), brood.log_tail());
  BOOST_REQUIRE(!redis.command({"SAVE"}).view().is_error());
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.done().size() > 900; }, 20s), brood.log_tail());
  const std::vector<pid_t> workers = brood.workers();

  redis.restart();  // with the saved data

  BOOST_REQUIRE_MESSAGE(eventually([&] { return no_job_is_left(redis, "default", true); }, 40s), brood.log_tail());
  BOOST_TEST(ledger.judge(jobs).lost.size() == 0U);
  BOOST_TEST(ledger.judge(jobs).overlapped.size() == 0U);
  BOOST_TEST(times_logged(brood, "worker_fenced") >= 1U, brood.log_tail());
  BOOST_TEST(brood.workers() == workers);
}

// As after a failover to a replica that never had data of this brood.
BOOST_AUTO_TEST_CASE(a_redis_that_never_heard_of_these_workers_is_worked_off) {
  constexpr int jobs = 2000;
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  enqueue_ledger_jobs(redis, ledger.path(), jobs, 2);
  BOOST_REQUIRE(!redis.command({"SAVE"}).view().is_error());
  BroodProcess brood(redis, {.workers = 4});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.done().size() > 300; }, 20s), brood.log_tail());

  redis.restart();

  BOOST_REQUIRE_MESSAGE(eventually([&] { return no_job_is_left(redis, "default", true); }, 40s), brood.log_tail());
  BOOST_TEST(ledger.judge(jobs).lost.size() == 0U);
  BOOST_TEST(redis.size_of("brood:processes") == 1U);
  BOOST_TEST(eventually([&] { return redis.size_of("processes") == 1U; }, 15s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(work_goes_on_within_seconds_of_a_killed_redis_that_is_back) {
  RedisServer redis(RedisServer::Options{.append_only = true});
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  enqueue_ledger_jobs(redis, ledger.path(), 100'000, 1);
  BroodProcess brood(redis, {.workers = 4});
  for (int i = 0; i < 3; ++i) {
    const std::size_t waiting = redis.size_of("queue:default");
    BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("queue:default") + 300 < waiting; }, 20s),
                          brood.log_tail());
    redis.restart();
    const std::size_t left = redis.size_of("queue:default");
    BOOST_TEST(eventually([&] { return redis.size_of("queue:default") < left; }, 5s), brood.log_tail());
  }
}
