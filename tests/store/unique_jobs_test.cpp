#include <atomic>
#include <boost/test/unit_test.hpp>
#include <brood/api.hpp>
#include <brood/client.hpp>
#include <chrono>
#include <thread>
#include <tuple>
#include <vector>

#include "shared/base/digest.hpp"
#include "shared/job/payload.hpp"
#include "shared/json/json.hpp"
#include "shared/store/in_flight/lock_list.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/unique_jobs.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct ReportOfCustomer {
  std::string customer;
  int month = 0;

  static constexpr JobOptions options{.unique_for = 600s, .unique_until = UniqueUntil::start};
  static constexpr auto unique_by = std::tuple{&ReportOfCustomer::customer};
  static constexpr std::string_view job_class = "ReportOfCustomer";
  void perform() {}
};

std::string lock_of(const std::string& payload) {
  return "brood:unique:" + Payload::parse(payload).string("unique_lock").value_or("none");
}

}  // namespace

BOOST_AUTO_TEST_CASE(sha_256_is_the_standards) {
  BOOST_TEST(sha256_base64url("") == "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
  BOOST_TEST(sha256_base64url("abc") == "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
  // One block, one that is full but for the length, and several.
  BOOST_TEST(sha256_base64url(std::string(55, 'a')) == "n0OQ-NMMLdkuyfCVtl4rmumwqSWlJY4kHJ8ekQ9zQxg");
  BOOST_TEST(sha256_base64url(std::string(56, 'a')) == "s1Q5pKxvCUi21vnjxq8PX1kM4g8b3nCQ73lwaG7Gc4o");
  BOOST_TEST(sha256_base64url(std::string(1000, 'a')) == "Qe3s5C1j6Nm_UVqbppMuHCDLyfWl0TRkWttdsblzfqM");
}

BOOST_FIXTURE_TEST_CASE(of_equal_unique_jobs_the_first_is_pushed, UniqueFixture) {
  const std::string jid = client.enqueue(MonthlyReport{"acme", 5});
  BOOST_TEST(client.enqueue(MonthlyReport{"acme", 5}) == "");
  BOOST_TEST(client.holder(MonthlyReport{"acme", 5}) == jid);
  BOOST_TEST(client.holder(MonthlyReport{"acme", 6}) == "");
  BOOST_TEST(client.enqueue(MonthlyReport{"acme", 6}) != "");
  BOOST_TEST(client.enqueue(MonthlyReport{"acme", 5}, {.queue = "others"}) != "");
  BOOST_REQUIRE(redis.size_of("queue:reports") == 2u);
  const Payload payload = Payload::parse(redis.lrange("queue:reports").back());
  BOOST_TEST(payload.jid() == jid);
  BOOST_TEST(payload.string("unique_until").value_or("") == "done");
  BOOST_TEST(redis.get(lock_of(payload.text())).value_or("") == jid);
  BOOST_TEST(redis.integer({"PTTL", RedisKey(lock_of(payload.text()))}) == -1);
}

BOOST_FIXTURE_TEST_CASE(a_job_that_is_not_unique_has_no_byte_of_it, UniqueFixture) {
  client.enqueue(MonthlyReport{"acme", 5}, {.unique = false});
  client.enqueue(MonthlyReport{"acme", 5}, {.unique = false});
  BOOST_TEST(redis.size_of("queue:reports") == 2u);
  BOOST_TEST(redis.lrange("queue:reports").front().find("unique") == std::string::npos);
  BOOST_TEST(locks().size() == 0u);
}

BOOST_FIXTURE_TEST_CASE(chosen_fields_alone_make_a_job_unique, UniqueFixture) {
  BOOST_TEST(client.enqueue(ReportOfCustomer{"acme", 1}) != "");
  BOOST_TEST(client.enqueue(ReportOfCustomer{"acme", 2}) == "");
  BOOST_TEST(client.enqueue(ReportOfCustomer{"emca", 1}) != "");
  const Payload payload = Payload::parse(redis.lrange("queue:default").back());
  BOOST_TEST(payload.raw("unique_by").value_or("") == R"(["acme"])");
  BOOST_TEST(payload.raw("unique_for").value_or("") == "600");
  BOOST_TEST(payload.string("unique_until").value_or("") == "start");
  const std::int64_t left = redis.integer({"PTTL", RedisKey(lock_of(payload.text()))});
  BOOST_TEST(left > 590'000);
  BOOST_TEST(left <= 600'000);
}

// Sidekiq's pages print this member without escaping, unlike arguments.
BOOST_FIXTURE_TEST_CASE(what_a_job_is_unique_by_is_no_markup, UniqueFixture) {
  BOOST_TEST(client.enqueue(ReportOfCustomer{"<b>&", 1}) != "");
  BOOST_TEST(client.enqueue(ReportOfCustomer{"<b>&", 2}) == "");
  const Payload payload = Payload::parse(redis.lrange("queue:default").front());
  BOOST_TEST(payload.raw("unique_by").value_or("") == R"(["‹b›&"])");
  BOOST_TEST(payload.raw("args").value_or("") == R"(["<b>&",1])");
}

BOOST_FIXTURE_TEST_CASE(a_lock_of_a_scheduled_job_lives_from_when_that_is_due, UniqueFixture) {
  BOOST_TEST(client.enqueue_in(1000s, ReportOfCustomer{"acme", 1}) != "");
  BOOST_TEST(client.enqueue_in(1000s, ReportOfCustomer{"acme", 1}) == "");
  BOOST_REQUIRE(redis.size_of("schedule") == 1u);
  const std::int64_t left = redis.integer({"PTTL", RedisKey(lock_of(redis.zrange("schedule").front().first))});
  BOOST_TEST(left > 1'590'000);
  BOOST_TEST(left <= 1'601'000);
}

BOOST_FIXTURE_TEST_CASE(a_lock_of_a_job_that_is_rescheduled_lives_from_when_that_is_due_by_then, UniqueFixture) {
  client.enqueue_in(1000s, ReportOfCustomer{"acme", 1});
  const auto left = [&] { return redis.command({"PTTL", RedisKey(locks().at(0))}).view().integer(); };
  Api api(redis.url());
  JobSet scheduled = api.scheduled();
  const auto move = [&](std::chrono::seconds in) {
    return scheduled.reschedule(scheduled.page(0, 1).at(0), std::chrono::system_clock::now() + in);
  };
  BOOST_TEST(move(5000s));
  BOOST_TEST(left() > 5'500'000);
  BOOST_TEST(left() <= 5'601'000);
  BOOST_TEST(move(10s));  // it lives longer than it must, and goes with its job
  BOOST_TEST(left() > 5'500'000);
  redis.command({"SET", RedisKey(locks().at(0)), "another", "PX", "1000"});
  BOOST_TEST(move(5000s));
  BOOST_TEST(left() <= 1000);
}

BOOST_FIXTURE_TEST_CASE(a_bulk_with_duplicates_tells_which_were_not_pushed, UniqueFixture) {
  std::vector<MonthlyReport> reports;
  for (int i = 0; i < 300; ++i) reports.push_back({"acme", i % 250});
  const std::vector<std::string> jids = client.enqueue_bulk(reports);
  BOOST_REQUIRE(jids.size() == 300u);
  for (int i = 0; i < 300; ++i) BOOST_TEST(jids[i].empty() == (i >= 250), i);
  BOOST_TEST(redis.size_of("queue:reports") == 250u);
  BOOST_TEST(locks().size() == 250u);
}

BOOST_FIXTURE_TEST_CASE(any_class_is_unique_by_its_payload, UniqueFixture) {
  const Push push{.job_class = "Ruby::Job", .args = "[1,{\"a\":2}]", .members = {{"unique_for", "60"}}};
  BOOST_TEST(client.push(push) != "");
  BOOST_TEST(client.push(push) == "");
  Push spaced = push;
  spaced.args = "[ 1, { \"a\": 2 } ]";
  BOOST_TEST(client.push(spaced) == "");
  Push other = push;
  other.members = {{"unique_for", "false"}};
  BOOST_TEST(client.push(other) != "");
  for (const auto& [name, json] : std::vector<std::pair<std::string, std::string>>{
           {"unique_for", "\"x\""}, {"unique_for", "-1"}, {"unique_until", "\"never\""}, {"unique_lock", "\"mine\""}}) {
    Push bad = push;
    bad.members.emplace_back(name, json);
    BOOST_CHECK_THROW(client.push(bad), std::invalid_argument);
  }
}

BOOST_FIXTURE_TEST_CASE(a_full_redis_takes_neither_the_job_nor_its_lock, UniqueFixture) {
  redis.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  redis.command({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_CHECK_THROW(client.enqueue(MonthlyReport{"acme", 5}), RedisError);
  redis.command({"CONFIG", "SET", "maxmemory", "0"});
  BOOST_TEST(locks().size() == 0u);
  BOOST_TEST(client.enqueue(MonthlyReport{"acme", 5}) != "");
}

BOOST_FIXTURE_TEST_CASE(a_kept_push_takes_its_lock_when_redis_is_back, UniqueFixture) {
  client.buffer();
  redis.kill9();
  const std::string jid = client.enqueue(MonthlyReport{"acme", 5});
  client.enqueue(MonthlyReport{"acme", 5});
  client.enqueue(MonthlyReport{"acme", 6}, {.unique = false});
  BOOST_TEST(client.buffered() == 3u);
  redis.restart();
  BOOST_TEST(client.drain() == 0u);
  BOOST_TEST(redis.size_of("queue:reports") == 2u);
  BOOST_REQUIRE(locks().size() == 1u);
  BOOST_TEST(redis.get(locks().front()).value_or("") == jid);
  BOOST_TEST(client.enqueue(MonthlyReport{"acme", 5}) == "");
}

// Whatever deletes or kills a waiting job releases its lock in the same step.
BOOST_FIXTURE_TEST_CASE(a_deleted_job_holds_no_lock, UniqueFixture) {
  Api api{redis.url()};
  for (const bool kill : {false, true}) {
    for (const char* set : {"schedule", "retry"}) {
      BOOST_TEST_CONTEXT(set << (kill ? " kill" : " delete")) {
        client.enqueue_in(1h, MonthlyReport{"acme", 5});
        BOOST_REQUIRE(locks().size() == 1u);
        if (set == std::string("retry")) {
          const auto [payload, score] = redis.zrange("schedule").front();
          redis.command({"ZREM", RedisKey("schedule"), payload});
          redis.command({"ZADD", RedisKey("retry"), "1", payload});
        }
        JobSet entries = set == std::string("retry") ? api.retries() : api.scheduled();
        for (const SetEntry& entry : entries.page(0)) BOOST_TEST((kill ? entries.kill(entry) : entries.remove(entry)));
        BOOST_TEST(locks().size() == 0u);
        redis.command({"DEL", RedisKey("dead")});
      }
    }
  }
}

BOOST_FIXTURE_TEST_CASE(a_lock_that_another_has_by_now_is_left_alone, UniqueFixture) {
  Api api{redis.url()};
  client.enqueue_in(1h, MonthlyReport{"acme", 5});
  const std::string lock = locks().front();
  redis.command({"SET", RedisKey(lock), "another"});
  JobSet scheduled = api.scheduled();
  for (const SetEntry& entry : scheduled.page(0)) BOOST_TEST(scheduled.remove(entry));
  BOOST_TEST(redis.get(lock).value_or("") == "another");
}

BOOST_FIXTURE_TEST_CASE(what_clears_a_queue_or_a_set_lets_go_of_its_locks, UniqueFixture) {
  Api api{redis.url()};
  for (int month = 0; month < 300; ++month) client.enqueue(MonthlyReport{"acme", month});
  client.enqueue(MonthlyReport{"acme", 1}, {.unique = false});
  client.enqueue_in(1h, MonthlyReport{"acme", 1000});
  BOOST_TEST(locks().size() == 301u);
  BOOST_TEST(api.queue("reports").remove(api.queue("reports").page(0, 2).back()));
  BOOST_TEST(locks().size() == 300u);
  api.queue("reports").clear();
  BOOST_TEST(redis.size_of("queue:reports") == 0u);
  BOOST_TEST(locks().size() == 1u);
  api.scheduled().clear();
  BOOST_TEST(redis.size_of("schedule") == 0u);
  BOOST_TEST(locks().size() == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_queue_that_is_cleared_under_pushes_keeps_no_lock_of_a_job_that_is_gone, UniqueFixture) {
  Api api{redis.url()};
  std::vector<MonthlyReport> first;
  for (int month = 0; month < 6000; ++month) first.push_back({"acme", month});
  client.enqueue_bulk(first);
  std::atomic<bool> enough = false;
  std::atomic<int> pushed = 0;
  std::thread pusher([&] {
    Client another{redis.url()};
    for (int i = 0; !enough; ++i) {
      std::vector<MonthlyReport> some;
      for (int j = 0; j < 200; ++j) some.push_back({"more", 200 * i + j});
      another.enqueue_bulk(some);
      pushed += 200;
    }
  });
  while (pushed < 2'000) std::this_thread::yield();
  std::size_t deleted = 0;
  for (int i = 0; i < 3; ++i) deleted += api.queue("reports").clear();
  enough = true;
  pusher.join();
  const std::size_t left = redis.size_of("queue:reports");
  BOOST_TEST(deleted + left == 6000u + static_cast<std::size_t>(pushed));
  BOOST_TEST(locks().size() == left);
  api.queue("reports").clear();
  BOOST_TEST(redis.keys("*") == std::vector<std::string>{}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(what_a_clear_has_left_aside_is_deleted_by_the_next, UniqueFixture) {
  Api api{redis.url()};
  for (int month = 0; month < 10; ++month) client.enqueue(MonthlyReport{"acme", month});
  redis.command({"RENAME", "queue:reports", "queue:reports (cleared)"});  // and there its process ended
  client.enqueue(MonthlyReport{"acme", 10});
  BOOST_TEST(api.queue("reports").clear() == 11u);
  BOOST_TEST(locks().size() == 0u);
  BOOST_TEST(redis.size_of("queue:reports (cleared)") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_job_that_is_raised_from_the_dead_holds_its_lock_again, UniqueFixture) {
  Api api{redis.url()};
  const std::string jid = client.enqueue_in(1h, ReportOfCustomer{"acme", 1});
  JobSet scheduled = api.scheduled(), dead = api.dead();
  BOOST_TEST(scheduled.kill(scheduled.page(0).at(0)));
  BOOST_TEST(locks().empty());
  BOOST_TEST(dead.run(dead.page(0).at(0)));
  BOOST_TEST(redis.size_of("dead") == 0u);
  BOOST_TEST(redis.size_of("queue:default") == 1u);
  BOOST_TEST(only_holder() == jid);
  const std::int64_t left = redis.integer({"PTTL", RedisKey(locks().at(0))});
  BOOST_TEST(left > 590'000);
  BOOST_TEST(left <= 600'000);
}

BOOST_FIXTURE_TEST_CASE(a_dead_job_whose_lock_another_holds_stays_dead_unless_it_may_wait, UniqueFixture) {
  Api api{redis.url()};
  JobSet dead = api.dead();
  const auto die = [&](OnConflict on_conflict) {
    client.enqueue_in(1h, LatestOfCustomer{"acme", 1}, {.on_conflict = on_conflict});
    JobSet scheduled = api.scheduled();
    scheduled.kill(scheduled.page(0).at(0));
  };
  die(OnConflict::drop);
  const std::string holder = client.enqueue(LatestOfCustomer{"acme", 2});
  const auto names_holder = [&](const RedisError& error) {
    return std::string(error.what()).find(holder) != std::string::npos;
  };
  BOOST_CHECK_EXCEPTION(dead.run(dead.page(0).at(0)), RedisError, names_holder);
  BOOST_TEST(dead.run_all().stuck == 1u);
  BOOST_TEST(redis.size_of("dead") == 1u);
  dead.clear();
  die(OnConflict::after);
  BOOST_TEST(dead.run(dead.page(0).at(0)));
  BOOST_TEST(redis.size_of("queue:latest") == 2u);
  BOOST_TEST(only_holder() == holder);
}

BOOST_FIXTURE_TEST_CASE(a_lock_whose_job_a_ruby_process_runs_is_its_jobs, UniqueFixture) {
  client.enqueue(MonthlyReport{"acme", 5});
  client.enqueue(MonthlyReport{"acme", 6});
  const std::string running = redis.lrange("queue:reports").at(0), gone = redis.lrange("queue:reports").at(1);
  redis.command({"DEL", "queue:reports"});
  const std::string process = "web1:100:abcdefabcdef";
  redis.command({"SADD", "processes", process});
  redis.command({"HSET", process, "info", R"({"version":"7.3.0","queues":["reports"]})"});
  Connection connection(redis.address());
  int waits = 0;
  // The Ruby process publishes the job a moment after it has fetched it.
  const auto told = [&](std::chrono::milliseconds time) {
    ++waits;
    BOOST_TEST(time.count() > 10'000);
    redis.command({"HSET", process + ":work", "t1", "{\"payload\":" + json_string(running) + "}"});
  };
  const std::vector<UniqueLock> let_go = let_go_of_abandoned_locks(connection, told);
  BOOST_TEST(waits == 1);
  BOOST_REQUIRE(let_go.size() == 1u);
  BOOST_TEST(let_go[0].key == lock_of(gone));
  BOOST_TEST(locks() == std::vector{lock_of(running)}, boost::test_tools::per_element());
  // In the form of releases below 7.
  redis.command({"DEL", process + ":work"});
  redis.command({"HSET", process + ":work", "t1", "{\"payload\":" + running + "}"});
  BOOST_TEST(let_go_of_abandoned_locks(connection, [](std::chrono::milliseconds) {}).empty());
  redis.command({"DEL", process + ":work"});
  BOOST_TEST(let_go_of_abandoned_locks(connection, [](std::chrono::milliseconds) {}).size() == 1u);
}
