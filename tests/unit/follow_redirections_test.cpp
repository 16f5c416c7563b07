#include "shared/redis/redirection.hpp"

#include <boost/test/unit_test.hpp>

#include <deque>
#include <thread>

#include "shared/redis/connection.hpp"
#include "tests/support/lost.hpp"
#include "tests/support/reply_from_wire.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

using Wires = std::vector<std::string>;
const std::string moved = "-MOVED 1 b:2", asks = "-ASK 1 c:3", try_again = "-TRYAGAIN x";

std::vector<Command> commands(const Wires& texts) {
  std::vector<Command> made;
  for (const std::string& text : texts) made.push_back({text});
  return made;
}

std::vector<Reply> replies(const Wires& wires) {
  std::vector<Reply> made;
  for (const std::string& wire : wires) made.push_back(reply_from_wire(wire + "\r\n"));
  return made;
}

std::string words(const std::vector<Command>& sent) {
  std::string text;
  for (const Command& command : sent) text += " " + command.args.front();
  return text;
}

// A cluster that gives the prepared answers in order and keeps what it was sent.
struct Told : RedirectedSender {
  std::deque<Wires> answers;
  Wires log;
  std::vector<std::chrono::milliseconds> pauses;

  std::vector<Reply> answer() {
    BOOST_REQUIRE(!answers.empty());
    const Wires wires = answers.front();
    answers.pop_front();
    if (wires == Wires{"away"}) throw ConnectionLost(Loss::not_connected, "away");
    if (wires == Wires{"refused"}) throw ConnectionLost(Loss::login_refused, "refused");
    return replies(wires);
  }
  std::vector<Reply> send(std::span<const Command> sent) override {
    log.push_back("send" + words({sent.begin(), sent.end()}));
    return answer();
  }
  void go_to(const RedisSeed& node) override { log.push_back("go to " + node.host); }
  std::vector<Reply> ask(const RedisSeed& node, const std::vector<Command>& sent) override {
    log.push_back("ask " + node.host + words(sent));
    return answer();
  }
  void pause(std::chrono::milliseconds time) override { pauses.push_back(time); }

  // The final answers to the commands, if their first answers were these.
  Wires follow(const Wires& sent, const Wires& first) {
    std::vector<Reply> all = replies(first);
    const std::vector<Command> made = commands(sent);
    follow_redirections(made, all, *this);
    Wires texts;
    for (const Reply& reply : all) {
      const ReplyView view = reply.view();
      texts.push_back(view.is_error()     ? std::string(view.error())
                      : view.is_integer() ? std::to_string(view.integer())
                                          : std::string(view.text()));
    }
    BOOST_TEST(answers.empty());
    return texts;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(what_is_not_redirected_is_not_sent_again, Told) {
  BOOST_TEST((follow({"A", "B"}, {"+OK", "-WRONGTYPE x"}) == (Wires{"OK", "WRONGTYPE x"})));
  BOOST_TEST(log.empty());
}

BOOST_FIXTURE_TEST_CASE(what_moved_is_sent_where_it_belongs_and_nothing_else_is, Told) {
  answers = {{"+two", "+four"}};
  BOOST_TEST(
      (follow({"A", "B", "C", "D"}, {"+one", moved, "+three", moved}) == (Wires{"one", "two", "three", "four"})));
  BOOST_TEST((log == (Wires{"go to b", "send B D"})));
  BOOST_TEST(pauses.empty());
}

BOOST_FIXTURE_TEST_CASE(what_is_on_its_way_is_asked_for_one_by_one, Told) {
  answers = {{"+two"}, {"+three"}};
  BOOST_TEST((follow({"A", "B", "C"}, {"+one", asks, asks}) == (Wires{"one", "two", "three"})));
  BOOST_TEST((log == (Wires{"ask c B", "ask c C"})));
}

BOOST_FIXTURE_TEST_CASE(a_whole_transaction_is_sent_again_where_it_was, Told) {
  answers = {{"+OK", "+QUEUED", "*0"}};
  std::vector<Reply> all = replies({"+OK", "+OK", asks, "-EXECABORT x"});
  const std::vector<Command> made = commands({"A", "MULTI", "B", "EXEC"});
  follow_redirections(made, all, *this);
  BOOST_TEST((log == (Wires{"send MULTI B EXEC"})));
  BOOST_TEST((pauses == (std::vector{5ms})));
  BOOST_TEST(all[3].view().is_array());
}

BOOST_FIXTURE_TEST_CASE(each_further_attempt_waits_longer, Told) {
  answers = {{try_again}, {try_again}, {try_again}, {try_again}, {try_again}, {try_again}, {"+OK"}};
  BOOST_TEST((follow({"A"}, {try_again}) == (Wires{"OK"})));
  BOOST_TEST((pauses == (std::vector{5ms, 10ms, 20ms, 40ms, 80ms, 100ms, 100ms})));
}

BOOST_FIXTURE_TEST_CASE(nodes_that_send_each_other_s_commands_back_are_asked_slower, Told) {
  answers = {{moved}, {moved}, {moved}, {moved}, {"+OK"}};
  BOOST_TEST((follow({"A"}, {moved}) == (Wires{"OK"})));
  BOOST_TEST((pauses == (std::vector{5ms, 10ms})));
}

BOOST_AUTO_TEST_CASE(after_a_while_the_caller_gets_the_error) {
  struct Never : Told {
    std::vector<Reply> send(std::span<const Command>) override { return replies({try_again}); }
    void pause(std::chrono::milliseconds time) override {
      pauses.push_back(time);
      std::this_thread::sleep_for(time);
    }
  } never;
  BOOST_TEST((never.follow({"A"}, {try_again}) == (Wires{"TRYAGAIN x"})));
  BOOST_TEST(never.pauses.size() > 5U);
}

BOOST_FIXTURE_TEST_CASE(the_fewer_replicas_count_when_only_some_of_it_was_there, Told) {
  answers = {{"+two", ":0"}};
  BOOST_TEST((follow({"A", "B", "WAIT"}, {"+one", asks, ":2"}) == (Wires{"one", "two", "0"})));
  BOOST_TEST((log == (Wires{"ask c B WAIT"})));
  answers = {{"+two", ":2"}};
  BOOST_TEST((follow({"A", "B", "WAIT"}, {"+one", asks, ":1"}) == (Wires{"one", "two", "1"})));
  answers = {{"+two", "-NOPERM x"}};
  BOOST_TEST((follow({"A", "B", "WAIT"}, {"+one", asks, ":1"}) == (Wires{"one", "two", "NOPERM x"})));
}

BOOST_FIXTURE_TEST_CASE(that_nobody_is_there_says_nothing_of_what_was_applied_before, Told) {
  for (const std::string& redirection : {moved, asks, try_again}) {
    answers = {{"away"}};
    BOOST_CHECK_EXCEPTION(follow({"A"}, {redirection}), ConnectionLost, lost_by(Loss::not_connected));
    answers = {{"refused"}};
    BOOST_CHECK_EXCEPTION(follow({"A"}, {redirection}), ConnectionLost, lost_by(Loss::login_refused));
    answers = {{"away"}};
    BOOST_CHECK_EXCEPTION(follow({"A", "B"}, {"+OK", redirection}), ConnectionLost, lost_by(Loss::unanswered));
    answers = {{"refused"}};
    BOOST_CHECK_EXCEPTION(follow({"A", "B"}, {"+OK", redirection}), ConnectionLost, lost_by(Loss::unanswered));
  }
}
