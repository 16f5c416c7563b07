#include "shared/store/deferral.hpp"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <random>
#include <string>
#include <string_view>

#include "shared/job/due_job.hpp"
#include "shared/job/expiry.hpp"
#include "shared/job/retry_decision.hpp"
#include "worker/job/perform.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr WallTime now{1'700'000'000s};

Payload job(const std::string& more = "") {
  return Payload::parse(R"({"class":"A","args":[],"jid":"1","queue":"q")" + more + "}");
}

bool is_kind(const Outcome& outcome, Outcome::Kind kind) { return outcome.kind == kind; }

using Why = Deferral::Why;

Outcome deferred(Why why, const Payload& job, const std::string& queue) { return defer(job, {.why = why}, queue, now); }

Outcome interrupted(const Payload& job, const std::string& queue, std::chrono::nanoseconds ran_for,
                    std::chrono::milliseconds delay) {
  return defer(job, Deferral::interrupted(ran_for, delay), queue, now);
}

Outcome over_limit(const Payload& job, const std::string& queue, std::chrono::milliseconds delay) {
  return defer(job, {.why = Why::limit, .delay = delay}, queue, now);
}

Performed failed_over_limit(std::int64_t most, std::chrono::milliseconds in = -1ms) {
  Performed performed;
  performed.kind = Performed::Kind::failed;
  performed.most_deferrals = most;
  performed.defer_for = in;
  return performed;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_interrupted_job_goes_behind_what_waits_with_the_time_of_now) {
  const Outcome outcome = interrupted(job(), "q", 5s, 0ms);

  BOOST_TEST(is_kind(outcome, Outcome::Kind::requeue_back));
  BOOST_TEST((Payload::parse(outcome.payload).time("enqueued_at") == now));
}

BOOST_AUTO_TEST_CASE(one_that_interrupts_itself_at_once_waits_a_second_first) {
  const Outcome outcome = interrupted(job(), "q", 10ms, 0ms);

  BOOST_TEST(is_kind(outcome, Outcome::Kind::schedule));
  BOOST_TEST(outcome.score == 1.7e9 + 1);
}

BOOST_AUTO_TEST_CASE(one_that_says_when_it_goes_on_is_due_then_however_long_it_ran) {
  for (const auto ran_for : {10ms, 5000ms}) {
    const Outcome outcome = interrupted(job(), "q", ran_for, 300ms);
    BOOST_TEST(is_kind(outcome, Outcome::Kind::schedule));
    BOOST_TEST(outcome.score == 1.7e9 + 0.3);
  }
}

BOOST_AUTO_TEST_CASE(a_job_that_runs_again_expires_when_it_would_have_at_first) {
  const Payload expiring = job(R"(,"enqueued_at":1699999990.0,"expires_in":60)");

  for (const Outcome& outcome : {interrupted(expiring, "q", 5s, 0ms), over_limit(expiring, "q", 1s)})
    BOOST_TEST(Payload::parse(outcome.payload).number("expiry").value() == 1'700'000'050.0);
}

BOOST_AUTO_TEST_CASE(a_job_over_a_limit_is_due_after_its_delay_and_counts_how_often) {
  const Outcome outcome = over_limit(job(R"(,"overrated":2)"), "q", 90s);

  BOOST_TEST(is_kind(outcome, Outcome::Kind::schedule));
  BOOST_TEST(outcome.score == 1.7e9 + 90);
  BOOST_TEST(Payload::parse(outcome.payload).integer("overrated").value() == 3);
  BOOST_TEST((Payload::parse(outcome.payload).time("enqueued_at") == now));
}

BOOST_AUTO_TEST_CASE(
    a_job_that_waits_for_a_lock_asks_in_a_second_and_ever_more_seldom_for_one_that_is_kept_over_retries) {
  const auto asks_in = [](const std::string& more) { return deferred(Why::lock, job(more), "q").score - 1.7e9; };

  BOOST_TEST(asks_in("") == 1.0);
  BOOST_TEST(asks_in(R"(,"unique_until":"running","created_at":1600000000.0)") == 1.0);
  BOOST_TEST(asks_in(R"(,"unique_until":"success","created_at":1699999999.0)") == 1.0);
  BOOST_TEST(asks_in(R"(,"unique_until":"success","created_at":1699999950.0)") == 5.0);
  BOOST_TEST(asks_in(R"(,"unique_until":"success","created_at":1600000000.0)") == 10.0);
}

BOOST_AUTO_TEST_CASE(a_job_that_was_not_begun_stays_as_it_is_but_names_the_queue_it_came_from) {
  BOOST_TEST(deferred(Why::lock, job(), "q").payload == "");
  BOOST_TEST(deferred(Why::quarantine, job(), "q").payload == "");
  for (const Outcome& outcome : {deferred(Why::lock, job(), "other"), deferred(Why::quarantine, job(), "other")})
    BOOST_TEST(outcome.payload == R"({"class":"A","args":[],"jid":"1","queue":"other"})");
}

BOOST_AUTO_TEST_CASE(a_job_of_a_class_in_quarantine_waits_with_the_time_of_now) {
  const Outcome outcome = deferred(Why::quarantine, job(), "q");

  BOOST_TEST(is_kind(outcome, Outcome::Kind::quarantine));
  BOOST_TEST(outcome.score == 1.7e9);
}

// Every way back into a queue or a set, and the clocks of the payload when the job is fetched the next time.
//
//   the way back                              by                               expires_in  enqueued_at  at
//   interrupted, to the back of its queue     defer                            goes on     now
//   interrupted, for a chosen time            defer, the schedule              goes on     when due
//   over a limit                              defer, the schedule              goes on     when due
//   another has the lock that it runs under   defer, the schedule              goes on     when due
//   its class is in quarantine, or paused     defer, release_quarantined       goes on     stays
//   beside its queue for a cap, and returned  defer, return_set_aside          goes on     stays        as it lies
//   given back, by a worker or its recovery   give_back, recover               goes on     stays        as it lies
//   its field was lost                        settle_without_field             goes on     stays        as it lies
//   failed or crashed                         judge_failure, the retries       goes on     when due
//   ended by hand, to be retried              retry_uncharged, the retries     goes on     when due
//   out of the retries at once, by hand       prepare_due_job                  goes on     now
//   scheduled by its push                     prepare_due_job                  when due    when due     not written
//   rescheduled                               reschedule_entry                 when due    when due     the new score
//   out of the dead set                       prepare_due_job                  anew        now
//   too large to be rewritten                 move_due_as_it_is                goes on     stays        as it lies
//
// created_at never changes.  failed_at is the first failure's, also after a job was raised from the dead: retry_for
// counts from it, as in Sidekiq.  retried_at is the last failure's.  The lock of a job with unique_for lives so long
// from when the job is due, which a reschedule moves (tests/store/unique_jobs_test), and anew when it is raised from
// the dead.  A timeout begins with each run, that of an iterable job with each item; its run time adds up over all
// runs.
BOOST_AUTO_TEST_CASE(no_way_back_begins_a_clock_anew_but_that_out_of_the_dead) {
  constexpr WallTime enqueued = now - 50s;
  constexpr auto lives = 60s;
  const std::string first =
      R"({"class":"A","args":[],"jid":"1","retry":true,"created_at":1699999900.0,)"
      R"("failed_at":1699999960.0,"retry_count":0,"queue":"q","enqueued_at":1699999950.0,"expires_in":60})";
  const Failure failure{"E", "m", {}};
  const auto as_it_is = [](const std::string& text) { return text; };
  const auto out_of = [](ExpiryClock clock) {
    return [clock](const std::string& text) {
      std::mt19937_64 random(1);
      return prepare_due_job(text, now + 3600s, random, usual_time_unit, RetryCount::as_it_is, clock).payload;
    };
  };
  const auto out_of_schedule = out_of({ExpiryClock::Kind::begins, now + 3000s}), out_of_retries = out_of({});
  using Change = std::function<std::string(const Payload&)>;
  using Return = std::function<std::string(const std::string&)>;
  const auto outcome = [](auto make) {
    return [make](const Payload& job) {
      const Outcome outcome = make(job);
      return outcome.payload.empty() ? job.text() : outcome.payload;
    };
  };
  struct Row {
    std::string_view way;
    Change leaves;
    Return comes_back;
  };
  const Row rows[] = {
      {"interrupted", outcome([](const Payload& job) { return interrupted(job, "q", 5s, 0ms); }), as_it_is},
      {"interrupted, for a chosen time", outcome([](const Payload& job) { return interrupted(job, "q", 5s, 1h); }),
       out_of_schedule},
      {"over a limit", outcome([](const Payload& job) { return over_limit(job, "q", 1h); }), out_of_schedule},
      {"waits for a lock", outcome([](const Payload& job) { return deferred(Why::lock, job, "q"); }), out_of_schedule},
      {"waits for a lock, of another queue",
       outcome([](const Payload& job) { return deferred(Why::lock, job, "other"); }), out_of_schedule},
      {"quarantined", outcome([](const Payload& job) { return deferred(Why::quarantine, job, "q"); }), as_it_is},
      {"quarantined, of another queue",
       outcome([](const Payload& job) { return deferred(Why::quarantine, job, "other"); }), as_it_is},
      {"beside its queue, or given back", [](const Payload& job) { return job.text(); }, as_it_is},
      {"failed",
       [&](const Payload& job) {
         return judge_failure(job, failure, {}, std::nullopt, "q", now, 0, RetryPolicy{}).payload.text();
       },
       out_of_retries},
      {"ended by hand", [&](const Payload& job) { return retry_uncharged(job, failure, "q", now, 0).payload.text(); },
       out_of_retries},
  };
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.way) {
      std::string text = first;
      for (int times = 0; times < 2; ++times) {
        text = row.comes_back(row.leaves(Payload::parse(text)));
        const Payload job = Payload::parse(text);
        BOOST_TEST((expiry_of(job) == enqueued + lives));
        BOOST_TEST((job.time("created_at") == now - 100s));
        BOOST_TEST((job.time("failed_at") == now - 40s));
        const auto enqueued_at = job.time("enqueued_at").value();
        BOOST_TEST((enqueued_at == enqueued || enqueued_at == now || enqueued_at == now + 3600s));
        BOOST_TEST(!job.raw("at").has_value());
      }
    }
  }
  const Payload raised = Payload::parse(out_of({ExpiryClock::Kind::begins_again, now})(first));
  BOOST_TEST((expiry_of(raised) == now + lives));
}

// Only the payload names the queue then.
BOOST_AUTO_TEST_CASE(a_job_that_waits_in_the_schedule_names_the_queue_it_came_from) {
  const Payload unnamed = Payload::parse(R"({"class":"A","args":[],"jid":"1"})");
  for (const Outcome& outcome : {interrupted(unnamed, "q", 5s, 1s), over_limit(unnamed, "q", 1s),
                                 deferred(Why::lock, unnamed, "q"), deferred(Why::quarantine, unnamed, "q")})
    BOOST_TEST(Payload::parse(outcome.payload).string("queue").value() == "q");
  BOOST_TEST(!Payload::parse(interrupted(unnamed, "q", 5s, 0ms).payload).raw("queue").has_value());
}

BOOST_AUTO_TEST_CASE(a_job_without_a_place_of_its_class_waits_beside_its_queue_as_it_is) {
  const Outcome outcome = defer(job(), {.why = Why::cap, .into = "q@cap"}, "other", now);

  BOOST_TEST(is_kind(outcome, Outcome::Kind::beside));
  BOOST_TEST(outcome.into == "q@cap");
  BOOST_TEST(outcome.payload == "");
}

BOOST_AUTO_TEST_CASE(a_paused_class_has_its_jobs_wait_where_those_of_a_quarantine_do) {
  const Outcome paused = deferred(Why::pause, job(), "other"), quarantined = deferred(Why::quarantine, job(), "other");

  BOOST_TEST(is_kind(paused, quarantined.kind));
  BOOST_TEST(paused.payload == quarantined.payload);
}

BOOST_AUTO_TEST_CASE(a_job_over_a_limit_is_deferred_five_minutes_more_each_time) {
  const Performed first = defer_over_limit(failed_over_limit(20), job(), 0);
  BOOST_TEST((first.kind == Performed::Kind::over_limit));
  BOOST_TEST((first.delay == 301s));
  BOOST_TEST((defer_over_limit(failed_over_limit(20), job(), 0.5).delay == 451s));
  BOOST_TEST((defer_over_limit(failed_over_limit(20), job(R"(,"overrated":3)"), 0).delay == 1201s));
  BOOST_TEST((defer_over_limit(failed_over_limit(20, 70ms), job(R"(,"overrated":3)"), 0.9).delay == 70ms));
  BOOST_TEST((defer_over_limit(failed_over_limit(20, 0ms), job(), 0.9).delay == 0ms));
}

BOOST_AUTO_TEST_CASE(one_that_was_deferred_often_enough_or_has_another_failure_has_failed) {
  const auto kind = [](Performed performed, const std::string& more = "") {
    return defer_over_limit(std::move(performed), job(more), 0).kind;
  };
  BOOST_TEST((kind(failed_over_limit(20), R"(,"overrated":20)") == Performed::Kind::failed));
  BOOST_TEST((kind(failed_over_limit(20), R"(,"overrated":19)") == Performed::Kind::over_limit));
  BOOST_TEST((kind(failed_over_limit(0)) == Performed::Kind::failed));
  BOOST_TEST((kind({}) == Performed::Kind::succeeded));
}

BOOST_AUTO_TEST_CASE(a_payload_counts_deferrals_for_a_limit_and_a_failure_begins_anew) {
  const auto counted = [](const std::string& more) {
    return Payload::parse(over_limit(job(more), "q", 1s).payload).integer("overrated").value();
  };
  BOOST_TEST(counted("") == 1);
  BOOST_TEST(counted(R"(,"overrated":7)") == 8);
  BOOST_TEST(counted(R"(,"overrated":"x")") == 1);
  BOOST_TEST(!without_times_over_limit(job()).has_value());
  BOOST_TEST(without_times_over_limit(job(R"(,"overrated":7)"))->text() == job().text());
}
