// A worker that has lost its field of the in-flight hash: by DEL, eviction or FLUSHALL.
#include <boost/test/unit_test.hpp>

#include "shared/store/keys.hpp"
#include "tests/store/tapped_worker.hpp"

using namespace brood;
using namespace brood::tapped;

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

// The lost reply had brought another batch, perhaps from another queue.  Nothing of that batch was performed.
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
    worker.next({}, {.draw = {"a"}, .most = 1, .wait_queue = "a"});
    worker.push("a", {"1"});
    BOOST_REQUIRE((worker.wait() == Session::Waited::job));
    worker.redis.call({"DEL", hash});

    if (performed) {
      worker.settle({Outcome{Outcome::Kind::retry, "1r", 5}});
    } else {
      worker.session->give_back_unbegun();
    }

    BOOST_TEST(worker.server.size_of("retry") == (performed ? 1u : 0u));
    BOOST_TEST(worker.server.size_of("queue:a") == (performed ? 0u : 1u));
    BOOST_TEST(worker.server.size_of(keys::in_flight_list(identity, "2.17", "a").name()) == 0u);
    worker.session->retire({});
    BOOST_TEST(worker.server.size_of("queue:a") == (performed ? 0u : 1u));
  }
}

BOOST_AUTO_TEST_CASE(what_comes_to_a_wait_without_a_field_is_fetched_anew) {
  Worker worker;
  worker.settle({}, 1, {"a"});
  worker.next({}, {.draw = {"a"}, .most = 1, .wait_queue = "a"});
  worker.redis.call({"DEL", hash});
  worker.push("a", {"1"});
  BOOST_TEST((worker.wait() == Session::Waited::nothing));
  BOOST_TEST(worker.settle({}) == Strings{"1"}, boost::test_tools::per_element());
  BOOST_TEST(worker.settle({Outcome{}}).empty());
}

BOOST_AUTO_TEST_CASE(a_worker_that_retires_without_a_field_leaves_no_list) {
  Worker worker;
  worker.push("a", {"1", "2"});
  worker.settle({}, 2);
  worker.redis.call({"DEL", hash});

  worker.session->retire({Outcome{Outcome::Kind::retry, "1r", 5}});

  BOOST_TEST(worker.server.size_of("retry") == 1u);
  BOOST_TEST(worker.server.lrange("queue:a") == Strings{"2"}, boost::test_tools::per_element());
  BOOST_TEST(worker.seen().retired);
}
