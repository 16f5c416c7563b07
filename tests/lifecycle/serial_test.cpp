#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/storm.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// Two overlapping runs of a serial queue; empty if there are none.  A run that was cut off counts only with its
// beginning, since its end was not noted.
std::string overlap(const Ledger& ledger) {
  std::int64_t busy_until = 0;
  std::string last;
  for (const Ledger::Run& run : ledger.runs()) {
    if (run.began < busy_until) return run.id + " began while " + last + " ran";
    busy_until = run.ended.value_or(run.began);
    last = run.id;
  }
  return "";
}

std::vector<std::string> order_of_ends(const Ledger& ledger) {
  std::vector<std::string> ids;
  for (const Ledger::Run& run : ledger.runs()) {
    if (run.ended) ids.push_back(run.id);
  }
  return ids;
}

std::vector<std::string> numbers(int count) {
  std::vector<std::string> ids;
  for (int i = 0; i < count; ++i) ids.push_back(std::to_string(i));
  return ids;
}

const BroodOptions serial{.workers = 3, .sets_workers = false, .config = R"(
concurrency = 2
poll_interval = "50ms"
[capsules.serial]
concurrency = 1
queues = ["serial"]
)"};

// The jobs that were charged with the death of their worker, by the log.
std::set<std::string> ids_of_charged(const std::string& log) {
  std::set<std::string> ids;
  // The worker's record of its job may be incomplete if it is killed while writing it.
  const std::regex crash("event=(?:worker_crashed .* |job_crashed )jid=([0-9a-f]{24})");
  for (std::sregex_iterator found(log.begin(), log.end(), crash), end; found != end; ++found)
    ids.insert(std::to_string(std::stoi((*found)[1], nullptr, 16) - 1));
  return ids;
}

// The runs before and after this job's first one.
std::string runs_around(const Ledger& ledger, const std::string& id) {
  const std::vector<Ledger::Run> runs = ledger.runs();
  const auto run = std::find_if(runs.begin(), runs.end(), [&](const Ledger::Run& one) { return one.id == id; });
  std::string text;
  for (auto near = run - std::min<std::ptrdiff_t>(run - runs.begin(), 20); near != runs.end() && near - run < 20;
       ++near)
    text += "job " + near->id + " of worker " + std::to_string(near->pid) + " began " + std::to_string(near->began) +
            (near->ended ? "\n" : ", cut off\n");
  return text;
}

// The log without the lines about jobs.
std::string without_runs(const std::string& log) {
  std::istringstream lines(log);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("event=job_started") == line.npos && line.find("event=job_done") == line.npos) text += line + "\n";
  }
  return text;
}

// A `brood` command that must succeed.
void order(const BroodProcess& brood, const std::vector<std::string>& words) {
  const CommandResult result = run_brood(words, brood.environment());
  BOOST_TEST(result.status == 0, result.errors << brood.log_tail());
}

}  // namespace

BOOST_AUTO_TEST_CASE(restarts_and_upgrades_under_load_keep_a_serial_queue_in_order_one_job_at_a_time) {
  RedisServer redis;
  Load load{redis, "serial", 3};
  const BroodProcess brood(redis, serial);
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  for (int round = 0; round < 5; ++round) {
    load.keep_up();
    order(brood, {"restart"});
    load.keep_up();
    order(brood, {round % 2 == 0 ? "upgrade" : "restart"});
  }
  const auto all_done = [&] { return load.ledger.has_done(static_cast<std::size_t>(load.jobs)); };
  BOOST_REQUIRE_MESSAGE(eventually(all_done, 60s), brood.log_tail());

  BOOST_TEST(overlap(load.ledger) == "");
  BOOST_TEST(order_of_ends(load.ledger) == numbers(load.jobs), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_serial_capsule_waits_for_the_job_of_its_old_worker_and_goes_on_the_moment_that_it_ends) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  const BroodProcess brood(redis, serial);
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  enqueue_ledger_jobs(redis, ledger.path(), 1, 20'000, "serial");
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.runs().size() == 1; }), brood.log_tail());
  std::vector<std::string> more;
  for (int i = 1; i <= 20; ++i)
    more.push_back(payload_text("Ledger", "[\"" + ledger.path() + "\",\"" + std::to_string(i) + "\",1]", i));
  enqueue(redis, more, "serial");

  order(brood, {"restart"});
  order(brood, {"upgrade"});
  BOOST_TEST(!ledger.runs().front().ended);  // otherwise the orders came too late to prove anything
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(21); }, 30s), brood.log_tail());
  BOOST_TEST(overlap(ledger) == "");
  BOOST_TEST(order_of_ends(ledger) == numbers(21), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_capsule_that_is_made_serial_begins_nothing_more_beside_what_ran) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  const BroodProcess brood(redis, serial);
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  order(brood, {"scale", "serial=3"});
  // The remaining worker may have the shortest of these three.  None ends before the order is answered.
  for (const int milliseconds : {4'000, 6'000, 6'000})
    enqueue_ledger_jobs(redis, ledger.path(), 1, milliseconds, "serial");
  BOOST_REQUIRE(eventually([&] { return ledger.runs().size() == 3; }));
  enqueue_ledger_jobs(redis, ledger.path(), 30, 5, "serial");
  order(brood, {"scale", "serial=1"});
  const auto scaled = std::chrono::steady_clock::now().time_since_epoch().count();
  enqueue_ledger_jobs(redis, ledger.path(), 10, 1, "serial");  // in case a slow machine has done all those by now

  BOOST_REQUIRE_MESSAGE(eventually([&] { return no_job_is_left(redis, "serial"); }, 30s), brood.log_tail());
  const std::vector<Ledger::Run> runs = ledger.runs();
  int later = 0;
  for (const Ledger::Run& run : runs) {
    if (run.began < scaled) continue;
    ++later;
    for (const Ledger::Run& other : runs) {
      const bool beside = &other != &run && other.began <= run.began && other.ended.value_or(run.began) > run.began;
      BOOST_TEST(!beside, "job " << run.id << " began beside job " << other.id);
    }
  }
  BOOST_TEST(later > 0);
}

BOOST_AUTO_TEST_CASE(kills_leave_a_serial_capsule_serial_and_what_was_not_begun_in_order) {
  RedisServer redis;
  Dice dice;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  constexpr int jobs = 3'000;
  const BroodProcess brood(redis, serial);
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  enqueue_ledger_jobs(redis, ledger.path(), jobs, 2, "serial");
  for (int round = 0; round < 20 && redis.size_of("queue:serial") > 200; ++round) {
    const std::size_t before = ledger.runs().size();
    BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.runs().size() > before + 20; }, 30s), brood.log_tail());
    if (round % 3 == 1) brood.signal(SIGHUP);
    std::this_thread::sleep_for(std::chrono::milliseconds(dice.roll(0, 30)));  // chance decides where in its job
    const std::vector<Ledger::Run> runs = ledger.runs();
    kill(runs.back().pid, SIGKILL);
  }
  BOOST_REQUIRE_MESSAGE(eventually(
                            [&] {
                              make_retries_due(redis);
                              return ledger.has_done(jobs) && jobs_in_flight(redis) == 0;
                            },
                            90s),
                        brood.log_tail());

  BOOST_TEST(overlap(ledger) == "");
  // Runs that were cut off are repeated later, even if they had not noted their beginning.  All others ran once, in
  // order.
  std::set<std::string> seen, charged = ids_of_charged(brood.log());
  for (const Ledger::Run& run : ledger.runs()) {
    if (!seen.insert(run.id).second || !run.ended) charged.insert(run.id);
  }
  std::vector<int> others;
  for (const Ledger::Run& run : ledger.runs()) {
    if (!charged.contains(run.id)) others.push_back(std::stoi(run.id));
  }
  const auto late = std::is_sorted_until(others.begin(), others.end());
  BOOST_TEST((late == others.end()), "job " << (late == others.end() ? -1 : *late) << " ran late\n"
                                            << runs_around(ledger, late == others.end() ? "" : std::to_string(*late))
                                            << without_runs(brood.log()));
  BOOST_TEST(others.size() + charged.size() == static_cast<std::size_t>(jobs));
  BOOST_TEST(charged.size() <= 40U);
}
