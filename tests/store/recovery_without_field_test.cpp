// Jobs in flight whose field in the in-flight hash is lost: a recovery finds them, and the sweep.
#include "shared/store/in_flight/recover_worker.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/store/keys.hpp"
#include "tests/store/dead_holder.hpp"

using namespace brood;
using namespace brood::holding;
using enum EntryState;

namespace {

bool nobody_lives(const InFlightList&) { return false; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_scribbled_field_is_removed_and_its_list_found_by_the_sweep) {
  DeadHolder holder({"1"}, at_number_1({running}));
  holder.redis.call({"HSET", hash, field, "rubbish"});

  holder.recover();

  BOOST_TEST(!holder.server.hget(hash, field));
  BOOST_TEST(give_back_lists_without_field(holder.redis, nobody_lives) == 1);
  BOOST_TEST(holder.waiting() == Strings{"1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_sweep_gives_back_lists_without_a_field_and_no_others) {
  DeadHolder holder({"owned"});
  const std::string stray = keys::in_flight_list(identity, "2.16", "x:y").name();
  for (int i = 0; i < 250; ++i) holder.redis.call({"LPUSH", stray, std::to_string(i)});
  holder.redis.call({"LPUSH", "queue:x:y", "waits"});
  holder.redis.call({"LPUSH", "brood:inflight:no such shape:x", "1"});
  holder.redis.call({"SET", keys::in_flight_list(identity, "2.15", "x"), "dead"});

  BOOST_TEST(give_back_lists_without_field(holder.redis, nobody_lives) == 250);
  BOOST_TEST(give_back_lists_without_field(holder.redis, nobody_lives) == 0);

  const Strings waiting = holder.server.lrange("queue:x:y");
  BOOST_REQUIRE(waiting.size() == 251u);
  BOOST_TEST(waiting.front() == "waits");
  BOOST_TEST(waiting.back() == "0");
  BOOST_TEST(holder.server.size_of(list) == 1u);
}

BOOST_AUTO_TEST_CASE(the_sweep_goes_on_behind_a_queue_that_is_no_list) {
  DeadHolder holder({});
  for (const std::string queue : {"bad", "good"})
    holder.redis.call({"LPUSH", keys::in_flight_list(identity, "2.16", queue), "1"});
  holder.redis.call({"SET", "queue:bad", "x"});

  BOOST_TEST(give_back_lists_without_field(holder.redis, nobody_lives) == 1);
  BOOST_TEST(holder.server.size_of(keys::in_flight_list(identity, "2.16", "bad").name()) == 1u);
}

BOOST_AUTO_TEST_CASE(the_sweep_leaves_alone_what_the_living_hold) {
  DeadHolder holder({"held"});
  holder.redis.call({"DEL", hash});
  const OwnIncarnations with_it{identity, {field}, 20}, before_it{identity, {}, 16}, without_it{identity, {}, 17};

  for (const OwnIncarnations& own : {with_it, before_it}) {
    BOOST_TEST(give_back_lists_without_field(holder.redis, [&](const auto& one) { return own.lives(one.field); }) == 0);
    BOOST_TEST(holder.server.size_of(list) == 1u);
  }
  BOOST_TEST(
      give_back_lists_without_field(holder.redis, [&](const auto& one) { return without_it.lives(one.field); }) == 1);
}

BOOST_AUTO_TEST_CASE(a_dead_worker_of_another_shard_is_not_looked_for_among_all_keys) {
  DeadHolder holder({"1"}, DeadWorker::Record{1, {running}, "a", "one"});
  holder.redis.call({"DEL", hash});
  holder.dead.served_elsewhere = true;
  holder.redis.call({"CONFIG", "RESETSTAT"});

  BOOST_TEST(holder.recover().somebody_was_first);

  const Reply stats = holder.server.command({"INFO", "commandstats"});
  BOOST_TEST(stats.view().text().find("cmdstat_scan:") == std::string_view::npos, stats.view().text());
  BOOST_TEST(holder.server.size_of(list) == 1U);  // the sweep's
}

BOOST_AUTO_TEST_CASE(a_dead_worker_whose_field_is_lost_is_judged_if_its_last_entry_is_known) {
  const auto payload = [](const std::string& jid) { return R"({"jid":")" + jid + R"(","class":"A","args":[]})"; };
  for (const bool known : {true, false}) {
    DeadHolder holder({payload("one"), payload("two"), payload("three")},
                      DeadWorker::Record{1, {succeeded, running, fetched}, "a", known ? "two" : "other"});
    holder.redis.call({"DEL", hash});

    const RecoveryResult result = holder.recover();

    BOOST_TEST(result.acknowledged == (known ? 1 : 0));
    BOOST_TEST(result.charged == (known ? 1 : 0));
    BOOST_TEST(result.given_back == (known ? 1 : 3));
    BOOST_TEST(holder.server.size_of("retry") == (known ? 1u : 0u));
    BOOST_TEST(holder.waiting().back() == (known ? payload("three") : payload("one")));
    BOOST_TEST(holder.server.size_of(list) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_dead_worker_whose_field_is_lost_leaves_no_list_of_another_queue) {
  DeadHolder holder({}, DeadWorker::Record{1, {}, "a", ""});
  const std::string other = keys::in_flight_list(identity, field, "b").name();
  holder.redis.call({"LPUSH", other, "1"});
  holder.redis.call({"DEL", hash});

  BOOST_TEST(holder.recover().given_back == 1);

  BOOST_TEST(holder.server.lrange("queue:b") == Strings{"1"}, boost::test_tools::per_element());
  BOOST_TEST(holder.type_of_list() == "string");  // for the BLMOVE that may still be on its way
}
