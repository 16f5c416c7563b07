#include "worker/session/session.hpp"

#include <fmt/format.h>

#include <functional>
#include <tuple>

#include <boost/test/unit_test.hpp>

#include "shared/base/log.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/uniqueness.hpp"
#include "shared/store/in_flight/running_lock.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/script.hpp"
#include "tests/store/tapped_worker.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/temporary_directory.hpp"
#include "worker/admission/unique_turn.hpp"
#include "worker/orders/supervisor_orders.hpp"

using namespace brood;
using namespace brood::tapped;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(the_assigned_incarnation_is_registered_and_its_batch_is_in_the_scoreboard) {
  Worker worker;
  worker.push("b", {"1", "2", "3"});

  BOOST_TEST(worker.settle({}, 2) == (Strings{"1", "2"}), boost::test_tools::per_element());

  BOOST_TEST(worker.session->batch().queue == "b");
  BOOST_TEST(worker.server.hget(hash, "2.17").value() == "1 b");
  BOOST_TEST(worker.server.hget("brood:processes", identity).value() == R"({"host":"host"})");
  const SlotSnapshot seen = worker.seen();
  BOOST_TEST(seen.incarnation == 17u);
  BOOST_TEST(seen.number == 1u);
  BOOST_TEST(seen.queue == "b");
  BOOST_TEST((seen.entries == std::vector{EntryState::fetched, EntryState::fetched}));
}

BOOST_AUTO_TEST_CASE(without_an_assigned_incarnation_it_asks_for_one) {
  Worker worker(0);
  worker.settle({});
  BOOST_TEST(worker.server.hget(hash, "2.21").has_value());
}

BOOST_AUTO_TEST_CASE(the_old_states_are_gone_before_the_new_number_is_there) {
  Worker worker;
  worker.push("a", {"1", "2"});
  worker.settle({});
  worker.slot.begin(0, "jid", "Job", wall_now(), steady_now(), 0);
  worker.slot.end(0, EntryState::succeeded);

  // The states that a recovery would see after each single write.
  std::vector<std::string> writes;
  struct Watch {
    Worker& worker;
    std::vector<std::string>& writes;
  } watch{worker, writes};
  worker.slot.after_write_argument = &watch;
  worker.slot.after_write = [](void* argument) {
    auto& [its_worker, its_writes] = *static_cast<Watch*>(argument);
    const SlotSnapshot seen = its_worker.seen();
    its_writes.push_back(seen.entries.empty() ? fmt::format("{}:-", seen.number)
                                              : fmt::format("{}:{}", seen.number, static_cast<int>(seen.entries[0])));
  };
  worker.settle({Outcome{}});
  worker.slot.after_write = nullptr;

  BOOST_TEST(writes == (Strings{"1:3", "1:-", "2:-", "2:-", "2:1"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_unanswered_settle_is_sent_again_with_the_same_bytes) {
  Worker worker;
  worker.push("a", {"1", "2"});
  worker.settle({});
  worker.channel.sent.clear();
  worker.channel.next = {lose_reply, lose_command};

  BOOST_TEST(worker.settle({Outcome{Outcome::Kind::retry, "1r", 5}}) == Strings{"2"}, boost::test_tools::per_element());

  BOOST_TEST(worker.server.size_of("retry") == 1u);
  BOOST_REQUIRE(worker.channel.sent.size() == 3u);
  BOOST_TEST(worker.channel.sent[0] == worker.channel.sent[1], boost::test_tools::per_element());
  BOOST_TEST(worker.channel.sent[0] == worker.channel.sent[2], boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_script_that_redis_does_not_know_is_sent_whole_with_the_same_arguments) {
  Worker worker;
  worker.push("a", {"1"});
  worker.settle({}, 0);
  worker.redis.call({"SCRIPT", "FLUSH"});
  worker.channel.sent.clear();

  BOOST_TEST(worker.settle({}) == (Strings{"1"}), boost::test_tools::per_element());
  BOOST_REQUIRE(worker.channel.sent.size() == 1u);
  BOOST_TEST(worker.channel.sent[0][0] == "EVALSHA");

  Settlement settlement;
  settlement.identity = identity;
  settlement.field = "2.17";
  settlement.draw = {"a"};
  const Command by_sha = settle_and_fetch(settlement, wall_now()).command();
  const Command whole = by_text(by_sha);
  BOOST_TEST(whole.args[0] == "EVAL");
  BOOST_TEST(whole.args[1] == by_sha.script->text);
  BOOST_TEST(
      (Strings(by_sha.args.begin() + 2, by_sha.args.end()) == Strings(whole.args.begin() + 2, whole.args.end())));
}

BOOST_AUTO_TEST_CASE(pauses_double_up_to_two_seconds_and_are_not_those_of_other_workers) {
  const std::vector<std::chrono::milliseconds> expected{50ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 2000ms, 2000ms};
  Worker one, other;
  for (Worker* worker : {&one, &other}) {
    worker->channel.next.assign(expected.size(), lose_command);
    worker->settle({});
    BOOST_REQUIRE(worker->pauses.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto pause = worker->pauses[i];
      BOOST_TEST((pause >= expected[i] * 3 / 4 && pause <= expected[i] * 5 / 4 + 1ms), pause.count());
    }
  }
  BOOST_TEST((one.pauses != other.pauses));
}

BOOST_AUTO_TEST_CASE(refusals_are_waited_out_and_a_replica_is_left) {
  Worker worker;
  worker.push("a", {"1", "2"});
  worker.settle({});
  worker.channel.next = {answer_error("LOADING Redis is loading the dataset in memory"),
                         answer_error("MISCONF Errors writing to the AOF file"),
                         answer_error("READONLY You can't write against a read only replica.")};

  BOOST_TEST(worker.settle({Outcome{}}) == Strings{"2"}, boost::test_tools::per_element());

  BOOST_TEST(worker.pauses.size() == 3u);
  BOOST_TEST(worker.channel.disconnects == 2);
}

BOOST_AUTO_TEST_CASE(outcomes_are_kept_while_a_key_has_a_wrong_type) {
  Worker worker;
  worker.push("a", {"1", "2"});
  worker.settle({});
  worker.redis.call({"SET", "retry", "x"});
  worker.while_pausing = [&] {
    if (worker.pauses.size() == 3) worker.redis.call({"DEL", "retry"});
  };

  BOOST_TEST(worker.settle({Outcome{Outcome::Kind::retry, "1r", 5}}) == Strings{"2"}, boost::test_tools::per_element());

  BOOST_TEST(worker.pauses.size() == 3u);
  BOOST_TEST(worker.server.zrange("retry").at(0).first == "1r");
}

BOOST_AUTO_TEST_CASE(a_fenced_worker_drops_its_outcomes_and_goes_on_under_another_name) {
  Worker worker;
  worker.push("a", {"1", "2"});
  worker.settle({});
  worker.redis.call({"FLUSHALL"});
  worker.push("a", {"3"});

  BOOST_TEST(worker.settle({Outcome{Outcome::Kind::retry, "1r", 5}}) == Strings{"3"}, boost::test_tools::per_element());

  BOOST_TEST(worker.server.size_of("retry") == 0u);
  const SlotSnapshot seen = worker.seen();
  BOOST_TEST(seen.fenced_outcomes == 1u);
  BOOST_TEST(seen.incarnation == 21u);
  BOOST_TEST(worker.server.hget(hash, "2.21").value() == "1 a");
}

// Redis answers a text beyond proto-max-bulk-len with a protocol error and closes the connection, each time again.
// After a command beyond client-query-buffer-limit it only closes the connection.
BOOST_AUTO_TEST_CASE(a_failure_that_is_too_large_for_redis_is_recorded_in_short_or_its_job_is_dead_as_it_was) {
  constexpr std::size_t limit = 1 << 20;
  for (const auto& [fits_in_short, lost, without_a_word] : {std::tuple{true, false, false},
                                                            {true, true, false},
                                                            {false, false, false},
                                                            {false, true, false},
                                                            {true, false, true},
                                                            {true, true, true},
                                                            {false, false, true},
                                                            {false, true, true}}) {
    BOOST_TEST_CONTEXT(fits_in_short << lost << without_a_word) {
      Worker worker;
      worker.redis.call({"CONFIG", "SET", without_a_word ? "client-query-buffer-limit" : "proto-max-bulk-len",
                         std::to_string(limit)});
      const std::string start = R"({"jid":"1","class":"A","args":[")", end = R"("]})";
      const std::size_t filling = limit - start.size() - end.size() - (fits_in_short ? 1'000 : 16);
      const std::string job = start + std::string(filling, 'x') + end;
      worker.push("a", {job, "2"});
      worker.settle({});
      if (lost) worker.redis.call({"DEL", hash});
      const std::string failed = start + std::string(filling, 'x') + R"("],"error_message":")" +
                                 std::string(5'000, 'm') + R"(","error_backtrace":")" + std::string(5'000, 'b') +
                                 R"("})";

      BOOST_TEST(worker.settle({Outcome{Outcome::Kind::retry, failed, 5}}) == Strings{"2"},
                 boost::test_tools::per_element());

      BOOST_TEST(worker.pauses.size() == (without_a_word ? (fits_in_short ? 1u : 2u) * (lost ? 2u : 1u) : 0u));
      if (fits_in_short) {
        const auto retries = worker.server.zrange("retry");
        BOOST_REQUIRE(retries.size() == 1U);
        BOOST_TEST(retries[0].first.size() < limit);
        BOOST_TEST(retries[0].first.ends_with(R"(,"error_message":")" + std::string(200, 'm') + R"("})"));
      } else {
        const auto dead = worker.server.zrange("dead");
        BOOST_REQUIRE(dead.size() == 1U);
        BOOST_TEST((dead[0].first == job));
        BOOST_TEST(dead[0].second > 1e9);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_failed_beside_a_failure_that_is_too_large_keeps_its_stack) {
  Worker worker;
  worker.redis.call({"CONFIG", "SET", "proto-max-bulk-len", std::to_string(1 << 20)});
  const auto failed = [](const std::string& jid, std::size_t stack) {
    return R"({"class":"A","args":[],"jid":")" + jid + R"(","error_backtrace":")" + std::string(stack, 'b') + R"("})";
  };
  worker.push("a", {"1", "2", "3"});
  worker.settle({}, 3);

  worker.settle({Outcome{Outcome::Kind::retry, failed("1", 1'000), 5}, Outcome{},
                 Outcome{Outcome::Kind::retry, failed("3", 1 << 20), 6}});

  const auto retries = worker.server.zrange("retry");
  BOOST_REQUIRE(retries.size() == 2U);
  BOOST_TEST(retries[0].first == failed("1", 1'000));
  BOOST_TEST(retries[1].first == R"({"class":"A","args":[],"jid":"3"})");
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_fenced_again_and_again_pauses_ever_longer_and_says_so_once) {
  const TemporaryDirectory directory;
  const std::string log_file = directory / "log";
  log::open({.file = log_file});
  Worker worker;
  std::size_t losses = 0;
  worker.channel.next.assign(300, [&](Channel& redis, const Command& command) {
    if (++losses < 100 && worker.pauses.size() < 6) redis.call({"DEL", hash});
    return redis.call(command);
  });

  worker.settle({});

  const std::vector<std::chrono::milliseconds> expected{100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms};
  BOOST_TEST((worker.pauses == expected));
  // The problem is logged once.
  log::flush();
  const std::string text = text_of_file(log_file), event = "event=redis_loses_what_workers_write";
  BOOST_TEST(text.find(event) != std::string::npos, text);
  BOOST_TEST(text.find(event) == text.rfind(event), text);
}

BOOST_AUTO_TEST_CASE(a_job_whose_lock_is_no_string_waits_for_its_turn_and_the_key_is_named_once) {
  const TemporaryDirectory directory;
  const std::string log_file = directory / "log";
  log::open({.file = log_file});
  Worker worker;
  worker.while_pausing = [] { throw std::runtime_error("it pauses"); };  // where it would ask again for ever
  const std::string job = R"({"class":"A","args":[],"jid":"1","queue":"a","unique_for":60,)";
  const std::string dropped = job + R"("unique_until":"running"})";
  const std::string after = job + R"("on_conflict":"after","unique_lock":"L"})";
  worker.push("a", {dropped, after});
  worker.settle({}, 2);
  const std::string lock = uniqueness_of(Payload::parse(dropped)).value().lock;
  for (const RedisKey& key : {keys::running_lock(lock), keys::unique_lock("L")})
    worker.redis.call({"RPUSH", key, "text"});

  for (int times = 0; times < 3; ++times)
    BOOST_TEST((take_unique_turn(*worker.session, Payload::parse(dropped)) == UniqueTurn::waits));
  BOOST_TEST((take_unique_turn(*worker.session, Payload::parse(after)) == UniqueTurn::waits));

  for (const RedisKey& key : {keys::running_lock(lock), keys::unique_lock("L")})
    BOOST_TEST(worker.server.size_of(key.name()) == 1u);
  log::flush();
  const std::string text = text_of_file(log_file);
  for (const RedisKey& key : {keys::running_lock(lock), keys::unique_lock("L")}) {
    const std::string fact = "key=" + key.name();
    BOOST_TEST(text.find(fact) != std::string::npos, text);
    BOOST_TEST(text.find(fact) == text.rfind(fact), text);
  }
}

BOOST_AUTO_TEST_CASE(more_than_sixteen_queues_are_asked_sixteen_at_a_time) {
  Worker worker;
  Strings draw;
  for (int i = 0; i < 40; ++i) draw.push_back(fmt::format("q{}", i));
  worker.push("q39", {"1"});
  worker.settle({}, 0, draw);
  worker.channel.sent.clear();

  BOOST_TEST(worker.settle({}, 1, draw) == Strings{"1"}, boost::test_tools::per_element());
  BOOST_TEST(worker.channel.sent.size() == 3u);
  worker.push("q0", {"2"});
  BOOST_TEST(worker.settle({Outcome{}}, 1, draw) == Strings{"2"}, boost::test_tools::per_element());
  BOOST_TEST(worker.channel.sent.size() == 4u);
}

BOOST_AUTO_TEST_CASE(a_worker_told_to_stop_while_redis_is_away_leaves_its_jobs_to_the_recovery) {
  Worker worker;
  worker.push("a", {"1"});
  worker.settle({});
  worker.channel.next = {lose_command};
  worker.while_pausing = [] { throw ToldToStop{}; };

  BOOST_CHECK_THROW(worker.settle({Outcome{}}), ToldToStop);

  BOOST_TEST(worker.server.hget(hash, "2.17").value() == "1 a");
  BOOST_TEST(worker.server.size_of(keys::in_flight_list(identity, "2.17", "a").name()) == 1u);
  BOOST_TEST(worker.seen().number == 1u);
}

BOOST_AUTO_TEST_CASE(a_retiring_worker_settles_gives_back_and_leaves_no_trace) {
  Worker worker;
  worker.push("a", {"1", "2", "3"});
  worker.settle({}, 3);
  worker.channel.next = {lose_reply, hand_on, hand_on, lose_reply};

  worker.session->retire({Outcome{Outcome::Kind::retry, "1r", 5}});

  BOOST_TEST(worker.seen().retired);
  const std::string list = keys::in_flight_list(identity, "2.17", "a").name();
  BOOST_TEST(worker.server.keys() == (Strings{list, "queue:a", "retry"}), boost::test_tools::per_element());
  BOOST_TEST(worker.server.get(list).value() == "dead");  // left by the second sending; it expires
  BOOST_TEST(worker.server.lrange("queue:a") == (Strings{"3", "2"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_worker_that_never_registered_retires_without_redis) {
  Worker worker;
  worker.session->retire({});
  BOOST_TEST(worker.channel.sent.empty());
  BOOST_TEST(worker.seen().retired);
}

BOOST_AUTO_TEST_CASE(a_list_longer_than_a_batch_is_worked_off_in_parts) {
  Worker worker;
  worker.settle({}, 0);
  for (int i = 0; i < 50; ++i)
    worker.redis.call({"LPUSH", keys::in_flight_list(identity, "2.17", "a"), std::to_string(i)});
  worker.redis.call({"HSET", hash, "2.17", "0 a"});

  BOOST_TEST(worker.settle({}, 0).size() == 32u);
  const Strings rest = worker.settle(std::vector<Outcome>(32), 0);
  BOOST_TEST(rest.size() == 18u);
  BOOST_TEST(rest.front() == "32");
}
