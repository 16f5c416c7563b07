// AsyncConnection::Scope: answers to a sender that is gone are dropped.
#include <boost/test/unit_test.hpp>

#include <optional>

#include "tests/store/loop_with_redis.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Result = AsyncConnection::Result;

namespace {

struct Sending : LoopWithRedis {
  std::optional<AsyncConnection::Scope> scope{std::in_place, connection};
  int answered = 0, last = 0;

  AsyncConnection::Callback count() {
    return [this](const Result&) { ++answered; };
  }
  // Sent behind all earlier commands.
  void until_all_is_answered() {
    connection.send({"PING"}, 10s, [this, number = last + 1](const Result&) { last = number; });
    BOOST_REQUIRE(run_until([this, number = last + 1] { return last == number; }));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(what_a_scope_sends_is_answered_while_it_is_there, Sending) {
  std::optional<std::vector<Result>> both;
  scope->send({"PING"}, 10s, count());
  scope->send_all({{"ECHO", "a"}, {"ECHO", "b"}}, 10s, [&](std::vector<Result> results) { both = std::move(results); });
  until_all_is_answered();
  BOOST_TEST(answered == 1);
  BOOST_REQUIRE(both.has_value());
  BOOST_TEST(both->at(1).reply.view().text() == "b");
}

BOOST_FIXTURE_TEST_CASE(a_reply_after_the_scope_is_gone_is_dropped_and_that_of_another_comes, Sending) {
  AsyncConnection::Scope other(connection);
  int others = 0;
  scope->send({"PING"}, 10s, count());
  other.send({"PING"}, 10s, [&](const Result&) { ++others; });
  scope->send_all({{"PING"}, {"PING"}}, 10s, [this](const std::vector<Result>&) { ++answered; });
  scope.reset();
  until_all_is_answered();
  BOOST_TEST(answered == 0);
  BOOST_TEST(others == 1);
}

BOOST_FIXTURE_TEST_CASE(a_scope_may_end_in_a_callback_of_its_own, Sending) {
  const auto kept = std::make_shared<int>(7);
  int seen = 0;
  scope->send({"PING"}, 10s, [this, kept, &seen](const Result&) {
    scope.reset();
    seen = *kept;  // what runs is still whole
  });
  scope->send({"PING"}, 10s, count());
  until_all_is_answered();
  BOOST_TEST(seen == 7);
  BOOST_TEST(answered == 0);
}

BOOST_FIXTURE_TEST_CASE(a_scope_that_is_cancelled_hears_only_of_what_it_sends_then, Sending) {
  scope->send({"PING"}, 10s, count());
  scope->cancel();
  scope->send({"PING"}, 10s, [this](const Result&) { answered += 10; });
  until_all_is_answered();
  BOOST_TEST(answered == 10);
}

BOOST_FIXTURE_TEST_CASE(the_failure_of_a_command_is_dropped_too, Sending) {
  scope->send({"PING"}, 10s, count());
  connection.close();
  scope->send({"PING"}, 10s, count());
  scope.reset();
  run_for(20ms);
  BOOST_TEST(answered == 0);
}
