#include <boost/test/unit_test.hpp>

#include <csignal>

#include "shared/job/retry_decision.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// Whether the first member of `set` holds `text`.
bool first_holds(RedisServer& redis, const std::string& set, const std::string& text) {
  const auto members = redis.zrange(set);
  return !members.empty() && members.front().first.find(text) != std::string::npos;
}

}  // namespace

// Kills the supervisor ten times under load.  Its workers end by themselves, and the next start takes over.
BOOST_AUTO_TEST_CASE(ten_kills_of_the_supervisor_under_load_lose_nothing) {
  constexpr int jobs = 20000, workers = 4, kills = 10;
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  enqueue_ledger_jobs(redis, ledger.path(), jobs);
  BroodProcess brood(redis, {.workers = workers});
  for (int i = 0; i < kills; ++i) {
    BOOST_REQUIRE_MESSAGE(load_goes_on(redis), brood.log_tail());
    brood.kill9();
    brood.start();
  }
  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("queue:default") == 0 && ledger.has_done(jobs); }, 90s),
                        brood.log_tail());

  const Ledger::Verdict verdict = ledger.judge(jobs);
  BOOST_TEST(verdict.lost.size() == 0U);
  BOOST_TEST(verdict.unexpected.size() == 0U);
  BOOST_TEST(verdict.overlapped.size() == 0U);
  BOOST_TEST(verdict.doubled.size() == 0U);  // the workers settle before they end: no outcome is unknown
  BOOST_TEST(redis.size_of("dead") == 0U);
}

// Otherwise its heartbeat would keep it on Sidekiq's pages for a minute.
BOOST_AUTO_TEST_CASE(a_dead_supervisor_is_unlisted_by_its_heir) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1});
  const auto is_known = [&] { return redis.size_of("processes") == 1 && redis.size_of("brood:processes") == 1; };
  BOOST_REQUIRE_MESSAGE(eventually(is_known, 20s), brood.log_tail());
  const std::string dead = redis.smembers("processes").front();
  brood.kill9();
  brood.start();
  const auto is_unlisted = [&] {
    const auto listed = redis.smembers("processes");
    return listed.size() == 1 && listed.front() != dead && redis.size_of(dead) == 0;
  };
  BOOST_CHECK_MESSAGE(eventually(is_unlisted, 40s), brood.log_tail());
}

// Kills supervisor and workers at once, as when a machine runs out of memory.  Only jobs that had ended but were not
// settled run twice.
BOOST_AUTO_TEST_CASE(kills_of_everything_lose_nothing_and_double_at_most_what_was_unsettled) {
  constexpr int jobs = 5000, workers = 4, kills = 5;
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  enqueue_ledger_jobs(redis, ledger.path(), jobs, 1);
  BroodProcess brood(redis, {.workers = workers});
  for (int i = 0; i < kills; ++i) {
    BOOST_REQUIRE_MESSAGE(load_goes_on(redis), brood.log_tail());
    const std::vector<pid_t> children = children_of(brood.pid());
    kill(brood.pid(), SIGSTOP);  // so that it does not refill meanwhile
    for (const pid_t child : children) kill(child, SIGKILL);
    brood.kill9();
    brood.start();
  }
  // A job whose worker was killed was charged: its retry is due in some 15 s, or at once by this test.
  const auto all_done = [&] {
    for (const auto& [member, due] : redis.zrange("retry")) redis.command({"ZADD", "retry", "XX", "1", member});
    return ledger.has_done(jobs);
  };
  BOOST_REQUIRE_MESSAGE(eventually(all_done, 90s), brood.log_tail());

  const Ledger::Verdict verdict = ledger.judge(jobs);
  BOOST_TEST(verdict.lost.size() == 0U);
  BOOST_TEST(verdict.unexpected.size() == 0U);
  BOOST_TEST(verdict.overlapped.size() == 0U);
  BOOST_TEST(verdict.doubled.size() <= static_cast<std::size_t>(kills * workers));
}

BOOST_AUTO_TEST_CASE(workers_end_when_their_supervisor_is_killed) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 3});
  BOOST_REQUIRE(brood.wait_ready());
  const std::vector<pid_t> workers = brood.workers();

  brood.kill9();

  for (const pid_t worker : workers) BOOST_TEST(eventually([&] { return !process_exists(worker); }));
}

BOOST_AUTO_TEST_CASE(a_worker_killed_in_a_job_is_charged_and_refilled) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = 2});
  enqueue_ledger_jobs(redis, ledger.path(), 1, 60000);
  BOOST_REQUIRE(eventually([&] { return ledger.begun().size() == 1; }, 20s));

  kill(ledger.runs().front().pid, SIGKILL);

  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("retry") == 1; }), brood.log_tail());
  BOOST_TEST(first_holds(redis, "retry", "SIGKILL"));
  BOOST_TEST(first_holds(redis, "retry", "\"retry_count\":0"));
  BOOST_TEST(eventually([&] { return brood.workers().size() == 2; }));
  BOOST_TEST(eventually([&] { return jobs_in_flight(redis) == 0; }));
}

BOOST_AUTO_TEST_CASE(a_job_that_segfaults_is_retried_with_its_stack) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 2});

  enqueue(redis, {payload_text("Segfault", "[]")});

  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("retry") == 1; }, 20s), brood.log_tail());
  const Payload job = Payload::parse(redis.zrange("retry").front().first);
  BOOST_TEST(job.string("error_class").value() == "SIGSEGV");
  BOOST_TEST(job.string("error_message").value().starts_with("SIGSEGV (SEGV_MAPERR) at 0x10 in Segfault"));
  const auto stack = decode_backtrace(job.string("error_backtrace").value_or(""));
  BOOST_REQUIRE_MESSAGE(stack.has_value() && !stack->empty(), brood.log_tail());
  BOOST_TEST(stack->front().starts_with("#0 Segfault::perform() at crashes.cpp:"), stack->front());
  for (const std::string& line : *stack) BOOST_TEST(line.find("brood::") == std::string::npos, line);
  const JsonObject crash = JsonObject::parse(std::string(job.raw("crash").value_or("{}")));
  BOOST_TEST(crash.string("signal").value_or("") == "SIGSEGV");
  BOOST_TEST(crash.string("code").value_or("") == "SEGV_MAPERR");
  BOOST_TEST(crash.string("address").value_or("") == "0x10");
  BOOST_TEST(crash.string("fingerprint").value_or("").size() == 12U);
  BOOST_TEST(crash.raw("build_ids").value_or("").find("\"libexamples.so\":\"") == 1U);
  BOOST_TEST(crash.number("uptime").value_or(-1) >= 0);
  BOOST_TEST(eventually([&] { return brood.workers().size() == 2; }));
}

BOOST_AUTO_TEST_CASE(a_job_that_crashes_three_times_is_dead_whatever_retries_it_has) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1});
  enqueue(redis, {payload_text("Segfault", "[]")});

  const auto dead = [&] {
    for (const auto& [member, due] : redis.zrange("retry")) redis.command({"ZADD", "retry", "XX", "1", member});
    return redis.size_of("dead") == 1;
  };
  BOOST_TEST(eventually(dead, 60s), brood.log_tail());
  BOOST_TEST(first_holds(redis, "dead", "\"retry_count\":2"));
  BOOST_TEST(redis.size_of("retry") == 0U);
}

BOOST_AUTO_TEST_CASE(a_crash_of_a_job_that_is_never_retried_is_stored_nowhere_and_logged) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1});
  BOOST_REQUIRE(brood.wait_ready());
  const pid_t worker = brood.workers().front();

  enqueue(redis, {payload_text("Segfault", "[]", 1, R"("retry":false)")});

  BOOST_TEST(eventually(
      [&] {
        const std::vector<pid_t> now = brood.workers();
        return now.size() == 1 && now.front() != worker;
      },
      20s));
  for (const char* told : {"event=job_crashed", "event=crash_stack", "Segfault::perform()", "SEGV_MAPERR"})
    BOOST_TEST(eventually([&] { return brood.log().find(told) != std::string::npos; }), told);
  BOOST_TEST(eventually([&] { return jobs_in_flight(redis) == 0; }));
  BOOST_TEST(redis.size_of("retry") == 0U);
  BOOST_TEST(redis.size_of("dead") == 0U);
  BOOST_TEST(redis.size_of("queue:default") == 0U);
}

BOOST_AUTO_TEST_CASE(a_deep_stack_of_a_job_that_is_stored_nowhere_is_logged_in_few_lines) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1});
  BOOST_REQUIRE(brood.wait_ready());
  enqueue(redis, {payload_text("DeepRecursion", "[]", 1, R"("retry":false)")});
  BOOST_TEST(eventually([&] { return times_logged(brood, "worker_recovered") == 1; }, 30s), brood.log_tail());
  const std::size_t lines = times_logged(brood, "crash_stack");
  BOOST_TEST((lines > 5 && lines <= 26), lines << " in " << brood.log_tail());
  BOOST_TEST(brood.log().find(" more\"") != std::string::npos, brood.log_tail());
}

BOOST_AUTO_TEST_CASE(neighbours_of_a_crash_go_on) {
  constexpr int jobs = 2000;
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  for (int batch = 0; batch < 20; ++batch) enqueue(redis, {payload_text("Segfault", "[]", 1'000'000 + batch)});
  enqueue_ledger_jobs(redis, ledger.path(), jobs, 0);
  BroodProcess brood(redis, {.workers = 2});

  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(jobs) && redis.size_of("retry") == 20; }, 60s),
                        brood.log_tail());

  const Ledger::Verdict verdict = ledger.judge(jobs);
  BOOST_TEST(verdict.doubled.size() == 0U);
  BOOST_TEST(verdict.overlapped.size() == 0U);
  for (const auto& [member, due] : redis.zrange("retry")) BOOST_TEST(member.find("\"Segfault\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_list_of_processes_that_is_lost_alone_comes_back_and_what_dies_then_has_an_heir) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = 2});
  enqueue(redis, {payload_text("Ledger", "[\"" + ledger.path() + "\",\"0\",60000]", 0)});
  BOOST_REQUIRE(eventually([&] { return ledger.runs().size() == 1; }));
  const auto [identity, record] = *redis.hgetall("brood:processes").begin();
  // Each worker also lists its supervisor when it registers.
  BOOST_REQUIRE(eventually([&, &identity = identity] { return redis.size_of("brood:inflight:" + identity) == 2; }));

  redis.command({"DEL", "brood:processes"});
  // A sweep that has just begun may list it first, by its keys alone.
  BOOST_TEST(eventually([&, &record = record,
                         &identity = identity] { return redis.hget("brood:processes", identity) == record; },
                        30s),
             brood.log_tail());

  // The machine dies, and comes back.
  kill_with_workers(brood);
  brood.start();
  BOOST_TEST(eventually([&] { return ledger.runs().size() == 2; }, 30s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(one_that_died_unlisted_is_found_by_its_keys_and_listed_for_its_heirs) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = 1});
  enqueue(redis, {payload_text("Ledger", "[\"" + ledger.path() + "\",\"0\",60000]", 0)});
  BOOST_REQUIRE(eventually([&] { return ledger.runs().size() == 1; }));
  const std::string dead = redis.hgetall("brood:processes").begin()->first;

  kill_with_workers(brood);
  redis.command({"DEL", "brood:processes"});
  brood.start();
  // Its heartbeat must be missing for a minute before another supervisor takes its job.
  BOOST_TEST(eventually([&] { return redis.hget("brood:processes", dead).has_value(); }, 30s), brood.log_tail());
  BOOST_TEST(ledger.runs().size() == 1U);
  // Meanwhile the file with its workers' outcomes is kept.
  BOOST_TEST(eventually([&] { return times_logged(brood, "unlisted_process_found") == 1; }), brood.log_tail());
  BOOST_TEST(times_logged(brood, "forgotten_scoreboard_removed") == 0U);

  redis.command({"DEL", dead});  // before it expires
  BOOST_TEST(eventually([&] { return ledger.runs().size() == 2; }, 60s), brood.log_tail());
  BOOST_TEST(!redis.hget("brood:processes", dead));
}

BOOST_AUTO_TEST_CASE(one_that_has_stopped_in_order_is_not_listed_again) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 2});
  BOOST_REQUIRE(eventually([&] { return redis.size_of("brood:processes") == 1; }));
  brood.term();
  BOOST_REQUIRE(brood.wait_exit() == 0);
  BOOST_TEST(redis.size_of("brood:processes") == 0U);
}
