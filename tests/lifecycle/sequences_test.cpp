// Jobs of one sequence run one after the other, in the order in which they were pushed, whichever process dies
// meanwhile.
#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>

#include <signal.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/storm.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct SequencedJobs {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger{directory / "ledger"};
  int pushed = 0;
  std::map<std::string, std::string> sequence_of = {};  // by id

  std::string job(const std::string& sequence, int milliseconds = 0, const std::string& more = "") {
    const std::string id = std::to_string(pushed++);
    std::string members = sequence.empty() ? more : R"("sequence":")" + sequence + '"' + more;
    if (!sequence.empty()) sequence_of[id] = sequence;
    return payload_text("Ledger",
                        R"([")" + ledger.path() + R"(",")" + id + R"(",)" + std::to_string(milliseconds) + "]", pushed,
                        members);
  }
  std::size_t waiting() {
    std::size_t jobs = 0;
    for (const std::string& key : redis.keys("brood:sequence:*")) jobs += redis.size_of(key);
    return jobs;
  }
  bool all_done() {
    return falls_to(0, [&] {
      make_retries_due(redis);
      return jobs_left(redis) + waiting();
    });
  }
  // Empty if no job of a sequence has begun before all that were pushed before it had ended.
  std::string out_of_order() const {
    std::map<std::string, Ledger::Run> last;
    for (const Ledger::Run& run : ledger.runs()) {
      const auto sequence = sequence_of.find(run.id);
      if (sequence == sequence_of.end()) continue;
      const auto before = last.find(sequence->second);
      if (before != last.end() && std::stoi(before->second.id) > std::stoi(run.id))
        return run.id + " of " + sequence->second + " ran after " + before->second.id;
      if (before != last.end() && before->second.ended && *before->second.ended > run.began)
        return run.id + " of " + sequence->second + " began before the end of " + before->second.id;
      last.insert_or_assign(sequence->second, run);
    }
    return "";
  }
  bool leaves_no_key() {
    return eventually([&] { return redis.keys("brood:sequence*").empty(); });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(kills_change_the_order_of_no_sequence, SequencedJobs) {
  constexpr int jobs = 1'500, kills = 24;
  Dice dice;
  BroodProcess brood(redis, {.workers = 4, .config = "poll_interval = \"100ms\"\n"});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  std::vector<std::string> payloads;
  for (int i = 0; i < jobs; ++i) {
    const int sequence = dice.roll(0, 9);
    payloads.push_back(job(sequence > 6 ? "" : "s" + std::to_string(sequence), dice.roll(0, 4)));
  }
  enqueue(redis, payloads);
  KilledWorkers killed;
  for (int i = 1; i <= kills; ++i) {
    const auto enough = static_cast<std::size_t>(jobs / (kills + 2) * i);
    BOOST_TEST_REQUIRE(falls_to(0,
                                [&] {
                                  make_retries_due(redis);
                                  const std::size_t begins = ledger.begins();
                                  return begins >= enough ? 0 : enough - begins;
                                }),
                       brood.log_tail());
    if (i % 6 == 0) {
      kill_with_workers(brood);
      brood.start();
    } else {
      BOOST_TEST_REQUIRE(kill_a_worker(brood, dice, killed), brood.log_tail());
    }
  }
  BOOST_TEST(all_done(), brood.log_tail());
  BOOST_TEST(out_of_order() == "");
  BOOST_TEST(ledger.judge(jobs).lost.empty());
  BOOST_TEST(leaves_no_key());
  BOOST_TEST(stop_when_up(brood) == 0, brood.log_tail());
}

BOOST_FIXTURE_TEST_CASE(idle_workers_keep_the_order_of_jobs_that_come_all_at_once, SequencedJobs) {
  for (const std::vector<std::string>& queues : {std::vector<std::string>{"default"}, {"other", "default", "third"}}) {
    // As a minute after the first of them: from then on only workers that have noted that they wait are searched.
    if (queues.size() > 1) redis.command({"HSET", "brood:waits:default", "", "1"});
    BroodProcess brood(redis, {.workers = 4, .queues = queues});
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
    for (int round = 0; round < 20; ++round) {
      const std::string sequence = "s" + std::to_string(round);
      std::vector<std::string> payloads;
      for (int i = 0; i < 8; ++i) payloads.push_back(job(sequence, round % 3));
      if (round % 2 == 0)
        enqueue(redis, payloads);
      else
        for (const std::string& payload : payloads) enqueue(redis, {payload});
      if (round % 5 != 4) BOOST_TEST(all_done(), brood.log_tail());  // otherwise the next burst comes while they end
    }
    BOOST_TEST(all_done(), brood.log_tail());
    BOOST_TEST(out_of_order() == "");
    BOOST_TEST(ledger.judge(pushed).lost.empty());
    BOOST_TEST(ledger.judge(pushed).doubled.empty());
    BOOST_TEST(leaves_no_key());
    BOOST_TEST(stop_when_up(brood) == 0, brood.log_tail());
  }
}

BOOST_FIXTURE_TEST_CASE(a_job_that_says_something_wrong_about_its_sequence_is_dead_and_holds_up_no_other,
                        SequencedJobs) {
  BroodProcess brood(redis);
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  enqueue(redis, {job("", 0, R"("sequence":5)"), job("", 0, R"("sequence":"")"), job("s", 0, R"(,"if_failed":"later")"),
                  job("s")});
  BOOST_TEST(eventually([&] { return redis.size_of("dead") == 3 && ledger.has_done(1); }), brood.log_tail());
  BOOST_TEST(leaves_no_key());
}

BOOST_FIXTURE_TEST_CASE(the_shell_pushes_shows_and_deletes_jobs_of_a_sequence, SequencedJobs) {
  const auto shell = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--redis", redis.url()});
    return run_brood(words);
  };
  for (const char* const jid : {"first", "second", "third"}) {
    const std::string args = R"([")" + ledger.path() + R"(",")" + std::to_string(pushed++) + R"(",2000])";
    const CommandResult enqueued = shell({"enqueue", "Ledger", "--args", args, "--jid", jid, "--sequence", "s"});
    BOOST_TEST(enqueued.status == 0, enqueued.errors);
  }
  BOOST_TEST(shell({"enqueue", "Ledger", "--if-failed", "pass"}).status == 64);
  BOOST_TEST(shell({"enqueue", "Ledger", "--sequence", "s", "--if-failed", "later"}).status == 64);
  BroodProcess brood(redis, {.workers = 2});
  BOOST_TEST(eventually([&] { return waiting() == 2; }), brood.log_tail());
  BOOST_TEST(shell({"sequences", "--json"}).output.find(R"("name":"s","holder":"first")") != std::string::npos);
  BOOST_TEST(shell({"sequences"}).output.find("WAITING") != std::string::npos);
  BOOST_TEST(shell({"sequences", "show", "s", "--json"}).output.find(R"("jobs":[{"jid":"second","class":"Ledger")") !=
             std::string::npos);
  BOOST_TEST(shell({"sequences", "show", "none"}).status == 75);
  BOOST_TEST(shell({"status", "--json"}).output.find(R"("in_sequences":2)") != std::string::npos);
  BOOST_TEST(shell({"status", "--format", "prometheus"}).output.find("brood_jobs_in_sequences 2") != std::string::npos);
  BOOST_TEST(shell({"show", "second", "--json"}).output.find(R"("state":"queued")") != std::string::npos);
  BOOST_TEST(shell({"sequences", "delete", "s", "second"}).status == 0);
  BOOST_TEST(shell({"sequences", "delete", "s", "second"}).status == 75);
  BOOST_TEST(eventually([&] { return ledger.has_done(2); }), brood.log_tail());
  BOOST_TEST(!ledger.done().contains("1"));
  BOOST_TEST(leaves_no_key());
}

BOOST_FIXTURE_TEST_CASE(a_failed_job_that_lets_others_pass_is_not_waited_for_by_the_one_that_wants_its_lock,
                        SequencedJobs) {
  BroodProcess brood(redis, {.workers = 2, .config = "poll_interval = \"100ms\"\n"});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  Client client(redis.url());
  const auto push = [&](const std::string& job_class, const std::string& args, bool is_unique) {
    Push one{.job_class = job_class,
             .args = args,
             .members = {{"sequence", R"("s")"}, {"if_failed", R"("pass")"}, {"unique_by", "[1]"}}};
    if (is_unique) {
      one.members.emplace_back("unique_until", R"("done")");
      one.members.emplace_back("on_conflict", R"("after")");
    }
    client.push(one);
  };
  const auto ledger_args = [&](const std::string& id) { return R"([")" + ledger.path() + R"(",")" + id + R"(",0])"; };
  push("FailOnce", R"([")" + (directory / "made") + R"("])", true);
  BOOST_REQUIRE(eventually([&] { return redis.size_of("retry") == 1; }));
  push("Ledger", ledger_args("0"), true);
  push("Ledger", ledger_args("1"), false);
  pushed = 2;
  BOOST_TEST(all_done(), brood.log_tail());
  const std::vector<Ledger::Run> runs = ledger.runs();
  BOOST_REQUIRE(runs.size() == 2u);
  BOOST_TEST(runs[0].id == "0");
  BOOST_TEST(runs[1].id == "1");
  BOOST_TEST(eventually([&] { return redis.keys("brood:unique:*").empty(); }));
  BOOST_TEST(leaves_no_key());
}

// A job whose worker was killed keeps its lock, and lets the others pass.
BOOST_FIXTURE_TEST_CASE(kills_stop_no_sequence_whose_jobs_share_a_lock, SequencedJobs) {
  constexpr int jobs = 60, kills = 8;
  Dice dice;
  BroodProcess brood(redis, {.workers = 3, .config = "poll_interval = \"100ms\"\n"});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  Client client(redis.url());
  for (; pushed < jobs; ++pushed) {
    const std::string id = std::to_string(pushed), name = "\"s" + std::to_string(pushed % 3) + '"';
    sequence_of[id] = name;
    client.push({.job_class = "Ledger",
                 .args = R"([")" + ledger.path() + R"(",")" + id + R"(",20])",
                 .members = {{"sequence", name},
                             {"if_failed", R"("pass")"},
                             {"unique_until", R"("done")"},
                             {"unique_by", '[' + name + ']'},
                             {"on_conflict", R"("after")"}}});
  }
  KilledWorkers killed;
  for (int i = 1; i <= kills; ++i) {
    const auto enough = static_cast<std::size_t>(jobs / (kills + 2) * i);
    BOOST_TEST_REQUIRE(eventually(
                           [&] {
                             make_retries_due(redis);
                             return ledger.begins() >= enough;
                           },
                           60s),
                       brood.log_tail());
    BOOST_TEST_REQUIRE(kill_a_worker(brood, dice, killed), brood.log_tail());
  }
  BOOST_TEST(all_done(), brood.log_tail());
  BOOST_TEST(ledger.judge(jobs).lost.empty());
  std::map<std::string, Ledger::Run> last;
  for (const Ledger::Run& run : ledger.runs()) {
    const auto before = last.find(sequence_of[run.id]);
    if (before != last.end() && before->second.ended) BOOST_TEST(*before->second.ended <= run.began, run.id);
    last.insert_or_assign(sequence_of[run.id], run);
  }
  BOOST_TEST(eventually([&] { return redis.keys("brood:unique:*").empty(); }));
  BOOST_TEST(leaves_no_key());
  BOOST_TEST(stop_when_up(brood) == 0, brood.log_tail());
}
