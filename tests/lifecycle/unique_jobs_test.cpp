#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/identity.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/uniqueness.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/storm.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Workplace {
  // Kept short: a killed server has to read its file.
  RedisServer redis{{.append_only = true, .extra = {"--auto-aof-rewrite-min-size", "1mb"}}};
  const TemporaryDirectory directory{};
  const Ledger ledger{directory / "ledger"};
  Client client{redis.url()};

  std::vector<std::string> locks() {
    std::vector<std::string> all = redis.keys("brood:unique:*");
    for (std::string& key : redis.keys("brood:running:*")) all.push_back(std::move(key));
    return all;
  }

  static Push unique(const std::string& job_class, const std::string& args, const std::string& until = "done",
                     const std::string& by = "", YesNoOrCount retry = true, const std::string& on_conflict = "") {
    Push push{.job_class = job_class, .args = args, .retry = retry, .members = {{"unique_until", '"' + until + '"'}}};
    if (!by.empty()) push.members.emplace_back("unique_by", by);
    if (!on_conflict.empty()) push.members.emplace_back("on_conflict", '"' + on_conflict + '"');
    return push;
  }
  template <typename... Options>
  std::string push(const std::string& job_class, const std::string& args, const Options&... options) {
    return client.push(unique(job_class, args, options...));
  }
  std::string ledger_args(int id, int milliseconds) const {
    return "[\"" + ledger.path() + "\",\"" + std::to_string(id) + "\"," + std::to_string(milliseconds) + "]";
  }
};

// Whether a run began before the previous run with the same lock had ended or been cut off.
bool runs_overlap(const Ledger& ledger) {
  std::vector<Ledger::Run> runs = ledger.runs();
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i - 1].ended && runs[i].began < *runs[i - 1].ended) return true;
  }
  return false;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_unique_job_holds_its_lock_until_it_is_done, Workplace) {
  BOOST_TEST(push("Ledger", ledger_args(0, 5'000)) != "");
  BroodProcess brood(redis, {.workers = 2});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.begun().size() == 1; }, 20s), brood.log_tail());
  BOOST_TEST(push("Ledger", ledger_args(0, 5'000)) == "");
  BOOST_REQUIRE_MESSAGE(eventually([&] { return locks().empty(); }, 20s), brood.log_tail());
  BOOST_TEST(ledger.done().size() == 1u);
  BOOST_TEST(push("Ledger", ledger_args(0, 1)) != "");
  BOOST_TEST(eventually([&] { return locks().empty() && no_job_is_left(redis); }, 20s), brood.log_tail());
}

BOOST_FIXTURE_TEST_CASE(failures_keep_the_lock_and_death_lets_go, Workplace) {
  BroodProcess brood(redis, {.workers = 2, .config = "[worker]\nmax_crashes = 1\n"});
  const std::string failing = push("Fail", "[\"again\"]");
  push("Fail", "[\"once\"]", "done", "", 0);
  push("Fail", "[\"never\"]", "done", "", false);
  push("Segfault", "[]");
  BOOST_REQUIRE_MESSAGE(eventually(
                            [&] {
                              return redis.size_of("retry") == 1 && redis.size_of("dead") == 2 &&
                                     no_job_is_left(redis, "default", true);
                            },
                            20s),
                        brood.log_tail());
  BOOST_REQUIRE_MESSAGE(eventually([&] { return locks().size() == 1; }), locks().size());
  BOOST_TEST(redis.get(locks().front()).value_or("") == failing);
  BOOST_TEST(push("Fail", "[\"again\"]") == "");
  const CommandResult deleted = run_brood({"retries", "delete", failing, "--yes", "--redis", redis.url()});
  BOOST_TEST(deleted.status == 0, deleted.errors);
  BOOST_TEST(locks().empty());
}

BOOST_FIXTURE_TEST_CASE(a_job_unique_until_its_start_lets_go_when_it_begins, Workplace) {
  BOOST_TEST(push("Ledger", ledger_args(0, 20'000), "start") != "");
  BOOST_TEST(push("Ledger", ledger_args(0, 20'000), "start") == "");
  BroodProcess brood(redis, {.workers = 1});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.begun().size() == 1; }, 20s), brood.log_tail());
  BOOST_TEST(locks().empty());
  BOOST_TEST(push("Ledger", ledger_args(0, 20'000), "start") != "");
  BOOST_TEST(ledger.done().empty());
}

BOOST_FIXTURE_TEST_CASE(of_jobs_unique_while_running_one_runs_at_a_time, Workplace) {
  for (int id = 0; id < 4; ++id) BOOST_TEST(push("Ledger", ledger_args(id, 150), "running", "[1]") != "");
  BroodProcess brood(redis, {.workers = 3, .config = "poll_interval = \"1s\"\n"});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(4); }, 30s), brood.log_tail());
  BOOST_TEST(!runs_overlap(ledger));
  BOOST_TEST(eventually([&] { return locks().empty(); }, 5s), brood.log_tail());
  BOOST_TEST(ledger.runs().size() == 4u);  // waiting jobs were neither charged nor begun
}

BOOST_FIXTURE_TEST_CASE(a_job_that_was_pushed_to_run_after_another_begins_when_that_is_done, Workplace) {
  for (int id = 0; id < 4; ++id)
    BOOST_TEST(push("Ledger", ledger_args(id, 150), id < 2 ? "done" : "start", "[1]", true, "after") != "");
  BOOST_TEST(push("Ledger", ledger_args(4, 150), "done", "[1]") == "");
  BroodProcess brood(redis, {.workers = 3, .config = "poll_interval = \"1s\"\n"});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(4); }, 30s), brood.log_tail());
  BOOST_TEST(eventually([&] { return locks().empty(); }, 5s), brood.log_tail());
  const std::vector<Ledger::Run> runs = ledger.runs();
  BOOST_TEST(runs.size() == 4u);  // waiting jobs were neither charged nor begun
  const auto ended_of = [&](const std::string& id) {
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const Ledger::Run& one) { return one.id == id; });
    return run == runs.end() ? std::nullopt : run->ended;
  };
  BOOST_REQUIRE(ended_of("0").has_value());
  for (const Ledger::Run& run : runs) {
    if (run.id != "0") BOOST_TEST(run.began >= *ended_of("0"));  // it was pushed with the lock
  }
}

// A failed job keeps its lock until its retry, so a job that waits for the lock goes on waiting.
BOOST_FIXTURE_TEST_CASE(a_job_that_waits_for_a_lock_waits_for_retries_too_and_goes_on_after_a_deletion, Workplace) {
  const std::string failing = push("Fail", "[\"first\"]", "done", "[1]");
  BroodProcess brood(redis, {.workers = 2, .config = "poll_interval = \"1s\"\n"});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("retry") == 1; }, 20s), brood.log_tail());
  const std::string waiting = push("Fail", "[\"second\"]", "done", "[1]", true, "after");
  BOOST_REQUIRE_MESSAGE(eventually([&] { return brood.log().find("job_waits_for_its_turn") != std::string::npos; }),
                        brood.log_tail());
  BOOST_TEST(redis.get(locks().at(0)).value_or("") == failing);
  const CommandResult deleted = run_brood({"retries", "delete", failing, "--yes", "--redis", redis.url()});
  BOOST_TEST(deleted.status == 0, deleted.errors);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("retry") == 1; }, 30s), brood.log_tail());
  BOOST_REQUIRE(locks().size() == 1u);
  BOOST_TEST(redis.get(locks().front()).value_or("") == waiting);
}

BOOST_FIXTURE_TEST_CASE(unique_jobs_are_enqueued_by_options, Workplace) {
  const auto enqueue = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"enqueue", "Any", "1", "--redis", redis.url()});
    return run_brood(words);
  };
  const CommandResult first = enqueue({"--unique", "--json"});
  BOOST_TEST(first.status == 0, first.errors);
  const CommandResult second = enqueue({"--unique"});
  BOOST_TEST(second.status == 75);
  const std::string holder = redis.get(locks().at(0)).value_or("nobody");
  BOOST_TEST(second.errors.find(holder) != std::string::npos, second.errors);
  BOOST_TEST(enqueue({"--unique", "--json"}).output.find("\"jid\":null") != std::string::npos);
  BOOST_TEST(enqueue({"--on-conflict", "replace"}).status == 0);
  BOOST_TEST(redis.get(locks().at(0)).value_or("") != holder);
  BOOST_TEST(enqueue({"--unique-for", "1h", "--on-conflict", "after"}).status == 0);
  BOOST_TEST(redis.size_of("queue:default") == 2u);
  BOOST_TEST(enqueue({"--on-conflict", "never"}).status == 64);
  BOOST_TEST(enqueue({"--unique-until", "running"}).status == 0);
}

BOOST_FIXTURE_TEST_CASE(a_job_whose_worker_is_killed_releases_its_lock_at_once, Workplace) {
  BroodProcess brood(redis, {.workers = 1});
  push("Ledger", ledger_args(0, 60'000), "running", "[1]");
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.runs().size() == 1; }, 20s), brood.log_tail());
  BOOST_TEST(locks().size() == 1u);
  kill(ledger.runs().front().pid, SIGKILL);
  BOOST_TEST(eventually([&] { return locks().empty(); }, 5s), brood.log_tail());
}

BOOST_FIXTURE_TEST_CASE(a_job_whose_lock_is_no_string_holds_up_no_worker_and_runs_when_the_key_is_gone, Workplace) {
  push("Ledger", ledger_args(0, 1), "running");
  const Payload job = Payload::parse(redis.lrange("queue:default").front());
  const RedisKey lock("brood:running:" + uniqueness_of(job).value().lock);
  redis.command({"RPUSH", lock, "text"});
  client.push({.job_class = "Ledger", .args = ledger_args(1, 1)});
  BroodProcess brood(redis, {.workers = 1, .config = "poll_interval = \"100ms\"\n"});

  BOOST_TEST(
      eventually([&] { return ledger.done().size() == 1 && times_logged(brood, "lock_is_no_string") == 1; }, 20s),
      brood.log_tail());
  BOOST_TEST(eventually([&] { return redis.size_of("schedule") == 1; }, 20s), brood.log_tail());
  redis.command({"DEL", lock});
  BOOST_TEST(eventually([&] { return ledger.has_done(2) && no_job_is_left(redis); }, 20s), brood.log_tail());
}

// The check of locks releases only locks that were left by deletions of other tools.
BOOST_FIXTURE_TEST_CASE(locks_are_listed_and_checked, Workplace) {
  const std::string kept = push("Ledger", ledger_args(0, 1)), deleted = push("Fail", "[]");
  for (const std::string& payload : redis.lrange("queue:default")) {
    if (payload.find(deleted) != std::string::npos) redis.command({"LREM", RedisKey("queue:default"), "1", payload});
  }
  const std::vector<std::string> by{"--redis", redis.url()};
  const auto brood_locks = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "locks");
    words.insert(words.end(), by.begin(), by.end());
    return run_brood(words);
  };
  const CommandResult listed = brood_locks({"list", "--json"});
  BOOST_TEST(listed.status == 0, listed.errors);
  BOOST_TEST(
      listed.output.find("\"jid\":\"" + kept + "\",\"class\":\"Ledger\",\"queue\":\"default\",\"until\":\"done\"") !=
          std::string::npos,
      listed.output);
  BOOST_TEST(listed.output.find("\"jid\":\"" + deleted + "\",\"class\":\"\"") != std::string::npos, listed.output);
  redis.command({"SET", RedisKey("brood:running:digest"), "host:1:1/1.1#jid"});
  const CommandResult status = run_brood({"status", "--json", "--redis", redis.url()});
  BOOST_TEST(status.output.find(R"("locks":{"unique":2,"running":1})") != std::string::npos, status.output);
  BOOST_TEST(run_brood({"status", "--redis", redis.url()}).output.find("locks 3") != std::string::npos);
  const CommandResult metrics = run_brood({"status", "--format", "prometheus", "--redis", redis.url()});
  BOOST_TEST(metrics.output.find("brood_unique_locks{kind=\"job\"} 2") != std::string::npos, metrics.output);
  redis.command({"DEL", RedisKey("brood:running:digest")});
  const CommandResult checked = brood_locks({"check", "--json"});
  BOOST_TEST(checked.output.find(deleted) != std::string::npos, checked.output);
  BOOST_TEST(checked.output.find(kept) == std::string::npos, checked.output);
  BOOST_REQUIRE(locks().size() == 1u);
  BOOST_TEST(brood_locks({"show", kept}).output.find("Ledger") != std::string::npos);
  BOOST_TEST(brood_locks({"release", "nobody"}).status == 75);
  BOOST_TEST(brood_locks({"release", locks().front()}).status == 0);
  BOOST_TEST(locks().empty());
}

BOOST_FIXTURE_TEST_CASE(at_its_limit_redis_still_lets_go, Workplace) {
  constexpr int jobs = 200;
  for (int id = 0; id < jobs; ++id) push("Ledger", ledger_args(id, 1), id % 2 == 0 ? "done" : "running");
  push("Fail", "[\"into a full Redis\"]", "done", "", 0);
  BroodProcess brood(redis, {.workers = 2});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.done().size() > 10; }, 20s), brood.log_tail());
  redis.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  redis.command({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(jobs) && redis.size_of("dead") == 1; }, 30s),
                        brood.log_tail());
  BOOST_TEST(eventually([&] { return locks().empty(); }, 5s), brood.log_tail());
}

namespace {

// In a storm jobs come in rounds of eight, and some of one round share a lock.
enum class Kind { one_at_a_time, until_start, until_done, one_after_the_other };
Kind kind_of(int id) {
  if (id % 4 == 0) return Kind::one_at_a_time;
  if (id % 8 == 2) return Kind::one_after_the_other;
  return id % 4 == 1 ? Kind::until_start : Kind::until_done;
}
constexpr int shared_locks = 7, milliseconds_under_them = 10;  // so that workers collide
int lock_of(int id) { return id / 8 % shared_locks; }

// Among jobs with one lock: the runs that began while another of them was running, or between two runs of a job that
// holds the lock until it is done.
std::vector<std::string> let_go_early(const Ledger& ledger) {
  std::map<std::pair<Kind, int>, std::vector<Ledger::Run>> sharing;
  for (Ledger::Run& run : ledger.runs()) {
    const int id = std::stoi(run.id);
    const Kind kind = kind_of(id);
    if (kind == Kind::one_at_a_time || kind == Kind::one_after_the_other)
      sharing[{kind, lock_of(id)}].push_back(std::move(run));
  }
  std::vector<std::string> early;
  for (const auto& [which, runs] : sharing) {
    std::set<std::string> left;  // for good
    for (std::size_t i = 1; i < runs.size(); ++i) {
      const Ledger::Run &before = runs[i - 1], &run = runs[i];
      if (before.ended && run.began < *before.ended) early.push_back(run.id);
      if (which.first != Kind::one_after_the_other || run.id == before.id) continue;
      left.insert(before.id);
      if (left.contains(run.id)) early.push_back(run.id);
    }
  }
  return early;
}

}  // namespace

// BROOD_STORM multiplies its length.
BOOST_FIXTURE_TEST_CASE(kills_leave_no_lock_without_a_job_and_let_none_go_early, Workplace) {
  const int jobs = 600 * storm_factor(), kills = 6 + 2 * (storm_factor() - 1);
  constexpr std::size_t ahead = 1'000;  // no more: a killed Redis reads everything that is there
  int pushed = 0;
  const auto push_on = [&] {
    std::vector<Push> next;
    for (; pushed < jobs && static_cast<std::size_t>(pushed) < ledger.begins() + ahead; ++pushed) {
      const Kind kind = kind_of(pushed);
      const bool shares = kind == Kind::one_at_a_time || kind == Kind::one_after_the_other;
      next.push_back(unique("Ledger", ledger_args(pushed, shares ? milliseconds_under_them : 1),
                            kind == Kind::one_at_a_time ? "running"
                            : kind == Kind::until_start ? "start"
                                                        : "done",
                            shares ? "[" + std::to_string(lock_of(pushed)) + "]" : "", true,
                            kind == Kind::one_after_the_other ? "after" : ""));
    }
    for (const std::string& jid : client.push_bulk(std::move(next))) BOOST_REQUIRE(jid != "");
  };
  push_on();
  BroodProcess brood(redis, {.workers = 3,
                             .config = "poll_interval = \"1s\"\n[worker]\nmax_crashes = 1000\n"
                                       "[log]\nlog_jobs = false\n"});
  BOOST_REQUIRE(brood.wait_ready());
  // Makes a job that waits for a lock try again at each look of the supervisor, instead of after up to ten seconds.
  auto hurried = std::chrono::steady_clock::time_point();
  std::size_t most_waiting = 0;
  const auto hurry = [&] {
    const auto now = std::chrono::steady_clock::now();
    if (now < hurried + 200ms) return;
    hurried = now;
    most_waiting = std::max(most_waiting, redis.size_of("schedule"));
    make_schedule_due(redis);
    make_retries_due(redis);
  };
  Dice dice;
  KilledWorkers killed;
  int supervisors_killed = 0, servers_killed = 0;
  const auto began = std::chrono::steady_clock::now();
  for (int i = 1; i <= kills; ++i) {
    const auto wanted = static_cast<std::size_t>(jobs / (kills + 1) * i);
    const auto to_begin = [&] {
      push_on();
      hurry();
      return wanted - std::min(wanted, ledger.begins());
    };
    BOOST_REQUIRE_MESSAGE(falls_to(0, to_begin), brood.log_tail());
    if (dice.roll(1, 3) > 1) {
      kill_a_worker(brood, dice, killed);
    } else if (dice.roll(1, 2) == 1) {
      ++supervisors_killed;
      for (const pid_t worker : brood.workers()) killed.insert_or_assign(worker, process_start_time(worker));
      kill_with_workers(brood);
      brood.start();
    } else {
      ++servers_killed;
      redis.restart();
    }
  }
  push_on();
  const auto left = [&] {
    hurry();
    return jobs_left(redis);
  };
  BOOST_REQUIRE_MESSAGE(falls_to(0, left), brood.log_tail());
  BOOST_TEST(eventually([&] { return locks().empty(); }, 5s), brood.log_tail());
  const auto took = std::chrono::steady_clock::now() - began;

  BOOST_TEST(most_waiting > 0U);
  BOOST_TEST(redis.size_of("dead") == 0U);
  const Ledger::Verdict verdict = ledger.judge(jobs);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.unexpected.empty());
  BOOST_TEST(verdict.overlapped.empty());
  BOOST_TEST(settled_twice(ledger, killed) == std::vector<std::string>{}, boost::test_tools::per_element());
  BOOST_TEST(let_go_early(ledger) == std::vector<std::string>{}, boost::test_tools::per_element());
  BOOST_TEST_MESSAGE(jobs << " unique jobs, " << killed.size() << " workers, " << supervisors_killed
                          << " supervisors and " << servers_killed << " times Redis killed in "
                          << std::chrono::duration_cast<std::chrono::seconds>(took).count() << " s: at most "
                          << most_waiting << " waited for a lock, " << verdict.lost.size() << " lost, "
                          << verdict.doubled.size() << " done twice");
}
