#include "shared/store/in_flight/recover_worker.hpp"

#include <boost/test/unit_test.hpp>
#include <tuple>

#include "shared/base/sha1.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/keys.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using Strings = std::vector<std::string>;
using enum EntryState;

namespace {

const std::string identity = "host:1:0123456789ab";
const std::string field = "2.17";
const std::string hash = keys::in_flight_hash(identity).name();
const std::string list = keys::in_flight_list(identity, field, "a").name();

Outcome charge(const std::string& payload, const std::string& queue) {
  return {Outcome::Kind::retry, payload + " charged from " + queue, 5};
}
Outcome orphan(const std::string& payload, const std::string&) {
  return {Outcome::Kind::move_to_dead, payload + " orphaned", 4e9};
}

// A worker that held `payloads` of queue a at number 1 when it died.
struct Grave {
  RedisServer server;
  Connection redis{server.address()};
  DeadWorker dead{identity, 2, 17, std::nullopt, false};

  explicit Grave(const Strings& payloads, std::optional<DeadWorker::Record> record = std::nullopt) {
    dead.record = std::move(record);
    move_to_dead(payloads);
  }
  void move_to_dead(const Strings& payloads) {
    send(redis, register_incarnation(identity, "{}", field));
    redis.call({"HSET", hash, field, "1 a"});
    redis.call({"DEL", list});
    for (const std::string& payload : payloads) redis.call({"LPUSH", list, payload});
  }
  RecoveryResult recover() { return brood::recover(redis, dead, DeadLimits{}, charge, orphan); }
  Strings waiting() { return server.lrange("queue:a"); }
  std::string type_of_list() { return std::string(redis.call({"TYPE", list}).view().text()); }
};

bool nobody_lives(const InFlightList&) { return false; }

DeadWorker::Record at_number_1(std::vector<EntryState> entries) { return {1, std::move(entries)}; }

// Lets something happen just before the n-th command.
class Interrupted : public Channel {
 public:
  Interrupted(Channel& redis, int before, std::function<void()> happens)
      : redis_(redis), left_(before), happens_(std::move(happens)) {}
  Reply call(const Command& command) override {
    if (left_-- == 0) happens_();
    return redis_.call(command);
  }
  void disconnect() override { redis_.disconnect(); }

 private:
  Channel& redis_;
  int left_;
  std::function<void()> happens_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(only_the_running_job_is_charged) {
  Grave grave({"1", "2", "3", "4"}, at_number_1({succeeded, running, fetched, fetched}));
  grave.redis.call({"LPUSH", "queue:a", "5"});

  const RecoveryResult result = grave.recover();

  BOOST_TEST(result.acknowledged == 1);
  BOOST_TEST(result.charged == 1);
  BOOST_TEST(result.given_back == 2);
  BOOST_TEST(grave.server.zrange("retry").at(0).first == "2 charged from a");
  BOOST_TEST(grave.waiting() == (Strings{"5", "4", "3"}), boost::test_tools::per_element());  // 3 is next to run
  BOOST_TEST(!grave.server.hget(hash, field));
  BOOST_TEST(grave.server.size_of("brood:processes") == 0u);
  BOOST_TEST(grave.server.keys("brood:recovered:*").empty());
}

BOOST_AUTO_TEST_CASE(a_failed_job_is_charged_and_an_interrupted_one_is_not) {
  Grave failing({"1", "2"}, at_number_1({failed, fetched}));
  BOOST_TEST(failing.recover().charged == 1);
  BOOST_TEST(failing.waiting() == Strings{"2"}, boost::test_tools::per_element());

  Grave interrupting({"1", "2", "3"}, at_number_1({succeeded, interrupted, fetched}));
  const RecoveryResult result = interrupting.recover();
  BOOST_TEST(result.acknowledged == 1);
  BOOST_TEST(result.charged == 0);
  BOOST_TEST(interrupting.waiting() == (Strings{"3", "2"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_failed_job_becomes_what_its_worker_has_noted_whatever_ended_that) {
  for (const bool ended_by_brood : {false, true}) {
    Grave grave({"1", "2", "3", "4", "5"}, at_number_1({judged, succeeded, judged, judged, running}));
    grave.dead.ended_by_brood = ended_by_brood;
    grave.dead.record->outcomes = {Outcome{Outcome::Kind::retry, "1 failed", 7}, std::nullopt,
                                   Outcome{Outcome::Kind::move_to_dead, "3 failed", 3e9}, Outcome{}};

    const RecoveryResult result = grave.recover();

    BOOST_TEST(result.acknowledged == 2);  // the fourth is stored nowhere
    BOOST_TEST(result.charged == (ended_by_brood ? 2 : 3));
    const auto retries = grave.server.zrange("retry"), dead = grave.server.zrange("dead");
    BOOST_REQUIRE(retries.size() == (ended_by_brood ? 1u : 2u));
    BOOST_TEST(retries.back().first == "1 failed");
    BOOST_TEST(retries.back().second == 7);
    BOOST_REQUIRE(dead.size() == 1u);
    BOOST_TEST(dead.front().first == "3 failed");
    BOOST_TEST(grave.waiting() == (ended_by_brood ? Strings{"5"} : Strings{}), boost::test_tools::per_element());
    BOOST_TEST(grave.type_of_list() == "none");
  }
}

BOOST_AUTO_TEST_CASE(a_failed_job_whose_note_was_scribbled_over_goes_back_uncharged) {
  Grave grave({"1", "2", "3"}, at_number_1({judged, judged, running}));
  grave.dead.record->outcomes = {std::nullopt, Outcome{Outcome::Kind::retry, "2 failed", 7}};

  grave.recover();

  BOOST_TEST(grave.waiting() == Strings{"1"}, boost::test_tools::per_element());
  const auto retries = grave.server.zrange("retry");
  BOOST_REQUIRE(retries.size() == 2u);
  BOOST_TEST(retries.front().first == "3 charged from a");  // who is guilty is charged all the same
  BOOST_TEST(retries.back().first == "2 failed");
}

BOOST_AUTO_TEST_CASE(the_only_job_that_a_worker_out_of_memory_had_not_begun_is_charged) {
  const DeadWorker::Record before_the_answer{0, {succeeded, interrupted}};  // the settle that brought it is applied
  for (const DeadWorker::Record& record : {at_number_1({fetched}), at_number_1({}), before_the_answer}) {
    Grave grave({"1"}, record);
    grave.dead.ran_out_of_memory = true;

    BOOST_TEST(grave.recover().charged == 1);

    BOOST_TEST_REQUIRE(grave.server.size_of("retry") == 1u);
    BOOST_TEST(grave.server.zrange("retry").front().first == "1 charged from a");
    BOOST_TEST(grave.waiting().empty());
    BOOST_TEST(grave.type_of_list() == "none");
  }
}

BOOST_AUTO_TEST_CASE(one_of_several_that_a_worker_had_not_begun_is_never_charged_nor_what_it_has_done) {
  const auto charged = [](const Strings& payloads, DeadWorker::Record record, bool ran_out_of_memory = true) {
    Grave grave(payloads, std::move(record));
    grave.dead.ran_out_of_memory = ran_out_of_memory;
    return grave.recover().charged;
  };
  BOOST_TEST(charged({"1", "2"}, at_number_1({fetched, fetched})) == 0);
  BOOST_TEST(charged({"1", "2"}, {0, {succeeded}}) == 0);
  BOOST_TEST(charged({"1"}, at_number_1({succeeded})) == 0);
  BOOST_TEST(charged({"1"}, at_number_1({interrupted})) == 0);
  BOOST_TEST(charged({"1"}, at_number_1({fetched}), false) == 0);
  BOOST_TEST(charged({"1"}, {0, {succeeded}}, false) == 0);
  BOOST_TEST(charged({"1"}, {0, {failed}}) == 0);
  BOOST_TEST(charged({"1"}, {0, {running}}) == 0);
  BOOST_TEST(charged({"1", "2"}, at_number_1({running, fetched})) == 1);
}

BOOST_AUTO_TEST_CASE(a_worker_that_brood_ended_is_not_charged) {
  Grave grave({"1", "2"}, at_number_1({succeeded, running}));
  grave.dead.ended_by_brood = true;

  const RecoveryResult result = grave.recover();

  BOOST_TEST(result.acknowledged == 1);
  BOOST_TEST(result.charged == 0);
  BOOST_TEST(grave.waiting() == Strings{"2"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_settle_that_was_applied_after_all_leaves_only_unbegun_jobs) {
  Grave grave({"1", "2"}, DeadWorker::Record{0, {running, fetched}});

  const RecoveryResult result = grave.recover();

  BOOST_TEST(result.charged == 0);
  BOOST_TEST(result.given_back == 2);
  BOOST_TEST(grave.waiting() == (Strings{"2", "1"}), boost::test_tools::per_element());
  BOOST_TEST(grave.server.keys("brood:recovered:*").empty());
}

BOOST_AUTO_TEST_CASE(without_a_scoreboard_everything_goes_back_and_is_counted) {
  for (const std::optional<DeadWorker::Record>& record :
       {std::optional<DeadWorker::Record>{}, std::optional(DeadWorker::Record{999, {running}})}) {
    Grave grave({"1", "2"}, record);

    const RecoveryResult result = grave.recover();

    BOOST_TEST(result.given_back == 2);
    BOOST_TEST(grave.waiting() == (Strings{"2", "1"}), boost::test_tools::per_element());
    const Strings counters = grave.server.keys("brood:recovered:*");
    BOOST_REQUIRE(counters.size() == 2u);
    // SHA-1 of "1" and of "2".
    BOOST_TEST(counters[0] == "brood:recovered:356a192b7913b04c54574d18c28d46e6395428ab");
    BOOST_TEST(counters[1] == "brood:recovered:da4b9237bacccdf19c0760cab7aec4a8359010b0");
    BOOST_TEST(grave.server.get(counters[0]).value() == "1");
    BOOST_TEST(grave.server.integer({"TTL", counters[0]}) > 72 * 3600 - 60);
  }
}

BOOST_AUTO_TEST_CASE(a_job_recovered_three_times_without_a_scoreboard_is_orphaned) {
  Grave grave({"poison", "good"});
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(grave.recover().given_back == 2);
    grave.redis.call({"DEL", "queue:a"});
    grave.move_to_dead({"poison", i == 0 ? "good" : "better"});
  }

  const RecoveryResult result = grave.recover();

  BOOST_TEST(result.orphaned == 1);
  BOOST_TEST(result.given_back == 1);
  BOOST_TEST(grave.server.zrange("dead").at(0).first == "poison orphaned");
  BOOST_TEST(grave.waiting() == Strings{"better"}, boost::test_tools::per_element());

  BOOST_TEST(grave.server.keys("brood:recovered:*").size() == 2u);  // good and better; the orphan is not counted on
}

BOOST_AUTO_TEST_CASE(a_large_job_is_orphaned_too) {
  const std::string large(100'000, 'L');
  Grave grave({large, "1"});
  grave.redis.call({"SET", "brood:recovered:" + sha1_hex(large), "2"});

  BOOST_TEST(grave.recover().orphaned == 1);
  BOOST_TEST(grave.server.zrange("dead").at(0).first == large + " orphaned");
  BOOST_TEST(grave.waiting() == Strings{"1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_third_recovery_asks_first_and_writes_nothing) {
  Grave grave({"1"});
  grave.redis.call({"SET", "brood:recovered:356a192b7913b04c54574d18c28d46e6395428ab", "2"});

  const Reply reply =
      send(grave.redis, recovery_call(grave.dead, {.queue = "a", .verdicts = {}, .orphans = {}}, {}, wall_now()));
  const RecoveryAnswer answer = read_recovery(reply.view());

  BOOST_TEST((answer.kind == RecoveryAnswer::Kind::orphans));
  BOOST_TEST(answer.payloads == Strings{"1"}, boost::test_tools::per_element());
  BOOST_TEST(grave.server.hget(hash, field).value() == "1 a");
  BOOST_TEST(grave.server.size_of(list) == 1u);
}

BOOST_AUTO_TEST_CASE(of_equal_payloads_one_is_orphaned_and_none_is_lost) {
  Grave grave({"1", "1", "1"});
  grave.redis.call({"SET", "brood:recovered:356a192b7913b04c54574d18c28d46e6395428ab", "2"});

  const RecoveryResult result = grave.recover();

  BOOST_TEST(result.orphaned == 1);
  BOOST_TEST(grave.waiting() == (Strings{"1", "1"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_counter_of_another_type_does_not_stop_a_recovery) {
  Grave grave({"1"});
  grave.redis.call({"LPUSH", "brood:recovered:356a192b7913b04c54574d18c28d46e6395428ab", "x"});
  BOOST_TEST(grave.recover().given_back == 1);
}

BOOST_AUTO_TEST_CASE(a_second_recovery_finds_that_somebody_was_first) {
  Grave grave({"1"}, at_number_1({running}));
  grave.recover();

  const RecoveryResult again = grave.recover();

  BOOST_TEST(again.somebody_was_first);
  BOOST_TEST(grave.server.size_of("retry") == 1u);
  const RecoveryAnswer answer = read_recovery(
      send(grave.redis, recovery_call(grave.dead, {.queue = "a", .verdicts = {}, .orphans = {}}, {}, wall_now()))
          .view());
  BOOST_TEST(answer.result.somebody_was_first);
}

BOOST_AUTO_TEST_CASE(the_identity_stays_while_another_worker_is_registered) {
  Grave grave({"1"}, at_number_1({running}));
  send(grave.redis, register_incarnation(identity, "{}", "3.18"));
  grave.recover();
  BOOST_TEST(grave.server.hget("brood:processes", identity).value() == "{}");
}

BOOST_AUTO_TEST_CASE(an_empty_list_that_may_be_waited_for_gets_a_tombstone) {
  Grave grave({}, DeadWorker::Record{1, {}});
  grave.redis.call({"LPUSH", "queue:a", "late"});

  grave.recover();

  BOOST_TEST(grave.server.get(list).value() == "dead");
  BOOST_TEST(grave.server.integer({"TTL", list}) > 3500);
  // What the dead worker's last wait does when it arrives now.
  BOOST_TEST(
      grave.redis.call({"BLMOVE", "queue:a", list, "RIGHT", "LEFT", "1"}).view().error().starts_with("WRONGTYPE"));
  BOOST_TEST(grave.waiting() == Strings{"late"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(no_tombstone_where_nothing_can_be_on_its_way) {
  Grave holding({"1"}, at_number_1({fetched}));
  holding.recover();
  BOOST_TEST(holding.type_of_list() == "none");

  Grave polling({}, DeadWorker::Record{1, {}});
  polling.redis.call({"HSET", hash, field, "1 "});
  polling.recover();
  BOOST_TEST(polling.server.keys("brood:inflight:*").empty());
}

BOOST_AUTO_TEST_CASE(a_worker_is_recovered_whose_list_is_a_tombstone_already) {
  Grave grave({}, at_number_1({succeeded}));
  grave.redis.call({"SET", list, "dead"});
  BOOST_TEST(grave.recover().acknowledged == 0);
  BOOST_TEST(!grave.server.hget(hash, field));
  BOOST_TEST(grave.server.get(list).value() == "dead");
}

BOOST_AUTO_TEST_CASE(a_settle_of_the_dead_that_arrives_in_between_is_respected) {
  Grave grave({"1"}, at_number_1({running}));
  Settlement late;
  late.identity = identity;
  late.field = field;
  late.number = 1;
  late.held_queue = "a";
  late.outcomes = {Outcome{}};
  late.draw = {"b"};
  late.want = 1;
  grave.redis.call({"LPUSH", "queue:b", "2"});
  // After the field was read and before the script is sent.
  Interrupted channel(grave.redis, 2, [&] { send(grave.redis, settle_and_fetch(late, wall_now())); });

  const RecoveryResult result = recover(channel, grave.dead, DeadLimits{}, charge, orphan);

  BOOST_TEST(result.charged == 0);
  BOOST_TEST(result.given_back == 1);
  BOOST_TEST(grave.server.lrange("queue:b") == Strings{"2"}, boost::test_tools::per_element());
  BOOST_TEST(grave.server.size_of("retry") == 0u);
}

// The slot says that a job has succeeded, and by now the list holds another.
BOOST_AUTO_TEST_CASE(what_the_dead_has_fetched_in_between_has_not_succeeded) {
  for (const std::string queue : {"a", "b"}) {
    Grave grave({"1"}, at_number_1({succeeded}));
    Settlement late;
    late.identity = identity;
    late.field = field;
    late.number = 1;
    late.held_queue = "a";
    late.outcomes = {Outcome{}};
    late.draw = {queue};
    late.want = 1;
    grave.redis.call({"LPUSH", "queue:" + queue, "2"});
    Interrupted channel(grave.redis, 2, [&] { send(grave.redis, settle_and_fetch(late, wall_now())); });

    const RecoveryResult result = recover(channel, grave.dead, DeadLimits{}, charge, orphan);

    BOOST_TEST(result.acknowledged == 0);
    BOOST_TEST(result.given_back == 1);
    BOOST_TEST(grave.server.lrange("queue:" + queue) == Strings{"2"}, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(an_entry_is_charged_only_if_it_is_the_one_that_was_read) {
  Grave grave({"1", "2"}, at_number_1({running, fetched}));
  Interrupted channel(grave.redis, 2, [&] { grave.redis.call({"LSET", list, "-1", "other"}); });

  const RecoveryResult result = recover(channel, grave.dead, DeadLimits{}, charge, orphan);

  BOOST_TEST(result.charged == 0);
  BOOST_TEST(grave.waiting() == (Strings{"2", "other"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_empty_payload_is_charged_like_any_other) {
  Grave grave({"", "2"}, at_number_1({running, fetched}));
  BOOST_TEST(grave.recover().charged == 1);
  BOOST_TEST(grave.server.zrange("retry").at(0).first == " charged from a");
}

BOOST_AUTO_TEST_CASE(a_charge_may_store_the_job_nowhere) {
  Grave grave({"1", "2"}, at_number_1({running, fetched}));
  const auto discard = [](const std::string&, const std::string&) { return Outcome{}; };

  const RecoveryResult result = recover(grave.redis, grave.dead, DeadLimits{}, discard, orphan);

  BOOST_TEST(result.charged == 1);
  BOOST_TEST(grave.waiting() == Strings{"2"}, boost::test_tools::per_element());
  BOOST_TEST(grave.server.keys() == Strings{"queue:a"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_charge_into_the_dead_set_trims_it) {
  Grave grave({"1"}, at_number_1({running}));
  grave.redis.call({"ZADD", "dead", "5", "old"});
  recover(grave.redis, grave.dead, DeadLimits{}, orphan, orphan);
  const auto dead = grave.server.zrange("dead");
  BOOST_REQUIRE(dead.size() == 1u);
  BOOST_TEST(dead[0].first == "1 orphaned");

  grave.move_to_dead({"2"});
  grave.redis.call({"ZADD", "dead", "4000000001", "newer", "4000000002", "newest"});
  recover(grave.redis, grave.dead, DeadLimits{.max_jobs = 3}, orphan, orphan);
  Strings left;
  for (const auto& [member, score] : grave.server.zrange("dead")) left.push_back(member);
  BOOST_TEST(left == (Strings{"newer", "newest"}), boost::test_tools::per_element());  // the rank form keeps one less
}

BOOST_AUTO_TEST_CASE(a_wrong_type_refuses_the_recovery_until_it_is_put_right) {
  for (const std::string key : {"retry", "queue:a", "brood:processes"}) {
    Grave grave({"1", "2"}, at_number_1({running, fetched}));
    grave.redis.call({"DEL", key});
    grave.redis.call({"SET", key, "x"});

    BOOST_CHECK_EXCEPTION(grave.recover(), UnexpectedReply, [&](const UnexpectedReply& refused) {
      return std::string(refused.what()).find(key + " is a string") != std::string::npos;
    });
    BOOST_TEST(grave.server.hget(hash, field).value() == "1 a");
    BOOST_TEST(grave.server.size_of(list) == 2u);

    grave.redis.call({"DEL", key});
    const RecoveryResult result = grave.recover();
    BOOST_TEST(result.charged + result.given_back == 2);
  }
}

BOOST_AUTO_TEST_CASE(a_full_redis_lets_a_recovery_through) {
  Grave grave({"1", "2", "3"}, at_number_1({succeeded, running, fetched}));
  grave.redis.call({"CONFIG", "SET", "maxmemory", "1"});

  const RecoveryResult result = grave.recover();

  BOOST_TEST(result.acknowledged + result.charged + result.given_back == 3);
  BOOST_TEST(grave.server.size_of("retry") == 1u);
}

BOOST_AUTO_TEST_CASE(long_lists_keep_their_order) {
  Strings payloads;
  for (int i = 0; i < 5'000; ++i) payloads.push_back(std::to_string(i));
  for (const bool known : {true, false}) {
    Grave grave(payloads, known ? std::optional(at_number_1({})) : std::nullopt);
    BOOST_TEST(grave.recover().given_back == 5'000);
    BOOST_TEST((grave.waiting() == Strings(payloads.rbegin(), payloads.rend())));
  }
}

BOOST_AUTO_TEST_CASE(a_scribbled_field_is_removed_and_its_list_found_by_the_sweep) {
  Grave grave({"1"}, at_number_1({running}));
  grave.redis.call({"HSET", hash, field, "rubbish"});

  grave.recover();

  BOOST_TEST(!grave.server.hget(hash, field));
  BOOST_TEST(give_back_lists_without_field(grave.redis, nobody_lives) == 1);
  BOOST_TEST(grave.waiting() == Strings{"1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_that_was_taken_for_dead_by_its_heartbeat_is_left_alone_when_that_is_there_again) {
  Grave grave({"1"});
  grave.dead.only_while_silent = true;
  grave.redis.call({"SET", identity, "beats"});
  BOOST_TEST(grave.recover().owner_lives);
  BOOST_TEST(grave.server.size_of(list) == 1u);
  BOOST_TEST(grave.server.hget(hash, field).has_value());

  grave.redis.call({"DEL", identity});
  BOOST_TEST(grave.recover().given_back == 1);
}

BOOST_AUTO_TEST_CASE(what_is_given_back_with_a_count_is_counted_by_the_same_script) {
  for (const bool has_field : {true, false}) {
    const std::string payload = R"({"jid":"one","class":"A","args":[]})";
    Grave grave({payload}, DeadWorker::Record{1, {running}, "a", "one"});
    if (!has_field) grave.redis.call({"DEL", hash});
    const auto give_back = [](const std::string&, const std::string&) {
      return Outcome{Outcome::Kind::give_back, "", 0};
    };
    BOOST_TEST(brood::recover(grave.redis, grave.dead, DeadLimits{}, give_back, orphan).charged == 1);

    BOOST_TEST(grave.waiting() == Strings{payload}, boost::test_tools::per_element());
    const std::string counter = "brood:recovered:" + sha1_hex(payload);
    BOOST_TEST(grave.server.get(counter).value_or("") == "1");
    BOOST_TEST(grave.server.integer({"TTL", counter}) > 259'000);
  }
}

BOOST_AUTO_TEST_CASE(the_sweep_gives_back_lists_without_a_field_and_no_others) {
  Grave grave({"owned"});
  const std::string stray = keys::in_flight_list(identity, "2.16", "x:y").name();
  for (int i = 0; i < 250; ++i) grave.redis.call({"LPUSH", stray, std::to_string(i)});
  grave.redis.call({"LPUSH", "queue:x:y", "waits"});
  grave.redis.call({"LPUSH", "brood:inflight:no such shape:x", "1"});
  grave.redis.call({"SET", keys::in_flight_list(identity, "2.15", "x"), "dead"});

  BOOST_TEST(give_back_lists_without_field(grave.redis, nobody_lives) == 250);
  BOOST_TEST(give_back_lists_without_field(grave.redis, nobody_lives) == 0);

  const Strings waiting = grave.server.lrange("queue:x:y");
  BOOST_REQUIRE(waiting.size() == 251u);
  BOOST_TEST(waiting.front() == "waits");
  BOOST_TEST(waiting.back() == "0");
  BOOST_TEST(grave.server.size_of(list) == 1u);
}

BOOST_AUTO_TEST_CASE(the_sweep_goes_on_behind_a_queue_that_is_no_list) {
  Grave grave({});
  for (const std::string queue : {"bad", "good"})
    grave.redis.call({"LPUSH", keys::in_flight_list(identity, "2.16", queue), "1"});
  grave.redis.call({"SET", "queue:bad", "x"});

  BOOST_TEST(give_back_lists_without_field(grave.redis, nobody_lives) == 1);
  BOOST_TEST(grave.server.size_of(keys::in_flight_list(identity, "2.16", "bad").name()) == 1u);
}

BOOST_AUTO_TEST_CASE(the_sweep_leaves_alone_what_the_living_hold) {
  Grave grave({"held"});
  grave.redis.call({"DEL", hash});
  const OwnIncarnations with_it{identity, {field}, 20}, before_it{identity, {}, 16}, without_it{identity, {}, 17};

  for (const OwnIncarnations& own : {with_it, before_it}) {
    BOOST_TEST(give_back_lists_without_field(grave.redis, [&](const auto& one) { return own.lives(one.field); }) == 0);
    BOOST_TEST(grave.server.size_of(list) == 1u);
  }
  BOOST_TEST(give_back_lists_without_field(grave.redis, [&](const auto& one) { return without_it.lives(one.field); }) ==
             1);
}

BOOST_AUTO_TEST_CASE(a_dead_worker_of_another_shard_is_not_looked_for_among_all_keys) {
  Grave grave({"1"}, DeadWorker::Record{1, {running}, "a", "one"});
  grave.redis.call({"DEL", hash});
  grave.dead.served_elsewhere = true;
  grave.redis.call({"CONFIG", "RESETSTAT"});

  BOOST_TEST(grave.recover().somebody_was_first);

  const Reply stats = grave.server.command({"INFO", "commandstats"});
  BOOST_TEST(stats.view().text().find("cmdstat_scan:") == std::string_view::npos, stats.view().text());
  BOOST_TEST(grave.server.size_of(list) == 1U);  // the sweep's
}

BOOST_AUTO_TEST_CASE(a_dead_worker_whose_field_is_lost_is_judged_if_its_last_entry_is_known) {
  const auto payload = [](const std::string& jid) { return R"({"jid":")" + jid + R"(","class":"A","args":[]})"; };
  for (const bool known : {true, false}) {
    Grave grave({payload("one"), payload("two"), payload("three")},
                DeadWorker::Record{1, {succeeded, running, fetched}, "a", known ? "two" : "other"});
    grave.redis.call({"DEL", hash});

    const RecoveryResult result = grave.recover();

    BOOST_TEST(result.acknowledged == (known ? 1 : 0));
    BOOST_TEST(result.charged == (known ? 1 : 0));
    BOOST_TEST(result.given_back == (known ? 1 : 3));
    BOOST_TEST(grave.server.size_of("retry") == (known ? 1u : 0u));
    BOOST_TEST(grave.waiting().back() == (known ? payload("three") : payload("one")));
    BOOST_TEST(grave.server.size_of(list) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_dead_worker_whose_field_is_lost_leaves_no_list_of_another_queue) {
  Grave grave({}, DeadWorker::Record{1, {}, "a", ""});
  const std::string other = keys::in_flight_list(identity, field, "b").name();
  grave.redis.call({"LPUSH", other, "1"});
  grave.redis.call({"DEL", hash});

  BOOST_TEST(grave.recover().given_back == 1);

  BOOST_TEST(grave.server.lrange("queue:b") == Strings{"1"}, boost::test_tools::per_element());
  BOOST_TEST(grave.type_of_list() == "string");  // for the BLMOVE that may still be on its way
}

BOOST_AUTO_TEST_CASE(a_charge_that_is_too_large_for_redis_is_recorded_in_short_or_its_job_is_dead_as_it_was) {
  constexpr std::size_t limit = 1 << 20;
  for (const auto& [room, setting, has_field] : {std::tuple{1'000, "proto-max-bulk-len", true},
                                                 {8, "proto-max-bulk-len", true},
                                                 {0, "proto-max-bulk-len", true},
                                                 {0, "proto-max-bulk-len", false},
                                                 {1'000, "client-query-buffer-limit", true},
                                                 {16, "client-query-buffer-limit", true},
                                                 {16, "client-query-buffer-limit", false}}) {
    BOOST_TEST_MESSAGE(room << " " << setting << " " << has_field);
    const std::string start = R"({"jid":"1","class":"A","args":[")";
    const std::string job = start + std::string(limit - start.size() - 3 - room, 'x') + R"("]})";
    DeadWorker::Record record = at_number_1({running});
    record.queue = "a";
    record.jid = "1";
    Grave grave({}, record);
    grave.redis.call({"CONFIG", "SET", setting, std::to_string(limit)});
    grave.redis.call({"LPUSH", list, job});
    if (!has_field) grave.redis.call({"DEL", hash});
    const std::string in_short = job.substr(0, job.size() - 1) + R"(,"error_class":"Segfault")";
    const auto large_charge = [&](const std::string&, const std::string&) {
      return Outcome{Outcome::Kind::retry, in_short + R"(,"error_backtrace":")" + std::string(5'000, 'b') + R"("})", 5};
    };

    BOOST_TEST(brood::recover(grave.redis, grave.dead, DeadLimits{}, large_charge, orphan).charged == 1);

    const bool fits_in_short = room == 1'000;
    const auto stored = grave.server.zrange(fits_in_short ? "retry" : "dead");
    BOOST_REQUIRE(stored.size() == 1U);
    BOOST_TEST((stored[0].first == (fits_in_short ? in_short + "}" : job)));
  }
}

BOOST_AUTO_TEST_CASE(fields_are_read_strictly) {
  BOOST_TEST(parse_last_settle("12 a b").value().number == 12u);
  BOOST_TEST(parse_last_settle("12 a b").value().queue == "a b");
  BOOST_TEST(parse_last_settle("0 ").value().queue == "");
  for (const char* text : {"", " a", "12", "-1 a", "x a", "99999999999999999999 a"})
    BOOST_TEST(!parse_last_settle(text), text);
}
