#include "shared/store/in_flight/recover_worker.hpp"

#include <boost/test/unit_test.hpp>
#include <tuple>

#include "shared/base/digest.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/keys.hpp"
#include "tests/store/dead_holder.hpp"

using namespace brood;
using namespace brood::holding;
using enum EntryState;

namespace {

// Calls a function just before the n-th command.
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
  DeadHolder holder({"1", "2", "3", "4"}, at_number_1({succeeded, running, fetched, fetched}));
  holder.redis.call({"LPUSH", "queue:a", "5"});

  const RecoveryResult result = holder.recover();

  BOOST_TEST(result.acknowledged == 1);
  BOOST_TEST(result.charged == 1);
  BOOST_TEST(result.given_back == 2);
  BOOST_TEST(holder.server.zrange("retry").at(0).first == "2 charged from a");
  BOOST_TEST(holder.waiting() == (Strings{"5", "4", "3"}), boost::test_tools::per_element());  // 3 is next to run
  BOOST_TEST(!holder.server.hget(hash, field));
  BOOST_TEST(holder.server.size_of("brood:processes") == 0u);
  BOOST_TEST(holder.server.keys("brood:recovered:*").empty());
}

BOOST_AUTO_TEST_CASE(a_failed_job_is_charged_and_an_interrupted_one_is_not) {
  DeadHolder failing({"1", "2"}, at_number_1({failed, fetched}));
  BOOST_TEST(failing.recover().charged == 1);
  BOOST_TEST(failing.waiting() == Strings{"2"}, boost::test_tools::per_element());

  DeadHolder interrupting({"1", "2", "3"}, at_number_1({succeeded, interrupted, fetched}));
  const RecoveryResult result = interrupting.recover();
  BOOST_TEST(result.acknowledged == 1);
  BOOST_TEST(result.charged == 0);
  BOOST_TEST(interrupting.waiting() == (Strings{"3", "2"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_failed_job_is_settled_by_its_workers_note_however_the_worker_ended) {
  for (const bool ended_by_brood : {false, true}) {
    DeadHolder holder({"1", "2", "3", "4", "5"}, at_number_1({judged, succeeded, judged, judged, running}));
    holder.dead.ended_by_brood = ended_by_brood;
    holder.dead.record->outcomes = {Outcome{Outcome::Kind::retry, "1 failed", 7}, std::nullopt,
                                    Outcome{Outcome::Kind::move_to_dead, "3 failed", 3e9}, Outcome{}};

    const RecoveryResult result = holder.recover();

    BOOST_TEST(result.acknowledged == 2);  // the fourth is stored nowhere
    BOOST_TEST(result.charged == (ended_by_brood ? 2 : 3));
    const auto retries = holder.server.zrange("retry"), dead = holder.server.zrange("dead");
    BOOST_REQUIRE(retries.size() == (ended_by_brood ? 1u : 2u));
    BOOST_TEST(retries.back().first == "1 failed");
    BOOST_TEST(retries.back().second == 7);
    BOOST_REQUIRE(dead.size() == 1u);
    BOOST_TEST(dead.front().first == "3 failed");
    BOOST_TEST(holder.waiting() == (ended_by_brood ? Strings{"5"} : Strings{}), boost::test_tools::per_element());
    BOOST_TEST(holder.type_of_list() == "none");
  }
}

BOOST_AUTO_TEST_CASE(a_failed_job_whose_note_was_scribbled_over_goes_back_uncharged) {
  DeadHolder holder({"1", "2", "3"}, at_number_1({judged, judged, running}));
  holder.dead.record->outcomes = {std::nullopt, Outcome{Outcome::Kind::retry, "2 failed", 7}};

  holder.recover();

  BOOST_TEST(holder.waiting() == Strings{"1"}, boost::test_tools::per_element());
  const auto retries = holder.server.zrange("retry");
  BOOST_REQUIRE(retries.size() == 2u);
  BOOST_TEST(retries.front().first == "3 charged from a");  // the guilty job is charged all the same
  BOOST_TEST(retries.back().first == "2 failed");
}

BOOST_AUTO_TEST_CASE(the_only_job_that_a_worker_out_of_memory_had_not_begun_is_charged) {
  const DeadWorker::Record before_the_answer{0, {succeeded, interrupted}};  // the settle that brought it is applied
  for (const DeadWorker::Record& record : {at_number_1({fetched}), at_number_1({}), before_the_answer}) {
    DeadHolder holder({"1"}, record);
    holder.dead.ran_out_of_memory = true;

    BOOST_TEST(holder.recover().charged == 1);

    BOOST_TEST_REQUIRE(holder.server.size_of("retry") == 1u);
    BOOST_TEST(holder.server.zrange("retry").front().first == "1 charged from a");
    BOOST_TEST(holder.waiting().empty());
    BOOST_TEST(holder.type_of_list() == "none");
  }
}

BOOST_AUTO_TEST_CASE(one_of_several_that_a_worker_had_not_begun_is_never_charged_nor_what_it_has_done) {
  const auto charged = [](const Strings& payloads, DeadWorker::Record record, bool ran_out_of_memory = true) {
    DeadHolder holder(payloads, std::move(record));
    holder.dead.ran_out_of_memory = ran_out_of_memory;
    return holder.recover().charged;
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
  DeadHolder holder({"1", "2"}, at_number_1({succeeded, running}));
  holder.dead.ended_by_brood = true;

  const RecoveryResult result = holder.recover();

  BOOST_TEST(result.acknowledged == 1);
  BOOST_TEST(result.charged == 0);
  BOOST_TEST(holder.waiting() == Strings{"2"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_settle_that_was_applied_after_all_leaves_only_unbegun_jobs) {
  DeadHolder holder({"1", "2"}, DeadWorker::Record{0, {running, fetched}});

  const RecoveryResult result = holder.recover();

  BOOST_TEST(result.charged == 0);
  BOOST_TEST(result.given_back == 2);
  BOOST_TEST(holder.waiting() == (Strings{"2", "1"}), boost::test_tools::per_element());
  BOOST_TEST(holder.server.keys("brood:recovered:*").empty());
}

BOOST_AUTO_TEST_CASE(a_second_recovery_finds_that_another_was_first) {
  DeadHolder holder({"1"}, at_number_1({running}));
  holder.recover();

  const RecoveryResult again = holder.recover();

  BOOST_TEST(again.somebody_was_first);
  BOOST_TEST(holder.server.size_of("retry") == 1u);
  const RecoveryAnswer answer = read_recovery(
      holder.redis.run(recovery_call(holder.dead, {.queue = "a", .verdicts = {}, .orphans = {}}, {}, wall_now()))
          .view());
  BOOST_TEST(answer.result.somebody_was_first);
}

BOOST_AUTO_TEST_CASE(the_identity_stays_while_another_worker_is_registered) {
  DeadHolder holder({"1"}, at_number_1({running}));
  holder.redis.run(register_incarnation(identity, "{}", "3.18"));
  holder.recover();
  BOOST_TEST(holder.server.hget("brood:processes", identity).value() == "{}");
}

BOOST_AUTO_TEST_CASE(an_empty_list_that_may_be_waited_for_gets_a_tombstone) {
  DeadHolder holder({}, DeadWorker::Record{1, {}});
  holder.redis.call({"LPUSH", "queue:a", "late"});

  holder.recover();

  BOOST_TEST(holder.server.get(list).value() == "dead");
  BOOST_TEST(holder.server.integer({"TTL", list}) > 3500);
  // If the dead worker's last wait arrives now, this happens.
  BOOST_TEST(
      holder.redis.call({"BLMOVE", "queue:a", list, "RIGHT", "LEFT", "1"}).view().error().starts_with("WRONGTYPE"));
  BOOST_TEST(holder.waiting() == Strings{"late"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(no_tombstone_where_nothing_can_be_on_its_way) {
  DeadHolder holding({"1"}, at_number_1({fetched}));
  holding.recover();
  BOOST_TEST(holding.type_of_list() == "none");

  DeadHolder polling({}, DeadWorker::Record{1, {}});
  polling.redis.call({"HSET", hash, field, "1 "});
  polling.recover();
  BOOST_TEST(polling.server.keys("brood:inflight:*").empty());
}

BOOST_AUTO_TEST_CASE(a_worker_is_recovered_whose_list_is_a_tombstone_already) {
  DeadHolder holder({}, at_number_1({succeeded}));
  holder.redis.call({"SET", list, "dead"});
  BOOST_TEST(holder.recover().acknowledged == 0);
  BOOST_TEST(!holder.server.hget(hash, field));
  BOOST_TEST(holder.server.get(list).value() == "dead");
}

BOOST_AUTO_TEST_CASE(a_settle_of_the_dead_that_arrives_in_between_is_respected) {
  DeadHolder holder({"1"}, at_number_1({running}));
  Settlement late;
  late.identity = identity;
  late.field = field;
  late.number = 1;
  late.held_queue = "a";
  late.outcomes = {Outcome{}};
  late.draw = {"b"};
  late.want = 1;
  holder.redis.call({"LPUSH", "queue:b", "2"});
  // Happens after the field was read and before the script is sent.
  Interrupted channel(holder.redis, 2, [&] { holder.redis.run(settle_and_fetch(late, wall_now())); });

  const RecoveryResult result = recover(channel, holder.dead, DeadLimits{}, charge, orphan);

  BOOST_TEST(result.charged == 0);
  BOOST_TEST(result.given_back == 1);
  BOOST_TEST(holder.server.lrange("queue:b") == Strings{"2"}, boost::test_tools::per_element());
  BOOST_TEST(holder.server.size_of("retry") == 0u);
}

// The slot shows a job that has succeeded, but the list holds another one by now.
BOOST_AUTO_TEST_CASE(what_the_dead_has_fetched_in_between_has_not_succeeded) {
  for (const std::string queue : {"a", "b"}) {
    DeadHolder holder({"1"}, at_number_1({succeeded}));
    Settlement late;
    late.identity = identity;
    late.field = field;
    late.number = 1;
    late.held_queue = "a";
    late.outcomes = {Outcome{}};
    late.draw = {queue};
    late.want = 1;
    holder.redis.call({"LPUSH", "queue:" + queue, "2"});
    Interrupted channel(holder.redis, 2, [&] { holder.redis.run(settle_and_fetch(late, wall_now())); });

    const RecoveryResult result = recover(channel, holder.dead, DeadLimits{}, charge, orphan);

    BOOST_TEST(result.acknowledged == 0);
    BOOST_TEST(result.given_back == 1);
    BOOST_TEST(holder.server.lrange("queue:" + queue) == Strings{"2"}, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(an_entry_is_charged_only_if_it_is_the_one_that_was_read) {
  DeadHolder holder({"1", "2"}, at_number_1({running, fetched}));
  Interrupted channel(holder.redis, 2, [&] { holder.redis.call({"LSET", list, "-1", "other"}); });

  const RecoveryResult result = recover(channel, holder.dead, DeadLimits{}, charge, orphan);

  BOOST_TEST(result.charged == 0);
  BOOST_TEST(holder.waiting() == (Strings{"2", "other"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_empty_payload_is_charged_like_any_other) {
  DeadHolder holder({"", "2"}, at_number_1({running, fetched}));
  BOOST_TEST(holder.recover().charged == 1);
  BOOST_TEST(holder.server.zrange("retry").at(0).first == " charged from a");
}

BOOST_AUTO_TEST_CASE(a_charge_may_store_the_job_nowhere) {
  DeadHolder holder({"1", "2"}, at_number_1({running, fetched}));
  const auto discard = [](const std::string&, const std::string&) { return Outcome{}; };

  const RecoveryResult result = recover(holder.redis, holder.dead, DeadLimits{}, discard, orphan);

  BOOST_TEST(result.charged == 1);
  BOOST_TEST(holder.waiting() == Strings{"2"}, boost::test_tools::per_element());
  BOOST_TEST(holder.server.keys() == Strings{"queue:a"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_charge_into_the_dead_set_trims_it) {
  DeadHolder holder({"1"}, at_number_1({running}));
  holder.redis.call({"ZADD", "dead", "5", "old"});
  recover(holder.redis, holder.dead, DeadLimits{}, orphan, orphan);
  const auto dead = holder.server.zrange("dead");
  BOOST_REQUIRE(dead.size() == 1u);
  BOOST_TEST(dead[0].first == "1 orphaned");

  holder.die_with({"2"});
  holder.redis.call({"ZADD", "dead", "4000000001", "newer", "4000000002", "newest"});
  recover(holder.redis, holder.dead, DeadLimits{.max_jobs = 3}, orphan, orphan);
  Strings left;
  for (const auto& [member, score] : holder.server.zrange("dead")) left.push_back(member);
  BOOST_TEST(left == (Strings{"newer", "newest"}), boost::test_tools::per_element());  // the rank form keeps one less
}

BOOST_AUTO_TEST_CASE(a_wrong_type_refuses_the_recovery_until_it_is_put_right) {
  for (const std::string key : {"retry", "queue:a", "brood:processes"}) {
    DeadHolder holder({"1", "2"}, at_number_1({running, fetched}));
    holder.redis.call({"DEL", key});
    holder.redis.call({"SET", key, "x"});

    BOOST_CHECK_EXCEPTION(holder.recover(), UnexpectedReply, [&](const UnexpectedReply& refused) {
      return std::string(refused.what()).find(key + " is a string") != std::string::npos;
    });
    BOOST_TEST(holder.server.hget(hash, field).value() == "1 a");
    BOOST_TEST(holder.server.size_of(list) == 2u);

    holder.redis.call({"DEL", key});
    const RecoveryResult result = holder.recover();
    BOOST_TEST(result.charged + result.given_back == 2);
  }
}

BOOST_AUTO_TEST_CASE(a_full_redis_lets_a_recovery_through) {
  DeadHolder holder({"1", "2", "3"}, at_number_1({succeeded, running, fetched}));
  holder.redis.call({"CONFIG", "SET", "maxmemory", "1"});

  const RecoveryResult result = holder.recover();

  BOOST_TEST(result.acknowledged + result.charged + result.given_back == 3);
  BOOST_TEST(holder.server.size_of("retry") == 1u);
}

BOOST_AUTO_TEST_CASE(long_lists_keep_their_order) {
  Strings payloads;
  for (int i = 0; i < 5'000; ++i) payloads.push_back(std::to_string(i));
  for (const bool known : {true, false}) {
    DeadHolder holder(payloads, known ? std::optional(at_number_1({})) : std::nullopt);
    BOOST_TEST(holder.recover().given_back == 5'000);
    BOOST_TEST((holder.waiting() == Strings(payloads.rbegin(), payloads.rend())));
  }
}

BOOST_AUTO_TEST_CASE(one_that_was_taken_for_dead_by_its_heartbeat_is_left_alone_when_that_is_there_again) {
  DeadHolder holder({"1"});
  holder.dead.only_while_silent = true;
  holder.redis.call({"SET", identity, "beats"});
  BOOST_TEST(holder.recover().owner_lives);
  BOOST_TEST(holder.server.size_of(list) == 1u);
  BOOST_TEST(holder.server.hget(hash, field).has_value());

  holder.redis.call({"DEL", identity});
  BOOST_TEST(holder.recover().given_back == 1);
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
    DeadHolder holder({}, record);
    holder.redis.call({"CONFIG", "SET", setting, std::to_string(limit)});
    holder.redis.call({"LPUSH", list, job});
    if (!has_field) holder.redis.call({"DEL", hash});
    const std::string in_short = job.substr(0, job.size() - 1) + R"(,"error_class":"Segfault")";
    const auto large_charge = [&](const std::string&, const std::string&) {
      return Outcome{Outcome::Kind::retry, in_short + R"(,"error_backtrace":")" + std::string(5'000, 'b') + R"("})", 5};
    };

    BOOST_TEST(brood::recover(holder.redis, holder.dead, DeadLimits{}, large_charge, orphan).charged == 1);

    const bool fits_in_short = room == 1'000;
    const auto stored = holder.server.zrange(fits_in_short ? "retry" : "dead");
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
