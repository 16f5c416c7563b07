#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/census.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/storm.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// All processes below the supervisor: workers, the copies that they fork jobs from, and the jobs.
std::vector<pid_t> family_of(pid_t parent, const std::string& title) {
  std::vector<pid_t> found;
  for (const pid_t child : children_of(parent)) {
    std::ifstream file("/proc/" + std::to_string(child) + "/cmdline");
    std::string name;
    std::getline(file, name, '\0');
    if (name.starts_with(title)) found.push_back(child);
    for (const pid_t grandchild : family_of(child, title)) found.push_back(grandchild);
  }
  return found;
}

bool kill_one(const BroodProcess& brood, const std::string& title, Dice& dice) {
  return eventually([&] {
    const std::vector<pid_t> family = family_of(brood.pid(), title);
    if (family.empty()) return false;
    return kill(family[static_cast<std::size_t>(dice.roll(0, static_cast<int>(family.size()) - 1))], SIGKILL) == 0;
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(kills_of_jobs_processes_of_their_forkers_of_workers_and_of_supervisors_lose_no_isolated_job) {
  const int jobs = 1'500 * storm_factor(), kills = 40;
  RedisServer redis;
  Dice dice;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = 3,
                             .config = "poll_interval = \"100ms\"\n[worker]\nmax_crashes = 1000\n"
                                       "[classes.Ledger]\nisolation = \"process\"\n"});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  enqueue_ledger_jobs(redis, ledger.path(), jobs, 2);

  const std::vector<std::string> whom{"brood: job ", "brood: forker ", "brood: worker "};
  for (int i = 1; i <= kills; ++i) {
    BOOST_TEST_REQUIRE(queue_falls_to(redis, static_cast<std::size_t>(jobs - jobs / (kills + 2) * i)),
                       brood.log_tail());
    if (i % 8 == 0) {
      brood.kill9();
      brood.start();
    } else {
      BOOST_TEST_REQUIRE(kill_one(brood, whom[static_cast<std::size_t>(dice.roll(0, 2))], dice), brood.log_tail());
    }
  }
  BOOST_TEST(drained(redis), brood.log_tail());
  BOOST_TEST(stop_when_up(brood) == 0, brood.log_tail());

  BOOST_TEST(redis.size_of("dead") == 0U);
  BOOST_TEST(Census(redis).misplaced(ledger, jobs) == "");
  const Ledger::Verdict verdict = ledger.judge(jobs);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.unexpected.empty());
  BOOST_TEST(verdict.overlapped == std::vector<std::string>{}, boost::test_tools::per_element());
  // Each killed worker, and each worker of a killed supervisor, may have had one ended job that it had not noted yet.
  BOOST_TEST(static_cast<int>(verdict.doubled.size()) <= kills + 3 * kills / 8);
  BOOST_TEST_MESSAGE(jobs << " isolated jobs, " << verdict.doubled.size() << " done twice, seed " << dice.seed());
}
