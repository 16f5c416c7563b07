#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <set>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/redis_clients.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

using Names = std::vector<std::string>;

Names queue_names(int count) {
  Names names;
  for (int i = 0; i < count; ++i) names.push_back("q" + std::to_string(i));
  return names;
}

std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

struct Waiting {
  RedisServer redis;
  TemporaryDirectory directory;
  Ledger ledger{directory / "ledger"};
  long pushed = 0;

  std::string payload(const std::string& id, int milliseconds = 0) {
    return payload_text("Ledger", "[\"" + ledger.path() + "\",\"" + id + "\"," + std::to_string(milliseconds) + "]",
                        ++pushed);
  }
  void push(const std::string& id, const std::string& queue, int milliseconds = 0) {
    enqueue(redis, {payload(id, milliseconds)}, queue);
  }
  bool begins(const std::string& id, std::chrono::milliseconds timeout = 10s) {
    return eventually([&] { return ledger.begun().contains(id); }, timeout);
  }
  std::int64_t began(const std::string& id) {
    for (const Ledger::Run& run : ledger.runs()) {
      if (run.id == id) return run.began;
    }
    return 0;
  }
  int blocked(const std::string& name) {
    int count = 0;
    for (const RedisClient& client : RedisClient::of(redis, name)) count += client.is_blocked;
    return count;
  }
  std::size_t connected(const std::string& name) { return RedisClient::of(redis, name).size(); }
  bool somebodys_last_command_is(const std::string& command) {
    const std::vector<RedisClient> clients = RedisClient::of(redis);
    return std::any_of(clients.begin(), clients.end(),
                       [&](const RedisClient& client) { return client.last_command == command; });
  }
  bool hears_of_changes() {
    return eventually([&] { return somebodys_last_command_is("subscribe") && somebodys_last_command_is("exists"); });
  }
  // Schedules as Ruby's client does, for a time that has come.
  void schedule(const std::string& id) {
    redis.command(
        {"ZADD", "schedule", "1",
         payload_text("Ledger", "[\"" + ledger.path() + "\",\"" + id + "\",0]", ++pushed, R"("queue":"default")")});
  }
  bool all_wait(int workers) {
    return eventually([&] { return blocked("brood-worker") == workers; }, 20s);
  }
  // Pushes to each queue in turn, each time when the last job has begun.  Returns the milliseconds until they began, in
  // order.
  std::vector<double> begin_one_by_one(const Names& queues, int rounds) {
    std::vector<double> took;
    for (int round = 0; round < rounds; ++round) {
      for (const std::string& queue : queues) {
        const std::string id = queue + "-" + std::to_string(round);
        const std::int64_t at = now();
        push(id, queue);
        BOOST_REQUIRE_MESSAGE(begins(id), "no worker took " + id);
        took.push_back(static_cast<double>(began(id) - at) / 1e6);
      }
    }
    std::sort(took.begin(), took.end());
    return took;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_job_begins_at_once_in_whichever_of_many_queues_it_arrives, Waiting) {
  const Names queues = queue_names(8);
  BroodProcess brood(redis, {.workers = 4, .queues = queues});
  BOOST_REQUIRE_MESSAGE(all_wait(4), brood.log_tail());
  BOOST_REQUIRE(eventually([&] { return blocked("brood-doorbell") >= 4; }));

  const std::vector<double> took = begin_one_by_one(queues, 10);

  BOOST_TEST_MESSAGE("milliseconds from push to start: median " << took[took.size() / 2] << ", worst " << took.back());
  BOOST_TEST(took[took.size() / 2] < 200.0);  // some 2 on an idle machine; a wait lasts a minute
  BOOST_TEST(eventually([&] { return ledger.done().size() == took.size(); }));
  BOOST_TEST(times_logged(brood, "worker_waits_for_redis") == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_is_freed_keeps_its_connection_and_its_incarnation, Waiting) {
  const Names queues = queue_names(4);
  BroodProcess brood(redis, {.workers = 1, .queues = queues});
  BOOST_REQUIRE_MESSAGE(all_wait(1), brood.log_tail());
  BOOST_REQUIRE(eventually([&] { return blocked("brood-doorbell") >= 3; }));
  const Names before = redis.keys("brood:inflight:*");
  BOOST_REQUIRE(before.size() == 1U);
  const auto fields = redis.hgetall(before.front());

  begin_one_by_one(queues, 10);

  BOOST_REQUIRE(all_wait(1));
  BOOST_TEST(redis.hgetall(before.front()).size() == 1U);
  BOOST_TEST(redis.hgetall(before.front()).begin()->first == fields.begin()->first);
}

BOOST_FIXTURE_TEST_CASE(with_one_queue_no_doorbell_is_needed, Waiting) {
  BroodProcess brood(redis, {.workers = 3});
  BOOST_REQUIRE_MESSAGE(all_wait(3), brood.log_tail());
  begin_one_by_one({"default"}, 20);
  BOOST_TEST(connected("brood-doorbell") == 0U);
}

BOOST_FIXTURE_TEST_CASE(more_queues_than_doorbells_are_all_served, Waiting) {
  const Names queues = queue_names(40);
  BroodProcess brood(redis, {.workers = 2, .queues = queues});
  BOOST_REQUIRE_MESSAGE(all_wait(2), brood.log_tail());
  const auto before = redis.hgetall(redis.keys("brood:inflight:*").front());
  const std::vector<double> took = begin_one_by_one(queues, 1);
  BOOST_TEST_MESSAGE("milliseconds from push to start: median " << took[took.size() / 2] << ", worst " << took.back());
  const auto after = redis.hgetall(redis.keys("brood:inflight:*").front());
  BOOST_TEST(after.size() == 2U);
  for (const auto& [field, value] : after) BOOST_TEST(before.contains(field));
}

BOOST_FIXTURE_TEST_CASE(a_user_without_blmove_is_served, Waiting) {
  redis.command({"ACL", "SETUSER", "default", "-blmove"});
  const Names queues = queue_names(4);
  BroodProcess brood(redis, {.workers = 2, .queues = queues});
  BOOST_REQUIRE(brood.wait_ready());
  begin_one_by_one(queues, 3);
  BOOST_TEST(eventually([&] { return ledger.done().size() == 12; }));
  brood.term();
  BOOST_TEST(brood.wait_exit(5s).value_or(-1) == 0, brood.log_tail());
}

BOOST_FIXTURE_TEST_CASE(a_user_without_client_unblock_is_served, Waiting) {
  redis.command({"ACL", "SETUSER", "default", "-client|unblock"});
  const Names queues = queue_names(4);
  BroodProcess brood(redis, {.workers = 2, .queues = queues});
  BOOST_REQUIRE_MESSAGE(all_wait(2), brood.log_tail());
  begin_one_by_one(queues, 6);
  BOOST_TEST(eventually([&] { return ledger.done().size() == 24; }));
  // Giving up a wait costs a worker its incarnation, but only once: from then on it waits where it can be woken.
  for (const auto& [field, value] : redis.hgetall(redis.keys("brood:inflight:*").front()))
    BOOST_TEST(std::stoi(field.substr(field.find('.') + 1)) <= 4);
  brood.term();
  BOOST_TEST(brood.wait_exit(5s).value_or(-1) == 0, brood.log_tail());
  BOOST_TEST(jobs_in_flight(redis) == 0U);
}

BOOST_FIXTURE_TEST_CASE(jobs_that_lie_in_a_full_redis_are_done, Waiting) {
  const Names queues = queue_names(6);
  for (int i = 0; i < 6; ++i) push(std::to_string(i), queues[static_cast<std::size_t>(i)]);
  redis.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  redis.command({"SET", "filling", std::string(2 << 20, 'x')});
  redis.command({"CONFIG", "SET", "maxmemory", "1mb"});
  BOOST_REQUIRE(redis.command({"SET", "refused", "x"}).view().is_error());
  BroodProcess brood(redis, {.workers = 2, .queues = queues});
  BOOST_TEST(eventually([&] { return ledger.has_done(6); }, 20s), brood.log_tail());

  // There is room again.  Refused workers soon wait again, and no job was missed meanwhile.
  redis.command({"CONFIG", "SET", "maxmemory", "0"});
  begin_one_by_one(queues, 1);
  BOOST_TEST(all_wait(2), brood.log_tail());
}

BOOST_FIXTURE_TEST_CASE(strict_order_holds_whenever_two_queues_have_work, Waiting) {
  BroodProcess brood(redis, {.workers = 1, .queues = {"high", "low"}});
  BOOST_REQUIRE_MESSAGE(all_wait(1), brood.log_tail());
  BOOST_REQUIRE(eventually([&] { return blocked("brood-doorbell") >= 1; }));
  push("first", "low", 5'000);
  BOOST_REQUIRE(begins("first"));
  for (int i = 0; i < 5; ++i) {
    push("low" + std::to_string(i), "low");
    push("high" + std::to_string(i), "high");
  }
  BOOST_REQUIRE(eventually([&] { return ledger.has_done(11); }));
  Names order;
  for (const Ledger::Run& run : ledger.runs()) order.push_back(run.id);
  BOOST_TEST(
      order == (Names{"first", "high0", "high1", "high2", "high3", "high4", "low0", "low1", "low2", "low3", "low4"}),
      boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_stop_while_all_wait_is_quick_and_loses_nothing, Waiting) {
  const Names queues = queue_names(3);
  BroodProcess brood(redis, {.workers = 4, .queues = queues});
  BOOST_REQUIRE_MESSAGE(all_wait(4), brood.log_tail());
  const std::int64_t at = now();
  brood.term();
  for (int i = 0; i < 60; ++i) push(std::to_string(i), queues[static_cast<std::size_t>(i) % 3]);
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());
  BOOST_TEST(static_cast<double>(now() - at) / 1e6 < 20000.0);  // a wait lasts a minute
  BOOST_TEST(jobs_in_flight(redis) == 0U);
  std::size_t left = 0;
  for (const std::string& queue : queues) left += redis.size_of("queue:" + queue);
  BOOST_TEST(left + ledger.done().size() == 60U);
  BOOST_TEST(blocked("brood-") == 0);
}

BOOST_FIXTURE_TEST_CASE(a_job_that_arrives_while_a_worker_quiets_goes_back_to_the_head, Waiting) {
  for (int round = 0; round < 3; ++round) {
    BroodProcess brood(redis, {.workers = 2, .queues = {"a", "b"}});
    BOOST_REQUIRE_MESSAGE(all_wait(2), brood.log_tail());
    const std::size_t done_before = ledger.done().size();
    brood.quiet();
    Names ids, sent;
    for (int i = 0; i < 30; ++i) {
      ids.push_back(std::to_string(round) + "-" + std::to_string(i));
      sent.push_back(payload(ids.back()));
      enqueue(redis, {sent.back()}, "a");
    }
    BOOST_REQUIRE(eventually([&] { return blocked("brood-worker") == 0; }));
    BOOST_REQUIRE(eventually([&] { return jobs_in_flight(redis) == 0 && blocked("brood-doorbell") == 0; }));
    // Jobs that were begun before the quiet arrived are done.  The rest are in their original order.
    BOOST_REQUIRE(
        eventually([&] { return redis.size_of("queue:a") + ledger.done().size() - done_before == sent.size(); }));
    const auto done = ledger.done();
    Names expected;
    for (std::size_t i = sent.size(); i-- > 0;) {
      if (!done.contains(ids[i])) expected.push_back(sent[i]);
    }
    // Each of the two workers may have had one.  The last to give back has its own at the head.
    Names left = redis.lrange("queue:a");
    const std::set<std::string> at_the_head(left.end() - std::min<std::ptrdiff_t>(2, std::ssize(left)), left.end());
    for (Names* jobs : {&left, &expected}) {
      const auto given_back = std::stable_partition(jobs->begin(), jobs->end(),
                                                    [&](const auto& job) { return !at_the_head.contains(job); });
      std::sort(given_back, jobs->end());
    }
    BOOST_TEST(left == expected, boost::test_tools::per_element());
    brood.term();
    BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());
    redis.command({"DEL", "queue:a"});
  }
}

BOOST_FIXTURE_TEST_CASE(jobs_behind_a_slow_one_go_to_idle_workers, Waiting) {
  constexpr int rounds = 2, short_before = 2000, short_behind = 30;
  BroodProcess brood(redis, {.workers = 2});
  BOOST_REQUIRE_MESSAGE(all_wait(2), brood.log_tail());
  for (int round = 0; round < rounds; ++round) {
    // When the slow one is fetched, workers fetch many at a time.
    const std::string number = std::to_string(round) + "-";
    Names payloads;
    for (int i = 0; i < short_before; ++i) payloads.push_back(payload("before" + number + std::to_string(i)));
    payloads.push_back(payload("slow" + number, 8000));
    for (int i = 0; i < short_behind; ++i) payloads.push_back(payload("behind" + number + std::to_string(i)));
    enqueue(redis, payloads);
    const auto all = static_cast<std::size_t>((round + 1) * (short_before + 1 + short_behind));
    BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(all); }, 30s), brood.log_tail());

    std::int64_t last = 0;
    for (const Ledger::Run& run : ledger.runs()) {
      if (run.id.starts_with("behind" + number)) last = std::max(last, run.began);
    }
    const double waited = static_cast<double>(last - began("slow" + number)) / 1e6;
    BOOST_TEST_MESSAGE("the last job behind the slow one began " << waited << " ms after it");
    BOOST_TEST(waited < 7000.0);  // some 30 with a free core
  }
  for (const auto& [id, times] : ledger.done()) BOOST_TEST(times == 1, id << " was done " << times << " times");
  BOOST_TEST(eventually([&] { return jobs_in_flight(redis) == 0; }));
}

BOOST_FIXTURE_TEST_CASE(an_idle_brood_sends_redis_seven_commands_a_second_at_most, Waiting) {
  const BroodProcess brood(redis, {.workers = 2});
  BOOST_REQUIRE_MESSAGE(all_wait(2), brood.log_tail());
  BOOST_REQUIRE_MESSAGE(hears_of_changes(), brood.log_tail());
  const long before = redis.commands_processed();
  const std::int64_t from = now();
  BOOST_REQUIRE(eventually([&] { return now() - from > std::chrono::nanoseconds(15s).count(); }, 20s));
  const long sent = redis.commands_processed() - before - 1;  // the question itself
  BOOST_TEST(static_cast<double>(sent) <= 7 * static_cast<double>(now() - from) / 1e9);
}

BOOST_FIXTURE_TEST_CASE(what_any_client_schedules_begins_at_once, Waiting) {
  const BroodProcess brood(redis, {.workers = 2, .config = "poll_interval = \"1h\"\n"});
  BOOST_REQUIRE_MESSAGE(all_wait(2), brood.log_tail());
  BOOST_REQUIRE_MESSAGE(hears_of_changes(), brood.log_tail());
  std::vector<double> took;
  for (int i = 0; i < 9; ++i) {
    const std::int64_t at = now();
    schedule(std::to_string(i));
    BOOST_REQUIRE_MESSAGE(begins(std::to_string(i)), brood.log_tail());
    took.push_back(static_cast<double>(began(std::to_string(i)) - at) / 1e6);
  }
  // Looks come every five seconds, or some 450 ms apart if changes are not reported.
  std::sort(took.begin(), took.end());
  BOOST_TEST(took[took.size() / 2] < 300.0);
}

BOOST_FIXTURE_TEST_CASE(without_the_right_to_be_notified_of_changes_brood_polls, Waiting) {
  for (const std::string rule : {"-client|tracking", "resetchannels"}) {
    redis.command({"ACL", "SETUSER", "default", "+@all", "allchannels", rule});
    BroodProcess brood(redis, {.workers = 1, .config = "poll_interval = \"1h\"\n"});
    BOOST_REQUIRE_MESSAGE(all_wait(1), brood.log_tail());
    BOOST_REQUIRE(eventually([&] { return times_logged(brood, "key_changes_polled") == 1; }));
    for (int i = 0; i < 4; ++i) {
      schedule(rule + std::to_string(i));
      BOOST_TEST(begins(rule + std::to_string(i), 10s), brood.log_tail());
    }
    redis.command({"SADD", "paused", "default"});
    BOOST_TEST(eventually([&] { return times_logged(brood, "queues_paused") == 1; }, 10s), brood.log_tail());
    redis.command({"DEL", "paused"});
    BOOST_TEST(times_logged(brood, "key_changes_polled") == 1U);
    brood.term();
    BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());
  }
}

BOOST_FIXTURE_TEST_CASE(changes_are_heard_again_after_redis_was_away_and_not_in_a_quiet, Waiting) {
  BroodProcess brood(redis, {.workers = 1, .config = "poll_interval = \"1h\"\n"});
  BOOST_REQUIRE_MESSAGE(hears_of_changes(), brood.log_tail());
  redis.kill9();
  redis.restart();
  BOOST_REQUIRE_MESSAGE(hears_of_changes(), brood.log_tail());
  schedule("after");
  BOOST_TEST(begins("after"), brood.log_tail());
  BOOST_TEST(connected("brood-key-") == 2U);
  brood.quiet();
  BOOST_TEST(eventually([&] { return connected("brood-key-") == 0; }), brood.log_tail());
  BOOST_TEST(run_brood({"resume"}, brood.environment()).status == 0, brood.log_tail());
  BOOST_TEST(hears_of_changes(), brood.log_tail());
}
