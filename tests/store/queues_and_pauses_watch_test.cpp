#include "supervisor/queues/queues_and_pauses_watch.hpp"

#include <boost/test/unit_test.hpp>

#include "supervisor/queues/key_change_listener.hpp"
#include "tests/store/invented_workers.hpp"
#include "tests/store/loop_with_redis.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Watching : LoopWithRedis {
  KnownQueues known;
  InventedWorkers workers;
  QueuesAndPausesWatch queues{loop, connection, workers, [this](const KnownQueues& now) { known = now; }};
  KeyChangeListener watch{loop,
                          connection,
                          {{"paused", [this] { queues.look(); }},
                           {"brood:paused_classes", [this] { queues.look(); }},
                           {"queues", [this] { queues.look(); }}},
                          [this](bool hears) { queues.rely_on_reports(hears); }};

  void begin() {
    queues.follow_names(true);
    queues.look();
    watch.listen();
    BOOST_REQUIRE(run_until([&] { return watch.hears(); }));
    run_for(50ms);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(pauses_and_new_queues_are_known_at_once_if_changes_are_reported, Watching) {
  begin();
  for (std::size_t number = 1; number <= 5; ++number) {
    redis.command({"SADD", "paused", "paused" + std::to_string(number)});
    BOOST_TEST(run_until([&] { return known.paused.size() == number; }, 900ms));
    redis.command({"SADD", "brood:paused_classes", "Class" + std::to_string(number)});
    BOOST_TEST(run_until([&] { return known.paused_classes.size() == number; }, 900ms));
    redis.command({"SADD", "queues", "new" + std::to_string(number)});
    BOOST_TEST(run_until([&] { return known.names.size() == number; }, 900ms));
  }
  const std::int64_t before = redis.commands_processed();
  run_for(1500ms);
  BOOST_TEST(redis.commands_processed() - before <= 1 + 4);  // this question, and one look
}

BOOST_FIXTURE_TEST_CASE(without_reports_of_changes_it_polls_as_often_as_before, Watching) {
  begin();
  watch.stop();
  redis.command({"SADD", "paused", "one"});
  BOOST_TEST(run_until([&] { return known.paused.size() == 1; }, 3s));
  for (std::size_t number = 1; number <= 5; ++number) {
    redis.command({"SADD", "queues", "new" + std::to_string(number)});
    BOOST_TEST(run_until([&] { return known.names.size() == number; }, 1s));
  }
}

BOOST_FIXTURE_TEST_CASE(a_change_during_a_look_is_looked_at_after_it, Watching) {
  queues.look();
  redis.command({"SADD", "paused", "one"});
  queues.look();
  BOOST_TEST(run_until([&] { return known.paused.size() == 1; }, 900ms));
}

BOOST_FIXTURE_TEST_CASE(pauses_that_it_may_not_read_any_more_stay_as_they_were, Watching) {
  redis.command({"SADD", "paused", "one"});
  begin();
  BOOST_REQUIRE(run_until([&] { return known.paused.size() == 1; }, 900ms));
  const auto refusals = [&] {
    const Reply log = redis.command({"ACL", "LOG"});
    return log.view().size();
  };
  BOOST_REQUIRE(redis.command({"ACL", "SETUSER", redis.user(), "resetkeys", "~queues"}).view().error().empty());
  queues.look();
  BOOST_REQUIRE(run_until([&] { return refusals() > 0; }));
  run_for(50ms);
  BOOST_TEST(known.paused.count("one") == 1u);

  redis.command({"ACL", "SETUSER", redis.user(), "allkeys"});
  redis.command({"DEL", "paused"});
  queues.look();
  BOOST_TEST(run_until([&] { return known.paused.empty(); }, 3s));
}

BOOST_FIXTURE_TEST_CASE(unchanged_names_are_not_read_again_if_changes_are_reported, Watching) {
  redis.command({"SADD", "queues", "one", "two"});
  begin();
  BOOST_REQUIRE(run_until([&] { return known.names.size() == 2; }));
  redis.command({"CONFIG", "RESETSTAT"});
  const auto calls = [&](const std::string& command) {
    const std::string stats(redis.command({"INFO", "commandstats"}).view().text());
    const std::size_t at = stats.find("cmdstat_" + command + ":calls=");
    return at == std::string::npos ? 0 : std::stoi(stats.substr(at + command.size() + 15));
  };
  BOOST_REQUIRE(run_until([&] { return calls("scard") >= 3; }, 30s));  // as many looks
  BOOST_TEST(calls("smembers") <= 2 * calls("scard") - 3);             // for what is paused, not for names
}
