#include "worker/job/run_later.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr WallTime now{1'700'000'000s};

Payload job(const std::string& more = "") {
  return Payload::parse(R"({"class":"A","args":[],"jid":"1","queue":"q")" + more + "}");
}

bool is_kind(const Outcome& outcome, Outcome::Kind kind) { return outcome.kind == kind; }

}  // namespace

BOOST_AUTO_TEST_CASE(an_interrupted_job_goes_behind_what_waits_with_the_time_of_now) {
  const Outcome outcome = go_on_later(job(), now, 5s, 0ms);

  BOOST_TEST(is_kind(outcome, Outcome::Kind::requeue_back));
  BOOST_TEST((Payload::parse(outcome.payload).time("enqueued_at") == now));
}

BOOST_AUTO_TEST_CASE(one_that_interrupts_itself_at_once_waits_a_second_first) {
  const Outcome outcome = go_on_later(job(), now, 10ms, 0ms);

  BOOST_TEST(is_kind(outcome, Outcome::Kind::schedule));
  BOOST_TEST(outcome.score == 1.7e9 + 1);
}

BOOST_AUTO_TEST_CASE(one_that_says_when_it_goes_on_is_due_then_however_long_it_ran) {
  for (const auto ran_for : {10ms, 5000ms}) {
    const Outcome outcome = go_on_later(job(), now, ran_for, 300ms);
    BOOST_TEST(is_kind(outcome, Outcome::Kind::schedule));
    BOOST_TEST(outcome.score == 1.7e9 + 0.3);
  }
}

BOOST_AUTO_TEST_CASE(a_job_that_runs_again_expires_when_it_would_have_at_first) {
  const Payload expiring = job(R"(,"enqueued_at":1699999990.0,"expires_in":60)");

  for (const Outcome& outcome : {go_on_later(expiring, now, 5s, 0ms), try_after_limit(expiring, now, 1s)})
    BOOST_TEST(Payload::parse(outcome.payload).number("expiry").value() == 1'700'000'050.0);
}

BOOST_AUTO_TEST_CASE(a_job_over_a_limit_is_due_after_its_delay_and_counts_how_often) {
  const Outcome outcome = try_after_limit(job(R"(,"overrated":2)"), now, 90s);

  BOOST_TEST(is_kind(outcome, Outcome::Kind::schedule));
  BOOST_TEST(outcome.score == 1.7e9 + 90);
  BOOST_TEST(Payload::parse(outcome.payload).integer("overrated").value() == 3);
  BOOST_TEST((Payload::parse(outcome.payload).time("enqueued_at") == now));
}

BOOST_AUTO_TEST_CASE(who_waits_for_a_lock_asks_in_a_second_and_ever_more_seldom_for_one_that_is_kept_over_retries) {
  const auto asks_in = [](const std::string& more) { return wait_for_turn(job(more), "q", now).score - 1.7e9; };

  BOOST_TEST(asks_in("") == 1.0);
  BOOST_TEST(asks_in(R"(,"unique_until":"running","created_at":1600000000.0)") == 1.0);
  BOOST_TEST(asks_in(R"(,"unique_until":"success","created_at":1699999999.0)") == 1.0);
  BOOST_TEST(asks_in(R"(,"unique_until":"success","created_at":1699999950.0)") == 5.0);
  BOOST_TEST(asks_in(R"(,"unique_until":"success","created_at":1600000000.0)") == 10.0);
}

BOOST_AUTO_TEST_CASE(a_job_that_was_not_begun_stays_as_it_is_but_names_the_queue_it_came_from) {
  BOOST_TEST(wait_for_turn(job(), "q", now).payload == "");
  BOOST_TEST(wait_for_release(job(), "q", now).payload == "");
  for (const Outcome& outcome : {wait_for_turn(job(), "other", now), wait_for_release(job(), "other", now)})
    BOOST_TEST(outcome.payload == R"({"class":"A","args":[],"jid":"1","queue":"other"})");
}

BOOST_AUTO_TEST_CASE(a_job_of_a_class_in_quarantine_is_parked_with_the_time_of_now) {
  const Outcome outcome = wait_for_release(job(), "q", now);

  BOOST_TEST(is_kind(outcome, Outcome::Kind::park));
  BOOST_TEST(outcome.score == 1.7e9);
}
