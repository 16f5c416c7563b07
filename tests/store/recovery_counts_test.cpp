// Counts how often a job was given back.  The third time it is moved to dead.
#include <boost/test/unit_test.hpp>

#include "shared/base/digest.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "tests/store/dead_holder.hpp"

using namespace brood;
using namespace brood::holding;
using enum EntryState;

BOOST_AUTO_TEST_CASE(without_a_scoreboard_everything_goes_back_and_is_counted) {
  for (const std::optional<DeadWorker::Record>& record :
       {std::optional<DeadWorker::Record>{}, std::optional(DeadWorker::Record{999, {running}})}) {
    DeadHolder holder({"1", "2"}, record);

    const RecoveryResult result = holder.recover();

    BOOST_TEST(result.given_back == 2);
    BOOST_TEST(holder.waiting() == (Strings{"2", "1"}), boost::test_tools::per_element());
    const Strings counters = holder.server.keys("brood:recovered:*");
    BOOST_REQUIRE(counters.size() == 2u);
    // SHA-1 of "1" and of "2".
    BOOST_TEST(counters[0] == "brood:recovered:356a192b7913b04c54574d18c28d46e6395428ab");
    BOOST_TEST(counters[1] == "brood:recovered:da4b9237bacccdf19c0760cab7aec4a8359010b0");
    BOOST_TEST(holder.server.get(counters[0]).value() == "1");
    BOOST_TEST(holder.server.integer({"TTL", counters[0]}) > 72 * 3600 - 60);
  }
}

BOOST_AUTO_TEST_CASE(a_job_recovered_three_times_without_a_scoreboard_is_orphaned) {
  DeadHolder holder({"poison", "good"});
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(holder.recover().given_back == 2);
    holder.redis.call({"DEL", "queue:a"});
    holder.die_with({"poison", i == 0 ? "good" : "better"});
  }

  const RecoveryResult result = holder.recover();

  BOOST_TEST(result.orphaned == 1);
  BOOST_TEST(result.given_back == 1);
  BOOST_TEST(holder.server.zrange("dead").at(0).first == "poison orphaned");
  BOOST_TEST(holder.waiting() == Strings{"better"}, boost::test_tools::per_element());

  BOOST_TEST(holder.server.keys("brood:recovered:*").size() == 2u);  // good and better; the orphan is not counted on
}

BOOST_AUTO_TEST_CASE(a_large_job_is_orphaned_too) {
  const std::string large(100'000, 'L');
  DeadHolder holder({large, "1"});
  holder.redis.call({"SET", "brood:recovered:" + sha1_hex(large), "2"});

  BOOST_TEST(holder.recover().orphaned == 1);
  BOOST_TEST(holder.server.zrange("dead").at(0).first == large + " orphaned");
  BOOST_TEST(holder.waiting() == Strings{"1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_third_recovery_asks_first_and_writes_nothing) {
  DeadHolder holder({"1"});
  holder.redis.call({"SET", "brood:recovered:356a192b7913b04c54574d18c28d46e6395428ab", "2"});

  const Reply reply =
      holder.redis.run(recovery_call(holder.dead, {.queue = "a", .verdicts = {}, .orphans = {}}, {}, wall_now()));
  const RecoveryAnswer answer = read_recovery(reply.view());

  BOOST_TEST((answer.kind == RecoveryAnswer::Kind::orphans));
  BOOST_TEST(answer.payloads == Strings{"1"}, boost::test_tools::per_element());
  BOOST_TEST(holder.server.hget(hash, field).value() == "1 a");
  BOOST_TEST(holder.server.size_of(list) == 1u);
}

BOOST_AUTO_TEST_CASE(of_equal_payloads_one_is_orphaned_and_none_is_lost) {
  DeadHolder holder({"1", "1", "1"});
  holder.redis.call({"SET", "brood:recovered:356a192b7913b04c54574d18c28d46e6395428ab", "2"});

  const RecoveryResult result = holder.recover();

  BOOST_TEST(result.orphaned == 1);
  BOOST_TEST(holder.waiting() == (Strings{"1", "1"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_counter_of_another_type_does_not_stop_a_recovery) {
  DeadHolder holder({"1"});
  holder.redis.call({"LPUSH", "brood:recovered:356a192b7913b04c54574d18c28d46e6395428ab", "x"});
  BOOST_TEST(holder.recover().given_back == 1);
}

BOOST_AUTO_TEST_CASE(what_is_given_back_with_a_count_is_counted_by_the_same_script) {
  for (const bool has_field : {true, false}) {
    const std::string payload = R"({"jid":"one","class":"A","args":[]})";
    DeadHolder holder({payload}, DeadWorker::Record{1, {running}, "a", "one"});
    if (!has_field) holder.redis.call({"DEL", hash});
    const auto give_back = [](const std::string&, const std::string&) {
      return Outcome{Outcome::Kind::give_back, "", 0};
    };
    BOOST_TEST(brood::recover(holder.redis, holder.dead, DeadLimits{}, give_back, orphan).charged == 1);

    BOOST_TEST(holder.waiting() == Strings{payload}, boost::test_tools::per_element());
    const std::string counter = "brood:recovered:" + sha1_hex(payload);
    BOOST_TEST(holder.server.get(counter).value_or("") == "1");
    BOOST_TEST(holder.server.integer({"TTL", counter}) > 259'000);
  }
}
