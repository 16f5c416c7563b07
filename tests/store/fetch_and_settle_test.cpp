#include "worker/fetching/fetch_and_settle.hpp"

#include <fmt/format.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <tuple>

#include <boost/test/unit_test.hpp>

#include "shared/base/log.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/uniqueness.hpp"
#include "shared/store/in_flight/running_lock.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/script.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_directory.hpp"
#include "worker/fetching/unique_turn.hpp"
#include "worker/orders/supervisor_orders.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

namespace {

const std::string identity = "host:1:0123456789ab";
const std::string hash = keys::in_flight_hash(identity).name();

// Hands commands on, and does to the next ones what the test says.
class Tapped : public Channel {
 public:
  using Treatment = std::function<Reply(Channel&, const Command&)>;
  explicit Tapped(Channel& redis) : redis_(redis) {}

  Reply call(const Command& command) override {
    sent.push_back(command.args);
    if (next.empty()) return redis_.call(command);
    const Treatment treatment = std::move(next.front());
    next.erase(next.begin());
    return treatment(redis_, command);
  }
  void disconnect() override {
    ++disconnects;
    redis_.disconnect();
  }

  std::vector<Treatment> next;
  std::vector<Strings> sent;
  int disconnects = 0;

 private:
  Channel& redis_;
};

Reply lose_reply(Channel& redis, const Command& command) {
  redis.call(command);
  throw ConnectionLost("the reply is lost");
}
Reply lose_command(Channel&, const Command&) { throw ConnectionLost("the command is lost"); }
Reply hand_on(Channel& redis, const Command& command) { return redis.call(command); }

// The error reply that Redis gives where `text` is its error.
Tapped::Treatment answer_error(const std::string& text) {
  return [text](Channel& redis, const Command&) {
    return redis.call({"EVAL", "return redis.error_reply(ARGV[1])", "0", text});
  };
}

struct Worker {
  RedisServer server;
  Connection redis{server.address()};
  Tapped channel{redis};
  Scoreboard scoreboard = Scoreboard::in_memory(3);
  WorkerSlot slot{scoreboard.slot(2)};
  std::vector<std::chrono::milliseconds> pauses;
  std::function<void()> while_pausing = [] {};
  std::uint64_t incarnations = 20;
  std::unique_ptr<FetchAndSettle> in_flight;

  explicit Worker(std::uint64_t assigned = 17) {
    vacate(scoreboard.slot(2), assigned, 1);
    FetchAndSettle::Setup setup;
    setup.identity = identity;
    setup.identity_record = R"({"host":"host"})";
    setup.slot = 2;
    setup.new_incarnation = [this] { return ++incarnations; };
    setup.pause = [this](std::chrono::milliseconds pause) {
      pauses.push_back(pause);
      while_pausing();
    };
    in_flight = std::make_unique<FetchAndSettle>(channel, slot, std::move(setup));
  }
  void push(const std::string& queue, const Strings& payloads) {
    for (const std::string& payload : payloads) redis.call({"LPUSH", keys::queue(queue), payload});
  }
  Strings settle(const std::vector<Outcome>& outcomes, int want = 1, const Strings& draw = {"a", "b"}) {
    Strings payloads;
    for (const FetchAndSettle::Entry& entry : in_flight->settle_and_fetch(outcomes, draw, want).entries)
      payloads.push_back(entry.payload);
    return payloads;
  }
  SlotSnapshot seen() { return snapshot(scoreboard.slot(2)); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_assigned_incarnation_is_registered_and_its_batch_is_in_the_scoreboard) {
  Worker worker;
  worker.push("b", {"1", "2", "3"});

  BOOST_TEST(worker.settle({}, 2) == (Strings{"1", "2"}), boost::test_tools::per_element());

  BOOST_TEST(worker.in_flight->batch().queue == "b");
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

  // What a recovery would see after each single write.
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

  worker.settle({});

  BOOST_REQUIRE(worker.channel.sent.size() == 2u);
  BOOST_TEST(worker.channel.sent[0][0] == "EVALSHA");
  BOOST_TEST(worker.channel.sent[1][0] == "EVAL");
  BOOST_TEST((Strings(worker.channel.sent[0].begin() + 2, worker.channel.sent[0].end()) ==
              Strings(worker.channel.sent[1].begin() + 2, worker.channel.sent[1].end())));
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

// Each way to lose a field, at each moment: the outcomes of what was performed are settled, the rest goes back.
BOOST_AUTO_TEST_CASE(a_worker_that_has_lost_its_field_settles_what_it_holds) {
  for (const Outcome& outcome :
       {Outcome{}, Outcome{Outcome::Kind::retry, "1r", 5}, Outcome{Outcome::Kind::move_to_dead, "1d", 4e9},
        Outcome{Outcome::Kind::schedule, "1s", 5}, Outcome{Outcome::Kind::requeue_back, "1b", 0}}) {
    for (const Command& loss :
         {Command{"DEL", hash}, Command{"HDEL", hash, "2.17"}, Command{"HSET", hash, "2.17", "0 "}}) {
      Worker worker;
      worker.push("a", {"1", "2", "3"});
      worker.settle({}, 2);
      worker.redis.call(loss);

      BOOST_TEST(worker.settle({outcome}) == Strings{"2"}, boost::test_tools::per_element());

      const bool requeued = outcome.kind == Outcome::Kind::requeue_back;
      BOOST_TEST(worker.server.lrange("queue:a") == (requeued ? Strings{"1b", "3"} : Strings{"3"}),
                 boost::test_tools::per_element());
      BOOST_TEST(worker.server.size_of("retry") == (outcome.kind == Outcome::Kind::retry ? 1u : 0u));
      BOOST_TEST(worker.server.size_of("dead") == (outcome.kind == Outcome::Kind::move_to_dead ? 1u : 0u));
      BOOST_TEST(worker.server.size_of("schedule") == (outcome.kind == Outcome::Kind::schedule ? 1u : 0u));
      BOOST_TEST(worker.server.size_of(keys::in_flight_list(identity, "2.17", "a").name()) == 0u);
      BOOST_TEST(worker.seen().fenced_outcomes == 0u);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_a_recovery_gave_back_is_not_settled_as_well) {
  Worker worker;
  worker.push("a", {"1"});
  worker.settle({});
  worker.redis.call({"HDEL", hash, "2.17"});
  worker.redis.call({"LMOVE", keys::in_flight_list(identity, "2.17", "a"), "queue:a", "LEFT", "RIGHT"});

  BOOST_TEST(worker.settle({Outcome{Outcome::Kind::retry, "1r", 5}}) == Strings{"1"}, boost::test_tools::per_element());

  BOOST_TEST(worker.server.size_of("retry") == 0u);
  BOOST_TEST(worker.seen().fenced_outcomes == 1u);
}

// The lost reply had brought another batch, perhaps from another queue: of that nothing was performed.
BOOST_AUTO_TEST_CASE(without_a_field_an_outcome_in_doubt_settles_its_own_payload_alone) {
  for (const std::string next_queue : {"a", "b"}) {
    Worker worker;
    worker.push("a", {"1"});
    worker.settle({});
    worker.push(next_queue, {"2"});
    worker.channel.next = {[](Channel& redis, const Command& command) {
      redis.call(command);
      redis.call({"DEL", hash});
      throw ConnectionLost("the reply is lost");
      return Reply();
    }};

    BOOST_TEST(worker.settle({Outcome{}}) == Strings{"2"}, boost::test_tools::per_element());
    worker.settle({Outcome{}});

    for (const std::string& key : worker.server.keys("*:2.17:*"))
      BOOST_TEST(worker.redis.call({"TYPE", key}).view().text() == "string", key);  // for a late BLMOVE
    BOOST_TEST(worker.server.keys("queue:*").empty());
  }
}

BOOST_AUTO_TEST_CASE(what_came_to_a_wait_without_a_field_is_settled_or_given_back) {
  for (const bool performed : {true, false}) {
    Worker worker;
    worker.settle({}, 1, {"a"});
    worker.in_flight->settle_and_fetch({}, {"a"}, 1, "a");
    worker.redis.call({"DEL", hash});
    worker.push("a", {"1"});
    BOOST_REQUIRE((worker.in_flight->wait_for_job() == FetchAndSettle::Waited::job));

    if (performed) {
      worker.settle({Outcome{Outcome::Kind::retry, "1r", 5}});
    } else {
      worker.in_flight->give_back_unbegun();
    }

    BOOST_TEST(worker.server.size_of("retry") == (performed ? 1u : 0u));
    BOOST_TEST(worker.server.size_of("queue:a") == (performed ? 0u : 1u));
    BOOST_TEST(worker.server.size_of(keys::in_flight_list(identity, "2.17", "a").name()) == 0u);
    worker.in_flight->retire({});
    BOOST_TEST(worker.server.size_of("queue:a") == (performed ? 0u : 1u));
  }
}

BOOST_AUTO_TEST_CASE(a_worker_that_retires_without_a_field_leaves_no_list) {
  Worker worker;
  worker.push("a", {"1", "2"});
  worker.settle({}, 2);
  worker.redis.call({"DEL", hash});

  worker.in_flight->retire({Outcome{Outcome::Kind::retry, "1r", 5}});

  BOOST_TEST(worker.server.size_of("retry") == 1u);
  BOOST_TEST(worker.server.lrange("queue:a") == Strings{"2"}, boost::test_tools::per_element());
  BOOST_TEST(worker.seen().retired);
}

// Redis answers a text beyond proto-max-bulk-len with a protocol error and closes the connection, each time anew; a
// command beyond client-query-buffer-limit it answers by that alone.
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
  // What is wrong is said once.
  log::flush();
  std::ostringstream said;
  said << std::ifstream(log_file).rdbuf();
  const std::string text = said.str(), event = "event=redis_loses_what_workers_write";
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
    BOOST_TEST((take_unique_turn(*worker.in_flight, dropped) == UniqueTurn::waits));
  BOOST_TEST((take_unique_turn(*worker.in_flight, after) == UniqueTurn::waits));

  for (const RedisKey& key : {keys::running_lock(lock), keys::unique_lock("L")})
    BOOST_TEST(worker.server.size_of(key.name()) == 1u);
  log::flush();
  std::ostringstream said;
  said << std::ifstream(log_file).rdbuf();
  for (const RedisKey& key : {keys::running_lock(lock), keys::unique_lock("L")}) {
    const std::string text = said.str(), fact = "key=" + key.name();
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
  worker.channel.next = {lose_reply, hand_on, hand_on, hand_on, lose_reply};

  worker.in_flight->retire({Outcome{Outcome::Kind::retry, "1r", 5}});

  BOOST_TEST(worker.seen().retired);
  const std::string list = keys::in_flight_list(identity, "2.17", "a").name();
  BOOST_TEST(worker.server.keys() == (Strings{list, "queue:a", "retry"}), boost::test_tools::per_element());
  BOOST_TEST(worker.server.get(list).value() == "dead");  // the second sending left it, and it goes by itself
  BOOST_TEST(worker.server.lrange("queue:a") == (Strings{"3", "2"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_worker_that_never_registered_retires_without_redis) {
  Worker worker;
  worker.in_flight->retire({});
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

// ---- Fetching behind a wait

namespace {

Reply end_the_wait(Channel& redis, const Command&) { return redis.call({"GET", "nothing"}); }

struct Waiter : Worker {
  Waiter() {
    server.command({"SCRIPT", "LOAD", scripts::fetch_after_wait.text});
    in_flight->settle_and_fetch({}, {"a", "b"}, 1, "a");
    channel.next = {hand_on};  // CLIENT ID
  }
  FetchAndSettle::Waited wait() { return in_flight->wait_for_job({"a", "b"}, 2); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(who_is_unblocked_holds_a_job_of_another_queue, Waiter) {
  channel.next.emplace_back(end_the_wait);
  push("b", {"1", "2", "3"});
  BOOST_TEST((wait() == FetchAndSettle::Waited::job));
  BOOST_TEST(in_flight->batch().queue == "b");
  BOOST_TEST(in_flight->batch().entries.size() == 2U);
  BOOST_TEST(in_flight->batch().entries.front().payload == "1");
  BOOST_TEST(server.hget(hash, "2.17").value() == "2 b");
  BOOST_TEST(seen().number == 2U);
  BOOST_TEST(seen().queue == "b");
  BOOST_TEST(settle({{}, {}}) == (Strings{"3"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_job_that_the_wait_brings_comes_alone, Waiter) {
  push("a", {"1", "2"});
  push("b", {"3"});
  BOOST_TEST((wait() == FetchAndSettle::Waited::job));
  BOOST_TEST(in_flight->batch().entries.size() == 1U);
  BOOST_TEST(server.hget(hash, "2.17").value() == "1 a");
  BOOST_TEST(server.lrange("queue:a") == (Strings{"2"}), boost::test_tools::per_element());
  BOOST_TEST(server.lrange("queue:b") == (Strings{"3"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_wait_that_ends_with_nothing_is_begun_again, Waiter) {
  channel.next.emplace_back(end_the_wait);
  channel.next.emplace_back(hand_on);
  channel.next.emplace_back([this](Channel& redis, const Command& command) {
    push("a", {"1"});
    return redis.call(command);
  });
  BOOST_TEST((wait() == FetchAndSettle::Waited::job));
  BOOST_TEST(server.hget(hash, "2.17").value() == "1 a");
}

BOOST_FIXTURE_TEST_CASE(a_queue_that_is_no_list_is_passed_over_behind_a_wait, Waiter) {
  channel.next.emplace_back(end_the_wait);
  redis.call({"SET", "queue:a", "x"});
  push("b", {"1"});
  BOOST_TEST((wait() == FetchAndSettle::Waited::job));
  BOOST_TEST(in_flight->batch().queue == "b");
}

BOOST_FIXTURE_TEST_CASE(nothing_is_fetched_for_an_incarnation_that_was_recovered, Waiter) {
  channel.next.emplace_back(end_the_wait);
  server.command({"HDEL", hash, "2.17"});
  push("b", {"1"});
  BOOST_TEST((wait() == FetchAndSettle::Waited::nothing));
  BOOST_TEST(in_flight->batch().entries.empty());
  BOOST_TEST(server.lrange("queue:b") == (Strings{"1"}), boost::test_tools::per_element());
  BOOST_TEST(settle({}) == (Strings{"1"}), boost::test_tools::per_element());
  BOOST_TEST(server.hget(hash, "2.21").value() == "1 b");
}

BOOST_FIXTURE_TEST_CASE(a_redis_that_does_not_know_the_fetch_is_told_it, Waiter) {
  channel.next.emplace_back(end_the_wait);
  server.command({"SCRIPT", "FLUSH"});
  push("b", {"1"});
  BOOST_TEST((wait() == FetchAndSettle::Waited::nothing));
  channel.next = {end_the_wait};
  BOOST_TEST((wait() == FetchAndSettle::Waited::job));
  BOOST_TEST(channel.sent.back().front() == "EVAL");
}

BOOST_FIXTURE_TEST_CASE(a_lost_reply_leaves_what_was_fetched_to_the_recovery, Waiter) {
  channel.next.emplace_back(end_the_wait);
  channel.next.emplace_back(lose_reply);
  push("b", {"1"});
  BOOST_TEST((wait() == FetchAndSettle::Waited::nothing));
  BOOST_TEST(!server.hget(hash, "2.17").has_value());
  BOOST_TEST(server.lrange("queue:b") == (Strings{"1"}), boost::test_tools::per_element());
}
