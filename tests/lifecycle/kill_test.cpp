#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "shared/job/payload.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr const char* grace = "[worker]\ntimeout_grace = \"200ms\"\n";

std::string jid_of(int number) { return *Payload::parse(payload_text("Zip", "[]", number)).string("jid"); }

CommandResult kill_job(const BroodProcess& brood, const std::string& jid, const std::string& outcome = "") {
  std::vector<std::string> arguments = {"kill", jid};
  if (!outcome.empty()) arguments.insert(arguments.end(), {"--outcome", outcome});
  return run_brood(arguments, brood.environment());
}

// A job with a longer timeout than its class, for a slow machine.
std::string stubborn(long number, const std::string& more = "") {
  return payload_text("Stubborn", "[600000]", number, "\"timeout\":600" + (more.empty() ? "" : "," + more));
}

struct Running {
  RedisServer redis;
  TemporaryDirectory directory;
  Ledger ledger{directory / "ledger"};
  BroodProcess brood;

  explicit Running(int workers = 1) : brood(redis, {.workers = workers, .config = grace}) {
    BOOST_REQUIRE_MESSAGE(eventually([&] { return brood.log().find("event=ready") != std::string::npos; }, 30s),
                          brood.log_tail());
  }
  // Starts a job that ignores requests to stop.
  void begin(int number, const std::string& more = "") {
    enqueue(redis, {stubborn(number, more)});
    BOOST_REQUIRE_MESSAGE(
        eventually([&] { return brood.log().find("event=job_started jid=" + jid_of(number)) != std::string::npos; },
                   20s),
        brood.log_tail());
  }
  bool performs(int number) {
    const std::string id = "after" + std::to_string(number);
    enqueue(redis, {payload_text("Ledger", "[\"" + ledger.path() + "\",\"" + id + "\",0]", 500 + number)});
    return eventually([&] { return ledger.done().contains(id); }, 20s);
  }
  bool nothing_is_left() {
    return eventually([&] {
      return jobs_in_flight(redis) == 0 && redis.size_of("retry") == 0 && redis.size_of("dead") == 0 &&
             redis.size_of("queue:default") == 0;
    });
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_killed_job_is_retried_without_being_charged_a_crash) {
  Running running;
  running.begin(1);

  const CommandResult killed = kill_job(running.brood, jid_of(1));

  BOOST_TEST(killed.status == 0, killed.errors << running.brood.log_tail());
  BOOST_TEST(killed.output.starts_with("ended Stubborn " + jid_of(1) + " of worker 0, pid "), killed.output);
  BOOST_TEST(killed.output.ends_with(": it will be retried\n"), killed.output);
  BOOST_TEST_REQUIRE(running.redis.size_of("retry") == 1u, running.brood.log_tail());
  const Payload job = Payload::parse(running.redis.zrange("retry")[0].first);
  BOOST_TEST(*job.string("jid") == jid_of(1));
  BOOST_TEST(!job.raw("crash_count"));
  BOOST_TEST(running.redis.size_of("dead") == 0u);
  BOOST_TEST(running.performs(1), running.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_killed_job_goes_to_the_dead_set_when_that_is_asked_for) {
  Running running;
  running.begin(1);
  BOOST_TEST(kill_job(running.brood, jid_of(1), "dead").status == 0);
  BOOST_TEST_REQUIRE(running.redis.size_of("dead") == 1u, running.brood.log_tail());
  BOOST_TEST(*Payload::parse(running.redis.zrange("dead")[0].first).string("jid") == jid_of(1));
  BOOST_TEST(running.redis.size_of("retry") == 0u);
  BOOST_TEST(running.performs(1), running.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_killed_job_is_gone_when_it_is_to_be_discarded) {
  Running running;
  running.begin(1);
  BOOST_TEST(kill_job(running.brood, jid_of(1), "discard").status == 0);
  BOOST_TEST(jobs_in_flight(running.redis) == 0u);
  BOOST_TEST(running.nothing_is_left(), running.brood.log_tail());
  BOOST_TEST(running.performs(1), running.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(only_the_job_of_that_id_is_ended) {
  Running running(2);
  running.begin(1);
  running.begin(2);
  BOOST_TEST(kill_job(running.brood, jid_of(2), "discard").status == 0);
  BOOST_TEST(eventually([&] { return jobs_in_flight(running.redis) == 1; }), running.brood.log_tail());
  BOOST_TEST(running.performs(1), running.brood.log_tail());
  BOOST_TEST(running.brood.log().find("event=job_started jid=" + jid_of(1)) != std::string::npos);
  BOOST_TEST(kill_job(running.brood, jid_of(1), "discard").status == 0);
  BOOST_TEST(running.nothing_is_left());
}

BOOST_AUTO_TEST_CASE(the_beginning_of_an_id_will_do_when_only_one_running_job_has_it) {
  Running running(2);
  running.begin(1);
  running.begin(20);
  const std::string both = jid_of(20).substr(0, 22), one = jid_of(20).substr(0, 23);

  const CommandResult several = kill_job(running.brood, both, "discard");
  BOOST_TEST(several.status == 64);
  BOOST_TEST(several.errors.starts_with("brood kill: \"" + both + "\" may be any of " + jid_of(1) + ", " + jid_of(20)),
             several.errors);
  BOOST_TEST(kill_job(running.brood, "000", "discard").status == 75);
  BOOST_TEST(jobs_in_flight(running.redis) == 2);

  const CommandResult killed = kill_job(running.brood, one, "discard");
  BOOST_TEST(killed.status == 0, killed.errors);
  BOOST_TEST(killed.output.starts_with("ended Stubborn " + jid_of(20) + " of worker "), killed.output);
  BOOST_TEST(eventually([&] { return jobs_in_flight(running.redis) == 1; }), running.brood.log_tail());
  BOOST_TEST(kill_job(running.brood, one, "discard").status == 75);
  BOOST_TEST(kill_job(running.brood, jid_of(1), "discard").status == 0);
  BOOST_TEST(running.nothing_is_left());
}

BOOST_AUTO_TEST_CASE(a_job_that_has_ended_or_never_was_is_not_running_here) {
  Running running;
  BOOST_TEST(running.performs(1));
  BOOST_TEST(running.nothing_is_left());
  const std::vector<pid_t> workers = running.brood.workers();
  for (const std::string& jid : {jid_of(501), jid_of(7), std::string("no \"jid\"\n"), std::string(70'000, 'x')}) {
    const CommandResult killed = kill_job(running.brood, jid);
    BOOST_TEST((killed.status == 75 || jid.size() > 60'000), killed.errors);
    BOOST_TEST(killed.status != 0);
  }
  BOOST_TEST(running.brood.workers() == workers, boost::test_tools::per_element());
}

// The command names the id while jobs come and go: the kill must hit the job of that id and no other.
BOOST_AUTO_TEST_CASE(a_kill_that_comes_too_late_hits_no_other_job) {
  Running running;
  constexpr int jobs = 60;
  enqueue_ledger_jobs(running.redis, running.ledger.path(), jobs, 20);
  int ended = 0, number = 0;
  for (const std::string& payload : running.redis.lrange("queue:default")) {
    if (number++ % 4 != 0) continue;
    const std::string jid = *Payload::parse(payload).string("jid");
    ended += kill_job(running.brood, jid, "discard").status == 0;
  }
  BOOST_TEST(running.nothing_is_left(), running.brood.log_tail());
  // Each job is done or was ended by hand.  A job that was ended may have been done just before.
  BOOST_TEST(static_cast<int>(running.ledger.done().size()) >= jobs - ended);
  for (const auto& [id, times] : running.ledger.begun()) BOOST_TEST(times == 1, id << " ran " << times << " times");
}

BOOST_AUTO_TEST_CASE(of_two_supervisors_the_one_that_runs_the_job_ends_it) {
  RedisServer redis;
  const auto home = std::make_shared<TemporaryDirectory>();
  BroodProcess first(redis, {.workers = 1, .queues = {"one"}, .config = grace, .home = home});
  BroodProcess second(redis, {.workers = 1, .queues = {"two"}, .config = grace, .home = home});
  enqueue(redis, {stubborn(1)}, "one");
  enqueue(redis, {stubborn(2)}, "two");
  BOOST_REQUIRE_MESSAGE(eventually(
                            [&] {
                              const std::string log = first.log();  // both write to one file
                              return log.find("jid=" + jid_of(1)) != log.npos &&
                                     log.find("jid=" + jid_of(2)) != log.npos;
                            },
                            30s),
                        first.log_tail());

  for (const int number : {2, 1}) {
    BOOST_TEST(kill_job(first, jid_of(number), "dead").status == 0, first.log_tail());
    BOOST_TEST(kill_job(first, jid_of(number), "dead").status == 75);
  }
  BOOST_TEST(eventually([&] { return redis.size_of("dead") == 2; }, 20s), first.log_tail());
}

BOOST_AUTO_TEST_CASE(the_control_socket_is_gone_with_its_supervisor) {
  Running running;
  running.brood.term();
  BOOST_TEST(running.brood.wait_exit().value_or(-1) == 0);
  const CommandResult killed = kill_job(running.brood, jid_of(1));
  BOOST_TEST(killed.status == 69);
  BOOST_TEST(killed.errors.starts_with("brood kill: no supervisor of this user runs on this machine"), killed.errors);
}

BOOST_AUTO_TEST_CASE(an_heir_removes_the_socket_of_a_supervisor_that_was_killed) {
  Running running;
  const auto sockets = [&] {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(running.brood.home() / "run"))
      found += entry.path().extension() == ".control";
    return found;
  };
  running.brood.kill9();
  BOOST_TEST(sockets() == 1);
  BOOST_TEST(kill_job(running.brood, jid_of(1)).status == 69);
  running.brood.start();
  // Asks once the heir answers.  Before that, the only socket is the dead supervisor's.
  BOOST_TEST(eventually([&] { return kill_job(running.brood, jid_of(1)).status == 75; }, 30s));
  BOOST_TEST(eventually([&] { return sockets() == 1; }, 30s), running.brood.log_tail());
  BOOST_TEST(kill_job(running.brood, jid_of(1)).status == 75);
}

BOOST_AUTO_TEST_CASE(a_stopped_supervisor_is_reported_as_silent) {
  Running running;
  running.brood.signal(SIGSTOP);
  const CommandResult killed = kill_job(running.brood, jid_of(1));
  running.brood.signal(SIGCONT);
  BOOST_TEST(killed.status == 69);
  BOOST_TEST(killed.errors.find("it does not answer") != std::string::npos, killed.errors);
}
