// Jobs that are fetched together with the job that ends a wait.
#include <boost/test/unit_test.hpp>

#include "shared/store/keys.hpp"
#include "shared/store/script.hpp"
#include "tests/store/tapped_worker.hpp"

using namespace brood;
using namespace brood::tapped;

namespace {

Reply end_the_wait(Channel& redis, const Command&) { return redis.call({"GET", "nothing"}); }

struct Waiter : Worker {
  Waiter() {
    server.command({"SCRIPT", "LOAD", scripts::fetch_after_wait.text});
    next({}, {.draw = {"a", "b"}, .most = 1, .wait_queue = "a"});
    channel.next = {hand_on, hand_on};  // CLIENT ID and the script before the wait
  }
  Session::Waited wait() { return Worker::wait({"a", "b"}, 2); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(an_unblocked_worker_holds_a_job_of_another_queue, Waiter) {
  channel.next.emplace_back(end_the_wait);
  push("b", {"1", "2", "3"});
  BOOST_TEST((wait() == Session::Waited::job));
  BOOST_TEST(session->batch().queue == "b");
  BOOST_TEST(session->batch().entries.size() == 2U);
  BOOST_TEST(session->batch().entries.front() == "1");
  BOOST_TEST(server.hget(hash, "2.17").value() == "2 b");
  BOOST_TEST(seen().number == 2U);
  BOOST_TEST(seen().queue == "b");
  BOOST_TEST(settle({{}, {}}) == (Strings{"3"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_job_that_the_wait_brings_comes_alone, Waiter) {
  push("a", {"1", "2"});
  push("b", {"3"});
  BOOST_TEST((wait() == Session::Waited::job));
  BOOST_TEST(session->batch().entries.size() == 1U);
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
  BOOST_TEST((wait() == Session::Waited::job));
  BOOST_TEST(server.hget(hash, "2.17").value() == "1 a");
}

BOOST_FIXTURE_TEST_CASE(a_queue_that_is_no_list_is_passed_over_behind_a_wait, Waiter) {
  channel.next.emplace_back(end_the_wait);
  redis.call({"SET", "queue:a", "x"});
  push("b", {"1"});
  BOOST_TEST((wait() == Session::Waited::job));
  BOOST_TEST(session->batch().queue == "b");
}

BOOST_FIXTURE_TEST_CASE(nothing_is_fetched_for_an_incarnation_that_was_recovered, Waiter) {
  channel.next.emplace_back(end_the_wait);
  server.command({"HDEL", hash, "2.17"});
  push("b", {"1"});
  BOOST_TEST((wait() == Session::Waited::nothing));
  BOOST_TEST(session->batch().entries.empty());
  BOOST_TEST(server.lrange("queue:b") == (Strings{"1"}), boost::test_tools::per_element());
  BOOST_TEST(settle({}) == (Strings{"1"}), boost::test_tools::per_element());
  BOOST_TEST(server.hget(hash, "2.21").value() == "1 b");
}

BOOST_FIXTURE_TEST_CASE(a_redis_that_does_not_know_the_fetch_is_told_it, Waiter) {
  channel.next.emplace_back(end_the_wait);
  server.command({"SCRIPT", "FLUSH"});
  push("b", {"1"});
  BOOST_TEST((wait() == Session::Waited::job));
  BOOST_TEST(server.command({"SCRIPT", "EXISTS", scripts::fetch_after_wait.sha}).view()[0].integer() == 1);
}

BOOST_FIXTURE_TEST_CASE(a_lost_reply_leaves_what_was_fetched_to_the_recovery, Waiter) {
  channel.next.emplace_back(end_the_wait);
  channel.next.emplace_back(lose_reply);
  push("b", {"1"});
  BOOST_TEST((wait() == Session::Waited::lost));
  BOOST_TEST(!server.hget(hash, "2.17").has_value());
  BOOST_TEST(server.lrange("queue:b") == (Strings{"1"}), boost::test_tools::per_element());
}
