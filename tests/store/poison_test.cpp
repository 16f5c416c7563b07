#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>

#include "shared/base/log.hpp"
#include "shared/base/paths.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/keys.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/statsd_receiver.hpp"
#include "tests/support/temporary_directory.hpp"
#include "worker/recovery/charge_and_return_jobs.hpp"

using namespace brood;

// Jobs that went to the dead set because they crashed their workers are reported to StatsD as jobs.poison.
namespace {

const std::string identity = "host:4711:0123456789ab";

struct Recovery {
  RedisServer redis;
  StatsdReceiver receiver;
  TemporaryDirectory directory;
  Config config;
  WorkerDeath death;

  Recovery() {
    log::open({.file = directory / "log"});
    config.statsd.address = receiver.address();
    config.worker.max_crashes = 1;
    death.worker.identity = identity;
    death.worker.incarnation = 1;
    death.worker.record = DeadWorker::Record{3, {EntryState::running}};
    death.cause = WorkerDeath::Cause{"SIGSEGV", "SIGSEGV (SEGV_MAPERR) at 0x10"};
    death.cause->facts = CrashFacts{};
    death.cause->facts->signal = SIGSEGV;
  }
  void recover(const std::vector<std::string>& payloads, RecoveryMode mode = RecoveryMode::full) {
    redis.command({"HSET", keys::in_flight_hash(identity), "0.1", "3 mails"});
    for (const std::string& payload : payloads)
      redis.command({"LPUSH", keys::in_flight_list(identity, "0.1", "mails"), payload});
    BOOST_TEST(run_recovery_child({death}, mode, config, redis.address()) == 0);
    BOOST_TEST(jobs_in_flight(redis) == 0U);
  }
  double poison(const std::string& job_class) {
    return receiver.sum("sidekiq.jobs.poison", "worker:" + job_class + ",queue:mails");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_job_that_crashed_its_workers_too_often_is_counted_when_it_is_dead, Recovery) {
  config.worker.max_crashes = 2;
  recover({payload_text("Segfault", "[]", 1)});
  BOOST_TEST(receiver.sum("sidekiq.jobs.poison") == 0);
  recover({payload_text("Segfault", "[]", 1, R"("retry_count":0,"crash_count":1)")});
  BOOST_TEST(redis.size_of("dead") == 1u);
  BOOST_TEST(poison("Segfault") == 1);
  BOOST_TEST(receiver.sum("sidekiq.jobs.poison") == 1, receiver.text());
  BOOST_TEST(receiver.sum("sidekiq.jobs.recovered.fetch") == 2, receiver.text());
}

BOOST_FIXTURE_TEST_CASE(a_job_whose_recovery_crashed_too_is_counted, Recovery) {
  config.worker.max_crashes = 5;
  recover({payload_text("Segfault", "[]", 1)}, RecoveryMode::move_to_dead);
  BOOST_TEST(redis.size_of("dead") == 1u);
  BOOST_TEST(poison("Segfault") == 1);
}

BOOST_FIXTURE_TEST_CASE(a_crash_of_a_job_that_is_stored_nowhere_or_was_ended_by_hand_is_not_counted, Recovery) {
  recover({payload_text("Segfault", "[]", 1, R"("retry":false)")});
  recover({payload_text("Segfault", "[]", 2, R"("dead":false)")});
  death.fate = WorkerDeath::Fate::dead;
  recover({payload_text("Segfault", "[]", 3)});
  BOOST_TEST(redis.size_of("dead") == 1u);
  BOOST_TEST(receiver.sum("sidekiq.jobs.recovered.fetch") == 3);
  BOOST_TEST(receiver.sum("sidekiq.jobs.poison") == 0, receiver.text());
}

BOOST_FIXTURE_TEST_CASE(of_jobs_that_take_their_supervisor_down_each_is_counted, Recovery) {
  death.worker.record.reset();
  death.cause.reset();
  death.cause_unknown = true;
  const std::vector<std::string> jobs{payload_text("Greet", "[]", 1), payload_text("Greet", "[]", 2),
                                      payload_text("Fail", "[]", 3)};
  for (int times = 0; times < 3; ++times) {
    BOOST_TEST(receiver.sum("sidekiq.jobs.poison") == 0);
    redis.command({"DEL", "queue:mails"});
    recover(jobs);
  }
  BOOST_TEST(redis.size_of("dead") == 3u);
  BOOST_TEST(poison("Greet") == 2, receiver.text());
  BOOST_TEST(poison("Fail") == 1, receiver.text());
}

// Monitoring counts each job that goes to the dead set, not only those that crash their workers.
BOOST_FIXTURE_TEST_CASE(every_job_that_a_recovery_moves_to_dead_has_died, Recovery) {
  setenv("RUNTIME_DIRECTORY", directory.path().c_str(), 1);
  const Scoreboard board = Scoreboard::create(runtime_directory(), identity, 1);
  const auto died = [&] { return board.usage().died.load(); };
  recover({"no job \x01"});
  BOOST_TEST(redis.size_of("dead") == 1u);
  BOOST_TEST(died() == 1u);
  config.worker.max_crashes = 5;
  recover({payload_text("Segfault", "[]", 1)});
  BOOST_TEST(died() == 1u);
  recover({payload_text("Segfault", "[]", 2)}, RecoveryMode::move_to_dead);
  BOOST_TEST(died() == 2u);

  death.fate = WorkerDeath::Fate::dead;
  recover({payload_text("Segfault", "[]", 3)});
  death.fate.reset();
  BOOST_TEST(died() == 2u);

  death.cause = WorkerDeath::Cause{"JobTimeout", "ran for more than 1s", false};
  recover({payload_text("Sleep", "[]", 4, R"("retry":0)")});
  BOOST_TEST(died() == 3u);

  death.worker.record.reset();
  death.cause.reset();
  death.cause_unknown = true;
  for (int times = 0; times < 3; ++times) {
    redis.command({"DEL", "queue:mails"});
    recover({"no job at all"});
  }
  BOOST_TEST(died() == 4u);
  BOOST_TEST(redis.size_of("dead") == 5u);
  unsetenv("RUNTIME_DIRECTORY");
}
