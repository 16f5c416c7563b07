#include <boost/test/unit_test.hpp>

#include <map>
#include <set>

#include "shared/job/payload.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/storm.hpp"

// Jobs that fail are settled with their batch, as good jobs are.  If their worker ends before that, each is charged
// once, for its own failure.
using namespace brood;
using namespace std::chrono_literals;

namespace {

BroodOptions options(int workers) {
  return {.workers = workers,
          .libraries = {BROOD_BINARY_DIR "/tests/job_libraries/libmenagerie_jobs.so"},
          .config = "poll_interval = \"24h\"\n"};  // no retry comes due meanwhile
}

// Pushes all jobs before the first is fetched.
void enqueue_at_once(RedisServer& redis, const std::vector<std::string>& payloads) {
  enqueue(redis, payloads, "aside");
  redis.command({"RENAME", "queue:aside", "queue:default"});
}

struct Records {
  std::map<std::string, int> error_classes;  // number of jobs that failed with it
  std::set<std::string> jids;
  int charged_twice = 0, said_to_have_crashed = 0;
};
Records records_in(RedisServer& redis, const std::string& set) {
  Records records;
  for (const auto& [text, score] : redis.zrange(set)) {
    const Payload job = Payload::parse(text);
    ++records.error_classes[job.string("error_class").value_or("")];
    records.jids.insert(job.jid());
    records.charged_twice += job.integer("retry_count") != 0;
    records.said_to_have_crashed += job.integer("crash_count").has_value();
  }
  return records;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_crash_is_charged_to_none_of_those_that_have_failed_before_it_in_the_same_batch) {
  constexpr int crashes = 4, failures_between = 70;
  RedisServer redis;
  BroodProcess brood(redis, options(1));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  std::vector<std::string> payloads;
  for (int i = 0; i < crashes * (failures_between + 1); ++i)
    payloads.push_back(
        payload_text("FailOrCrash", (i + 1) % (failures_between + 1) == 0 ? "[true]" : "[false]", i + 1));

  enqueue_at_once(redis, payloads);

  BOOST_TEST(eventually([&] { return redis.size_of("retry") == payloads.size(); }, 120s), brood.log_tail());
  const Records records = records_in(redis, "retry");
  BOOST_TEST((records.error_classes ==
              std::map<std::string, int>{{"SIGSEGV", crashes}, {"std::runtime_error", crashes * failures_between}}),
             brood.log_tail());
  BOOST_TEST(records.said_to_have_crashed == crashes);
  BOOST_TEST(records.charged_twice == 0);
  BOOST_TEST(records.jids.size() == payloads.size());
  BOOST_TEST(times_logged(brood, "job_failed") == static_cast<std::size_t>(crashes * failures_between));
  // Some of them had not been settled when the worker crashed.
  BOOST_TEST(sum_logged(brood, "worker_recovered", "charged") > crashes);
}

BOOST_AUTO_TEST_CASE(failing_jobs_amid_kills_of_workers_and_supervisors_are_lost_never_and_charged_once) {
  constexpr int workers = 3, workers_killed = 24, supervisors_killed = 4, kills = workers_killed + supervisors_killed;
  const int jobs = 6'000;
  RedisServer redis;
  Dice dice;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, options(workers));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  std::vector<std::string> payloads;
  for (int i = 0; i < jobs; ++i)  // without a retry: the first charge is the last
    payloads.push_back(payload_text("FailInLedger", "[\"" + ledger.path() + "\",\"" + std::to_string(i) + "\"]", i + 1,
                                    R"("retry":0)"));

  enqueue_at_once(redis, payloads);
  KilledWorkers killed;
  for (int i = 1; i <= kills; ++i) {
    const auto left = static_cast<std::size_t>(jobs - jobs / (kills + 2) * i);
    BOOST_TEST_REQUIRE(queue_falls_to(redis, left), brood.log_tail());
    if (i % (kills / supervisors_killed) == 0) {
      brood.kill9();
      brood.start();
      continue;
    }
    BOOST_TEST_REQUIRE(kill_a_worker(brood, dice, killed), brood.log_tail());
  }
  BOOST_TEST(eventually([&] { return redis.size_of("dead") >= payloads.size() && no_job_is_left(redis); }, 120s),
             brood.log_tail());
  BOOST_TEST(stop_when_up(brood) == 0, brood.log_tail());

  Records records = records_in(redis, "dead");
  BOOST_TEST(redis.size_of("dead") == payloads.size());
  BOOST_TEST(records.jids.size() == payloads.size());
  BOOST_TEST(records.charged_twice == 0);
  // A killed worker was in at most one job: all earlier failures in its batch have their own error.
  const int by_kill = records.error_classes["SIGKILL"];
  BOOST_TEST(by_kill <= static_cast<int>(killed.size()));
  BOOST_TEST(records.error_classes["std::runtime_error"] == jobs - by_kill);
  BOOST_TEST(records.said_to_have_crashed == by_kill);
  // Only jobs that ran when their supervisor died, and their workers with it, run again.
  int begun_again = 0;
  for (const auto& [id, times] : ledger.begun()) begun_again += times - 1;
  BOOST_TEST(begun_again <= workers * supervisors_killed);
  BOOST_TEST_MESSAGE(jobs << " failing jobs, " << killed.size() << " workers and " << supervisors_killed
                          << " supervisors killed: " << by_kill << " charged with the kill, " << begun_again
                          << " begun again, " << sum_logged(brood, "worker_recovered", "charged")
                          << " charged by a recovery");
}
