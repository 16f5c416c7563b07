#include <boost/test/unit_test.hpp>
#include <brood/api.hpp>
#include <brood/client.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "shared/api/opening.hpp"
#include "shared/job/payload.hpp"
#include "shared/json/json.hpp"
#include "shared/store/in_flight/lock_list.hpp"
#include "shared/store/queues/push_unique.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/unique_jobs.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct LongerEachTime {
  int number = 0;

  static constexpr JobOptions options{.unique_for = 600s, .on_conflict = OnConflict::extend};
  static constexpr std::string_view job_class = "LongerEachTime";
  void perform() {}
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_job_that_waits_in_a_queue_is_replaced_in_its_place, UniqueFixture) {
  const std::string first = client.enqueue(LatestOfCustomer{"acme", 1});
  client.enqueue(LatestOfCustomer{"emca", 1});
  const std::string second = client.enqueue(LatestOfCustomer{"acme", 2});
  BOOST_TEST(second != "");
  BOOST_TEST(second != first);
  BOOST_TEST(args_in("latest") == (std::vector<std::string>{R"(["emca",1])", R"(["acme",2])"}),
             boost::test_tools::per_element());
  BOOST_TEST(client.holder(LatestOfCustomer{"acme", 3}) == second);
  BOOST_TEST(locks().size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(what_replaces_a_job_runs_when_it_says, UniqueFixture) {
  client.enqueue_in(1h, LatestOfCustomer{"acme", 1});
  const double soon = redis.zrange("schedule").at(0).second;
  client.enqueue_in(2h, LatestOfCustomer{"acme", 2});
  BOOST_REQUIRE(redis.size_of("schedule") == 1u);
  BOOST_TEST(redis.zrange("schedule").at(0).second > soon + 3000);
  const std::string at_once = client.enqueue(LatestOfCustomer{"acme", 3});
  BOOST_TEST(redis.size_of("schedule") == 0u);
  BOOST_TEST(args_in("latest") == std::vector<std::string>{R"(["acme",3])"}, boost::test_tools::per_element());
  BOOST_TEST(only_holder() == at_once);
  const std::string later = client.enqueue_in(1h, LatestOfCustomer{"acme", 4});
  BOOST_TEST(redis.size_of("queue:latest") == 0u);
  BOOST_REQUIRE(redis.size_of("schedule") == 1u);
  BOOST_TEST(only_holder() == later);
  const std::string payload = redis.zrange("schedule").at(0).first;
  redis.command({"ZREM", RedisKey("schedule"), payload});
  redis.command({"ZADD", RedisKey("retry"), "1", payload});
  const std::string after_failure = client.enqueue(LatestOfCustomer{"acme", 5});
  BOOST_TEST(redis.size_of("retry") == 0u);
  BOOST_TEST(only_holder() == after_failure);
}

// The places where a job may wait: in its queue; beside it, for a place of its class's cap; in quarantine, or for its
// paused class; in or beside the queue of its retries.
BOOST_FIXTURE_TEST_CASE(a_job_is_replaced_wherever_it_waits, UniqueFixture) {
  redis.command({"SADD", RedisKey("brood:set_aside"), "latest@heavy", "again@heavy"});
  const EnqueueOptions retried_elsewhere{.retry_queue = "again"};
  for (const char* const place : {"queue:latest@heavy", "queue:again", "queue:again@heavy", "brood:quarantined"}) {
    BOOST_TEST_CONTEXT(place) {
      client.enqueue(LatestOfCustomer{"acme", 1}, retried_elsewhere);
      client.enqueue(LatestOfCustomer{"other", 1});
      const RedisKey there(place), queue("queue:latest");
      const bool is_set = there.name() == "brood:quarantined";
      for (const std::string& payload : redis.lrange("queue:latest")) {
        if (is_set)
          redis.command({"ZADD", there, "5", payload});
        else
          redis.command({"RPUSH", there, payload});
      }
      redis.command({"DEL", queue});

      const std::string newest = client.enqueue(LatestOfCustomer{"acme", 2}, retried_elsewhere);
      BOOST_TEST(newest != "");
      BOOST_TEST(client.holder(LatestOfCustomer{"acme", 0}) == newest);
      // The new job waits in its own queue.  If the other waits beside that queue, the new job takes its position
      // there.
      const bool stays = there.name() == "queue:latest@heavy";
      BOOST_TEST(redis.size_of(place) == (stays ? 2u : 1u));
      BOOST_REQUIRE(redis.size_of(stays ? place : "queue:latest") == (stays ? 2u : 1u));
      const std::string payload = redis.lrange(stays ? place : "queue:latest").back();
      BOOST_TEST(Payload::parse(payload).jid() == newest);

      const std::string scheduled = client.enqueue_in(1h, LatestOfCustomer{"other", 2}, retried_elsewhere);
      BOOST_TEST(client.holder(LatestOfCustomer{"other", 0}) == scheduled);
      BOOST_TEST(redis.size_of("schedule") == 1u);
      redis.command({"DEL", there, queue, RedisKey("schedule")});
      for (const std::string& lock : locks()) redis.command({"DEL", RedisKey(lock)});
    }
  }
}

BOOST_FIXTURE_TEST_CASE(a_job_that_runs_is_not_replaced, UniqueFixture) {
  const std::string runs = client.enqueue(LatestOfCustomer{"acme", 1});
  redis.command({"LMOVE", RedisKey("queue:latest"), RedisKey("brood:inflight:x:1.1:latest"), "RIGHT", "LEFT"});
  BOOST_TEST(client.enqueue(LatestOfCustomer{"acme", 2}) == "");
  BOOST_TEST(client.enqueue_in(1h, LatestOfCustomer{"acme", 2}) == "");
  BOOST_TEST(only_holder() == runs);
  BOOST_TEST(redis.size_of("queue:latest") == 0u);
  BOOST_TEST(redis.size_of("schedule") == 0u);
}

// If another client was faster, the script changes nothing.
BOOST_FIXTURE_TEST_CASE(a_job_that_has_moved_or_lost_its_lock_is_not_replaced, UniqueFixture) {
  Connection connection{redis.address()};
  const auto run = [&](const ScriptCall& call) { return connection.run(call); };
  for (const bool scheduled : {false, true}) {
    client.enqueue_in(scheduled ? 1000s : 0s, LatestOfCustomer{"acme", 1});
    const std::string jid = only_holder(), lock = locks().at(0).substr(std::string("brood:unique:").size());
    const auto waits = find_waiting_holder(run, {"latest"}, {}, lock, jid);
    BOOST_REQUIRE(waits.has_value());
    const UniqueJob job{.lock = lock, .jid = "new", .score_text = scheduled ? "5" : "", .payload = "{}"};
    const auto replaces = [&] {
      return read_replaced(run(replace_unique(scheduled ? "" : "latest", *waits, job)).view());
    };
    redis.command({"SET", RedisKey(locks().at(0)), "another"});
    BOOST_TEST(!replaces());
    redis.command({"SET", RedisKey(locks().at(0)), jid});
    if (scheduled)
      redis.command({"ZADD", RedisKey("schedule"), "7", waits->payload});
    else
      redis.command({"LMOVE", RedisKey("queue:latest"), RedisKey("queue:other"), "LEFT", "LEFT"});
    BOOST_TEST(!replaces());
    BOOST_TEST(only_holder() == jid);
    BOOST_TEST(redis.size_of("queue:latest") == 0u);
    BOOST_TEST(redis.size_of("schedule") == (scheduled ? 1u : 0u));
    redis.command({"DEL", RedisKey("schedule"), RedisKey(locks().at(0))});
  }
}

BOOST_FIXTURE_TEST_CASE(of_a_bulk_the_last_replaces_the_others_however_many_wait, UniqueFixture) {
  std::vector<MonthlyReport> others;
  for (int month = 0; month < 2500; ++month) others.push_back({"acme", month});
  client.enqueue(LatestOfCustomer{"acme", 0}, {.queue = "reports"});
  client.enqueue_bulk(others);
  const std::vector<std::string> jids =
      client.enqueue_bulk(std::vector<LatestOfCustomer>{{"acme", 1}, {"emca", 1}, {"acme", 2}}, {.queue = "reports"});
  BOOST_REQUIRE(jids.size() == 3u);
  BOOST_TEST(client.holder(LatestOfCustomer{"acme", 0}, {.queue = "reports"}) == jids[2]);
  BOOST_TEST(args_in("reports").back() == R"(["acme",2])");
  BOOST_TEST(redis.size_of("queue:reports") == 2502u);
}

// Programs that choose the jid push like this.
BOOST_FIXTURE_TEST_CASE(a_job_that_cannot_replace_one_that_runs_was_not_pushed_however_often_it_is_sent,
                        UniqueFixture) {
  const auto push = [&](const char* jid) {
    return detail::Opening::push_once(
        client,
        {.job_class = "Latest", .jid = jid, .members = {{"unique_until", "\"done\""}, {"on_conflict", "\"replace\""}}});
  };
  BOOST_TEST(push("first") == "first");
  redis.command({"LMOVE", RedisKey("queue:default"), RedisKey("brood:inflight:x:1.1:default"), "RIGHT", "LEFT"});
  for (int i = 0; i < 3; ++i) BOOST_TEST(push("second") == "");
  BOOST_TEST(only_holder() == "first");
  redis.command({"DEL", RedisKey(locks().at(0)), RedisKey("brood:inflight:x:1.1:default")});  // it is done
  for (int i = 0; i < 2; ++i) BOOST_TEST(push("second") == "second");
  BOOST_TEST(redis.size_of("queue:default") == 1u);
  for (int i = 0; i < 2; ++i) BOOST_TEST(push("third") == "third");
  BOOST_TEST(only_holder() == "third");
  redis.command({"DEL", RedisKey(locks().at(0)), RedisKey("queue:default")});  // and so is the third
  for (const char* jid : {"second", "third"}) BOOST_TEST(push(jid) == jid);
  BOOST_TEST(redis.size_of("queue:default") == 0u);
}

// A program that sends it every hour pushes one job a day.
BOOST_FIXTURE_TEST_CASE(a_job_that_names_its_jid_can_be_pushed_again_a_day_after_it_was, UniqueFixture) {
  for (const bool unique : {false, true}) {
    const std::string jid = unique ? "one" : "some";
    const auto push = [&] {
      std::vector<std::pair<std::string, std::string>> members;
      if (unique) members.emplace_back("unique_until", "\"start\"");
      return detail::Opening::push_once(client, {.job_class = "Hourly", .jid = jid, .members = members});
    };
    const RedisKey pushed("brood:pushes:jid:" + jid);
    BOOST_TEST(push() == jid);
    BOOST_TEST(redis.integer({"PTTL", pushed}) > 86'000'000);
    redis.command({"PEXPIRE", pushed, "60000"});
    BOOST_TEST(push() == jid);
    BOOST_TEST(redis.integer({"PTTL", pushed}) <= 60'000);
    BOOST_TEST(redis.integer({"PTTL", pushed}) > 0);
    redis.command({"PERSIST", pushed});
    BOOST_TEST(push() == jid);
    BOOST_TEST(redis.integer({"PTTL", pushed}) > 86'000'000);
  }
  BOOST_TEST(redis.size_of("queue:default") == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_refused_push_may_extend_the_lock, UniqueFixture) {
  const std::string jid = client.enqueue(LongerEachTime{1});
  const RedisKey lock(locks().at(0));
  redis.command({"PEXPIRE", lock, "5000"});
  BOOST_TEST(client.enqueue(LongerEachTime{1}) == "");
  BOOST_TEST(redis.integer({"PTTL", lock}) > 590'000);
  BOOST_TEST(client.enqueue(LongerEachTime{1}, {.unique_for = 10s}) == "");
  BOOST_TEST(redis.integer({"PTTL", lock}) > 590'000);
  redis.command({"PERSIST", lock});
  BOOST_TEST(client.enqueue(LongerEachTime{1}) == "");
  BOOST_TEST(redis.integer({"PTTL", lock}) == -1);
  BOOST_TEST(only_holder() == jid);
  BOOST_TEST(redis.size_of("queue:default") == 1u);
}

BOOST_FIXTURE_TEST_CASE(what_is_to_run_after_another_is_pushed_without_the_lock, UniqueFixture) {
  const std::string first = client.enqueue(LatestOfCustomer{"acme", 1}, {.on_conflict = OnConflict::after});
  const std::string second = client.enqueue(LatestOfCustomer{"acme", 2}, {.on_conflict = OnConflict::after});
  BOOST_TEST(second != "");
  BOOST_TEST(client.enqueue_in(1h, LatestOfCustomer{"acme", 3}, {.on_conflict = OnConflict::after}) != "");
  BOOST_TEST(client.enqueue(LatestOfCustomer{"acme", 4}, {.on_conflict = OnConflict::drop}) == "");
  BOOST_TEST(only_holder() == first);
  BOOST_TEST(redis.size_of("queue:latest") == 2u);
  BOOST_TEST(redis.size_of("schedule") == 1u);
  // The job holds no lock: a deletion releases none.
  Queue latest = Api{redis.url()}.queue("latest");
  const std::vector<JobRecord> waiting = latest.page(0);
  BOOST_REQUIRE(waiting.front().jid == second);
  BOOST_TEST(latest.remove(waiting.front()));
  BOOST_TEST(only_holder() == first);
  BOOST_TEST(latest.remove(waiting.back()));
  BOOST_TEST(locks().empty());
}

BOOST_FIXTURE_TEST_CASE(a_conflict_that_makes_no_sense_is_refused, UniqueFixture) {
  BOOST_CHECK_THROW(client.enqueue(MonthlyReport{}, {.on_conflict = OnConflict::extend}), std::invalid_argument);
  for (const char* on_conflict : {"replace", "extend", "never"}) {
    const Push push{
        .job_class = "A",
        .args = "[]",
        .members = {{"unique_until", R"("running")"}, {"on_conflict", '"' + std::string(on_conflict) + '"'}}};
    BOOST_CHECK_THROW(client.push(push), std::invalid_argument);
  }
}
