#include "shared/store/iteration.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>

#include "tests/support/redis_server.hpp"
#include "tests/support/tcp_proxy.hpp"
#include "tests/support/vectors.hpp"
#include "worker/job/iteration_keeper.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

// The states of iterable jobs, in Redis and on their way there.

namespace {

std::vector<Strings> commands_of(const test::Vector& vector) {
  std::vector<Strings> commands;
  for (const test::VectorValue& command : vector.expect["commands"].elements) {
    commands.emplace_back();
    for (const test::VectorValue& word : command.elements) commands.back().push_back(word.text);
  }
  return commands;
}

Command command_of(const Strings& words) {
  Command command;
  command.args = words;
  return command;
}

// In the form of Sidekiq 7, which renews the key's life each time.
std::vector<Strings> lower(std::vector<Strings> commands) {
  for (Strings& command : commands) {
    for (char& letter : command[0]) letter = static_cast<char>(std::tolower(letter));
    if (command[0] == "expire" && command.back() == "nx") command.pop_back();
  }
  return commands;
}

std::vector<Strings> words_of(const std::vector<Command>& commands) {
  std::vector<Strings> words;
  for (const Command& command : commands) words.push_back(command.args);
  return words;
}

struct Site {
  RedisServer redis;
  Connection connection{redis.address()};
  IterationKeeper keeper{connection};
  const std::function<bool(std::chrono::milliseconds)> give_up = [](std::chrono::milliseconds) { return false; };

  IterationState known(const std::string& jid = "J") {
    const auto state = keeper.load(jid, give_up);
    BOOST_REQUIRE(state.has_value());
    return *state;
  }
  std::int64_t seconds_to_live() { return redis.integer({"TTL", "it-J"}); }
};

constexpr auto month = 2592000;

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_save_leaves_what_sidekiq_leaves, Site) {
  for (const test::Vector& vector : test::vectors("iterable-flush")) {
    redis.flush();
    for (const Strings& words : commands_of(vector)) {
      const Reply reply = redis.command(command_of(words));
      BOOST_TEST(reply.view().error() == "");
    }
    const auto captured = redis.hgetall("it-J");
    BOOST_TEST(seconds_to_live() > month - 10);
    redis.flush();

    const auto& input = vector.input;
    keeper.save(input["jid"].text, {.executions = std::stoll(input["executions"].text),
                                    .cursor = input["cursor"].text,
                                    .run_seconds = input["runtime"].number(),
                                    .cancelled = {}});

    BOOST_TEST((redis.hgetall("it-J") == captured));
    BOOST_TEST(seconds_to_live() > month - 10);
  }
}

BOOST_FIXTURE_TEST_CASE(a_save_renews_the_state_s_life, Site) {
  keeper.save("J", {.executions = 1, .cursor = "1"});
  redis.command({"EXPIRE", "it-J", "100"});
  keeper.save("J", {.executions = 1, .cursor = "2"});
  BOOST_TEST(seconds_to_live() > month - 10);
}

BOOST_FIXTURE_TEST_CASE(a_cancellation_sends_what_sidekiq_sends_and_the_first_sets_the_time, Site) {
  for (const test::Vector& vector : test::vectors("iterable-cancel")) {
    const auto now = std::stoll(vector.input["now"].text);
    const std::vector<Command> commands = cancel_iteration(vector.input["jid"].text, now);
    BOOST_TEST((lower(words_of(commands)) == lower(commands_of(vector))));
    BOOST_TEST(read_cancelled(connection.pipeline(commands)) == now);
    BOOST_TEST(read_cancelled(connection.pipeline(cancel_iteration("J", now + 9))) == now);
    BOOST_TEST(known().cancelled.value() == now);
    BOOST_TEST(known().cursor == "");
    BOOST_TEST(seconds_to_live() > month - 10);
  }
}

BOOST_FIXTURE_TEST_CASE(the_end_is_what_sidekiq_sends, Site) {
  for (const test::Vector& vector : test::vectors("iterable-done"))
    BOOST_TEST((lower({drop_iteration(vector.input["jid"].text).args}) == commands_of(vector)));
  keeper.save("J", {.executions = 1, .cursor = "1"});
  keeper.drop("J");
  BOOST_TEST(redis.keys().empty());
}

BOOST_FIXTURE_TEST_CASE(what_is_saved_is_loaded_again, Site) {
  BOOST_TEST(known().executions == 0);
  BOOST_TEST(known().cursor == "");
  keeper.save("J", {.executions = 3, .cursor = R"(["s1",9])", .run_seconds = 13.00777160000007, .cancelled = {}});
  BOOST_TEST(known().executions == 3);
  BOOST_TEST(known().cursor == R"(["s1",9])");
  BOOST_TEST(known().run_seconds == 13.00777160000007);
  BOOST_TEST(redis.hget("it-J", "rt").value() == "13.00777160000007");
  BOOST_TEST(!known().cancelled);
}

BOOST_FIXTURE_TEST_CASE(a_save_hears_of_a_cancellation_and_does_not_undo_it, Site) {
  BOOST_TEST(!keeper.save("J", {.executions = 1, .cursor = "1"}));
  connection.pipeline(cancel_iteration("J", 1795237717));
  BOOST_TEST(keeper.save("J", {.executions = 1, .cursor = "2"}));
  BOOST_TEST(known().cancelled.value() == 1795237717);
  BOOST_TEST(known().cursor == "2");
}

BOOST_FIXTURE_TEST_CASE(a_full_redis_still_takes_a_state, Site) {
  redis.command({"CONFIG", "SET", "maxmemory", "1"});
  keeper.save("J", {.executions = 1, .cursor = "2"});
  BOOST_TEST(redis.hget("it-J", "c").value() == "2");
}

BOOST_FIXTURE_TEST_CASE(what_is_no_state_is_refused_and_left_alone, Site) {
  redis.command({"SET", "it-J", "something"});
  BOOST_CHECK_THROW(keeper.load("J", give_up), UnexpectedReply);
  BOOST_TEST(!keeper.save("J", {.executions = 1, .cursor = "2"}));
  BOOST_TEST(redis.get("it-J").value() == "something");
  keeper.deliver([](std::chrono::milliseconds) { BOOST_FAIL("nothing is left to deliver"); });
}

BOOST_FIXTURE_TEST_CASE(whatever_number_is_there_the_next_run_has_one, Site) {
  redis.command({"HSET", "it-J", "ex", "9223372036854775807", "c", "5", "rt", "nan", "cancelled", "no time"});
  BOOST_TEST(known().executions > 1'000'000);
  BOOST_TEST(known().executions < std::numeric_limits<std::int64_t>::max());
  BOOST_TEST(known().cancelled.value() == 0);
  redis.command({"HSET", "it-J", "ex", "-9223372036854775808"});
  BOOST_TEST(known().executions == 0);
}

BOOST_FIXTURE_TEST_CASE(the_last_states_are_delivered_once_redis_is_back, Site) {
  redis.pause();
  const SteadyTime before = steady_now();
  BOOST_TEST(!keeper.save("J", {.executions = 1, .cursor = "1"}));
  BOOST_TEST((steady_now() - before < 5s));
  // The keeper does not wait for that Redis again soon.
  const SteadyTime again = steady_now();
  for (int i = 2; i < 1000; ++i) keeper.save("J", {.executions = 1, .cursor = std::to_string(i)});
  keeper.save("K", {.executions = 1, .cursor = "0"});
  keeper.drop("L");
  BOOST_TEST((steady_now() - again < 20s));  // a thousand waits would take minutes
  int pauses = 0;

  keeper.deliver([&](std::chrono::milliseconds) {
    if (++pauses == 2) redis.resume();
  });

  BOOST_TEST(pauses >= 2);
  // Only the last state of each job is sent, and once more if its outcome is unknown.
  const Reply stats = redis.command({"INFO", "commandstats"});
  const std::string text(stats.view().text()), saves = "cmdstat_evalsha:calls=";
  BOOST_TEST(std::stoi(text.substr(text.find(saves) + saves.size())) < 20);
  BOOST_TEST(known("J").cursor == "999");
  BOOST_TEST(known("K").cursor == "0");
  BOOST_TEST(!keeper.save("J", {.executions = 1, .cursor = "1000"}));
  BOOST_TEST(known("J").cursor == "1000");
}

BOOST_FIXTURE_TEST_CASE(a_delivery_is_given_up_by_its_pause, Site) {
  redis.kill9();
  keeper.save("J", {.executions = 1, .cursor = "1"});
  BOOST_CHECK_THROW(keeper.deliver([](std::chrono::milliseconds) { throw 1; }), int);
  redis.restart();
  keeper.deliver([](std::chrono::milliseconds) {});
  BOOST_TEST(known().cursor == "1");
}

BOOST_FIXTURE_TEST_CASE(a_slow_network_delays_a_state_but_not_for_ever, Site) {
  keeper.save("J", {.executions = 1, .cursor = "1"});
  TcpProxy network{redis.socket_path()};
  network.delay(600ms);  // each way: longer than a job between its items may be held up
  Connection far{network.address()};
  IterationKeeper patient{far};
  int pauses = 0;
  const auto not_for_ever = [&](std::chrono::milliseconds) { return ++pauses < 5; };
  const auto state = patient.load("J", not_for_ever);
  BOOST_REQUIRE(state.has_value());
  BOOST_TEST(state->cursor == "1");

  far.disconnect();
  patient.save("J", {.executions = 2, .cursor = "2"});
  pauses = 0;
  patient.deliver([&](std::chrono::milliseconds length) {
    if (!not_for_ever(length)) throw std::runtime_error("never delivered");
  });
  BOOST_TEST(known().cursor == "2");
}

BOOST_FIXTURE_TEST_CASE(a_load_waits_for_redis, Site) {
  keeper.save("J", {.executions = 1, .cursor = "1"});
  redis.pause();
  BOOST_TEST(!keeper.load("J", give_up));
  int pauses = 0;
  const auto state = keeper.load("J", [&](std::chrono::milliseconds) {
    if (++pauses == 1) redis.resume();
    return true;
  });
  BOOST_TEST(state.value().cursor == "1");
}
