#include "shared/job/expiry.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

#include "shared/job/due_job.hpp"
#include "shared/job/retry_decision.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const WallTime enqueued(1795237403000ms);

Payload job_with(const std::string& members, const std::string& enqueued_at = R"("enqueued_at":1795237403000)") {
  return Payload::parse(R"({"class":"A","args":[],"queue":"low","jid":"b1","retry":true,"created_at":1795237000000,)" +
                        enqueued_at + (members.empty() ? "" : "," + members) + "}");
}

std::optional<WallTime> expiry(const std::string& members) { return expiry_of(job_with(members)); }

Payload due(const std::string& text, ExpiryClock clock) {
  std::mt19937_64 random(1);
  return Payload::parse(
      prepare_due_job(text, enqueued + 1h, random, usual_time_unit, RetryCount::as_it_is, clock).payload);
}

std::string scheduled(const std::string& members) {
  return R"({"class":"A","args":[],"queue":"low","jid":"b1","created_at":1795237000000,)" + members + "}";
}

}  // namespace

BOOST_AUTO_TEST_CASE(expires_in_counts_from_when_the_job_was_enqueued) {
  BOOST_TEST((expiry(R"("expires_in":60)") == enqueued + 60s));
  BOOST_TEST((expiry(R"("expires_in":0.5)") == enqueued + 500ms));
  BOOST_TEST((expiry(R"("expires_in":1e2)") == enqueued + 100s));
  BOOST_TEST((expiry_of(job_with(R"("expires_in":60)", R"("enqueued_at":1795237403.5)")) == enqueued + 60500ms));
}

BOOST_AUTO_TEST_CASE(a_duration_that_ruby_wrote_in_quotes_is_one) {
  BOOST_TEST((expiry(R"("expires_in":"3600")") == enqueued + 1h));
  BOOST_TEST((expiry(R"("expires_in":"0.25")") == enqueued + 250ms));
}

BOOST_AUTO_TEST_CASE(expiry_is_a_point_in_time_and_wins) {
  BOOST_TEST((expiry(R"("expiry":1795237500)") == WallTime(1795237500s)));
  BOOST_TEST((expiry(R"("expiry":1795237500.5,"expires_in":1)") == WallTime(1795237500500ms)));
  BOOST_TEST((expiry(R"("expiry":1795237500500)") == WallTime(1795237500500ms)));
  BOOST_TEST((expiry(R"("expiry":"1795237500")") == WallTime(1795237500s)));
}

BOOST_AUTO_TEST_CASE(what_is_no_positive_number_expires_no_job) {
  for (const std::string value : {"null",       "true",
                                  "false",      "0",
                                  "-1",         "-0.0",
                                  "1e400",      "-1e400",
                                  "\"\"",       "\"soon\"",
                                  "\"1 hour\"", "\"-5\"",
                                  "\"0\"",      "\"inf\"",
                                  "\"nan\"",    "\" 5\"",
                                  "\"5 \"",     "[]",
                                  "[5]",        "{}",
                                  "{\"a\":1}",  "99999999999999999999999",
                                  "9200000001", "\"1e308\""}) {
    BOOST_TEST_CONTEXT(value) {
      BOOST_TEST(!expiry("\"expires_in\":" + value).has_value());
      if (value != "99999999999999999999999" && value != "9200000001")
        BOOST_TEST(!expiry("\"expiry\":" + value).has_value());
      // A value that is no time hides the other one too.
      if (value != "1e400" && value.find("99999") == value.npos && value != "\"1e308\"" && value != "9200000001")
        BOOST_TEST((expiry("\"expiry\":" + value + R"(,"expires_in":60)") == enqueued + 60s));
      BOOST_TEST(!kept_expiry(job_with("\"expires_in\":" + value)).has_value());
      BOOST_TEST(!kept_expiry(job_with("\"expires_in\":" + value), enqueued).has_value());
      BOOST_TEST(!renewed_expiry(job_with("\"expires_in\":" + value), enqueued).has_value());
    }
  }
  BOOST_TEST(!expiry("").has_value());
  BOOST_TEST(!expiry(R"("expiry":99999999999999999999999)").has_value());
}

BOOST_AUTO_TEST_CASE(without_a_time_of_its_own_the_clock_has_not_begun) {
  BOOST_TEST(!expiry_of(job_with(R"("expires_in":60)", R"("x":0)")).has_value());
  BOOST_TEST(!expiry_of(job_with(R"("expires_in":60)", R"("enqueued_at":"yesterday")")).has_value());
}

BOOST_AUTO_TEST_CASE(a_retry_that_another_server_wrote_counts_from_the_first_failure) {
  const Payload job = job_with(R"("expires_in":60,"failed_at":1795237400000,"retry_count":1)");
  BOOST_TEST((expiry_of(job) == enqueued - 3s + 60s));
}

BOOST_AUTO_TEST_CASE(a_job_that_has_expired_once_and_is_run_by_hand_does_not_again) {
  BOOST_TEST(!expiry(R"("expires_in":60,"expiry":1,"expired_at":1795237403000)").has_value());
}

BOOST_AUTO_TEST_CASE(a_failure_and_a_retry_do_not_restart_the_clock) {
  const Payload job = job_with(R"("expires_in":60)");
  const Verdict verdict = judge_failure(job, {"E", "m", {}}, {}, std::nullopt, "low", enqueued + 10s, 0, RetryPolicy{});
  BOOST_TEST(verdict.payload.raw("expiry").value_or("") == "1795237463.0");
  BOOST_TEST((expiry_of(due(verdict.payload.text(), {})) == enqueued + 60s));
  // By hand as well.
  BOOST_TEST((expiry_of(retry_uncharged(job, {"E", "m", {}}, "low", enqueued + 10s, 0).payload) == enqueued + 60s));
  // And what fails again keeps what it has.
  const Verdict again =
      judge_failure(verdict.payload, {"E", "m", {}}, {}, std::nullopt, "low", enqueued + 30s, 0, RetryPolicy{});
  BOOST_TEST(again.payload.raw("expiry").value_or("") == "1795237463.0");
}

BOOST_AUTO_TEST_CASE(a_failure_of_a_job_without_it_adds_nothing) {
  const Payload record =
      judge_failure(job_with(""), {"E", "m", {}}, {}, std::nullopt, "low", enqueued + 10s, 0, RetryPolicy{}).payload;
  BOOST_TEST(!record.raw("expiry").has_value());
  const Payload absolute = judge_failure(job_with(R"("expiry":1795237500)"), {"E", "m", {}}, {}, std::nullopt, "low",
                                         enqueued + 10s, 0, RetryPolicy{})
                               .payload;
  BOOST_TEST(absolute.raw("expiry").value_or("") == "1795237500");
}

BOOST_AUTO_TEST_CASE(a_scheduled_job_counts_from_when_it_was_due_and_not_from_when_it_was_moved) {
  const ExpiryClock from_due{ExpiryClock::Kind::begins, enqueued};
  BOOST_TEST((expiry_of(due(scheduled(R"("expires_in":60)"), from_due)) == enqueued + 60s));
  // One that interrupted itself and waits there has its end already.
  BOOST_TEST((expiry_of(due(scheduled(R"("expires_in":60,"expiry":1795237410)"), from_due)) == enqueued + 7s));
  BOOST_TEST(due(scheduled(R"("x":1)"), from_due).text() ==
             R"({"class":"A","args":[],"queue":"low","jid":"b1","created_at":1795237000000,"x":1,)"
             R"("enqueued_at":1795241003000})");
}

BOOST_AUTO_TEST_CASE(a_retry_of_another_server_keeps_its_first_clock_when_we_move_it) {
  const Payload job = job_with(R"("expires_in":60,"failed_at":1795237404000,"retry_count":0)");
  BOOST_TEST((expiry_of(due(job.text(), {})) == enqueued + 60s));
}

BOOST_AUTO_TEST_CASE(a_job_out_of_dead_has_all_of_its_time_again) {
  const ExpiryClock again{ExpiryClock::Kind::begins_again, enqueued + 1h};
  const Payload job = due(job_with(R"("expires_in":60,"expiry":1795237463.0)").text(), again);
  BOOST_TEST((expiry_of(job) == enqueued + 1h + 60s));
  BOOST_TEST(!expiry_of(due(job_with(R"("expiry":1795237463.0)").text(), again)).has_value());
}
