#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

#include "shared/job/retry_decision.hpp"
#include "tests/support/vectors.hpp"

using namespace brood;
using Kind = Verdict::Kind;

namespace {

const WallTime now{std::chrono::milliseconds(1795238112081)};

Payload job_with(const std::string& members) {
  return Payload::parse(R"({"class":"A","args":[],"queue":"default")" + (members.empty() ? "" : "," + members) + "}");
}

struct Attempt {
  Failure failure{.error_class = "std::runtime_error", .message = "boom", .backtrace = {}};
  HookAnswer hook{};
  std::optional<RetryOption> class_retry = RetryOption{};
  double jitter = 0;
  RetryPolicy policy{};
  WallTime at = now;

  Verdict judge(const Payload& job) const {
    return judge_failure(job, failure, hook, class_retry, "default", at, jitter, policy);
  }
  Verdict judge(const std::string& members) const { return judge(job_with(members)); }
};

Failure crash() {
  return {.error_class = "SIGSEGV",
          .message = "SIGSEGV",
          .backtrace = {"a", "b", "c"},
          .always_backtrace = true,
          .crash = true,
          .crash_json = R"({"at":1.5,"signal":"SIGSEGV"})"};
}

std::int64_t delay_s(const Verdict& verdict) {
  BOOST_REQUIRE(verdict.kind == Kind::retry);
  return std::chrono::duration_cast<std::chrono::seconds>(verdict.at - now).count();
}

Attempt with_hook(HookAnswer::Kind kind, std::int64_t delay = 0) {
  Attempt attempt;
  attempt.hook = {kind, std::chrono::seconds(delay)};
  return attempt;
}

WallTime time_of(std::string_view raw) {
  return *Payload::parse(R"({"class":"A","args":[],"t":)" + std::string(raw) + "}").time("t");
}

std::vector<std::string> stored_lines(const Verdict& verdict) {
  return decode_backtrace(verdict.payload.string("error_backtrace").value_or("")).value_or(std::vector<std::string>{});
}

}  // namespace

// Each captured failure is judged again at the moment that its record names, and must give the same bytes.
BOOST_AUTO_TEST_CASE(the_records_are_those_that_the_ruby_releases_wrote) {
  const std::vector<std::string> frames{"app/jobs/mail_job.rb:12:in `perform'", "app/models/user.rb:88:in `save!'",
                                        "lib/util.rb:3:in `block in run'", "lib/util.rb:1:in `run'"};
  int compared = 0;
  for (const auto& vector : test::vectors("fail-")) {
    if (!vector.input.has("payload") || vector.id.starts_with("fail-not-json") || !vector.expect.has("member"))
      continue;
    BOOST_TEST_CONTEXT(vector.id) {
      const Payload before = Payload::parse(vector.input["payload"].text);
      Payload expected = Payload::parse(vector.expect["member"].text);
      const auto is = [&](std::string_view name) { return vector.id.starts_with("fail-" + std::string(name)); };

      const std::string changed = before.raw("retry_count") ? "retried_at" : "failed_at";
      Attempt attempt;
      attempt.at = time_of(*expected.raw(changed));
      attempt.failure = {.error_class = *expected.string("error_class"),
                         .message = *expected.string("error_message"),
                         .backtrace = frames};
      if (is("retry-in-30"))
        attempt.hook = {HookAnswer::Kind::delay, std::chrono::seconds(10 * (failure_count(before) + 1))};

      // The documented differences: the unit of a payload without created_at, and 6's line breaks.
      if (!before.raw("created_at")) expected = expected.with({{changed, json_time(attempt.at, before.time_unit())}});
      if (auto text = expected.string("error_backtrace")) {
        std::erase(*text, '\n');
        expected = expected.with({{"error_backtrace", json_string(*text)}});
      }
      // The answers of release 8's exhausted hooks hold for every payload.
      attempt.policy.retry_for = SidekiqRelease::parse(vector.version).value_or(SidekiqRelease{8, 1, 0}).retry_for();
      const bool retried = vector.expect["stored_in"].text == "retry";

      const double score = std::stod(vector.expect["score"].text);
      if (vector.expect["stored_in"].text == "retry") {
        const auto waited = std::floor(score - epoch_seconds(attempt.at) + 0.01);
        const std::int64_t count = failure_count(before);
        const double base = attempt.hook.kind == HookAnswer::Kind::delay
                                ? static_cast<double>(attempt.hook.delay.count())
                                : std::pow(static_cast<double>(count), 4) + 15;
        attempt.jitter = (waited - base + 0.5) / static_cast<double>(10 * (count + 1));
        BOOST_TEST((attempt.jitter > 0 && attempt.jitter < 1));
      }

      const Verdict verdict = attempt.judge(before);

      BOOST_CHECK(verdict.kind == (retried ? Kind::retry : Kind::exhausted));
      BOOST_TEST(verdict.payload.text() == expected.text());
      if (retried && vector.expect["stored_in"].text == "retry")
        BOOST_TEST(std::abs(epoch_seconds(verdict.at) - score) < 0.1);
      if (verdict.kind == Kind::exhausted) BOOST_TEST(goes_to_dead(verdict.payload, false));
      ++compared;
    }
  }
  BOOST_TEST(compared > 40);
}

BOOST_AUTO_TEST_CASE(what_the_ruby_releases_stored_nowhere_is_stored_nowhere) {
  int compared = 0;
  for (const auto& vector : test::vectors("fail-")) {
    if (vector.expect.has("stored_in") || !vector.input.has("payload")) continue;
    BOOST_TEST_CONTEXT(vector.id) {
      const Payload job = Payload::parse(vector.input["payload"].text);
      const bool missing_class = job.job_class() == "Missing::Klass";
      Attempt attempt;
      attempt.failure.from_job = !missing_class;
      if (missing_class) attempt.class_retry = std::nullopt;
      if (vector.id.starts_with("fail-retry-in-discard")) attempt.hook.kind = HookAnswer::Kind::discard;

      const Verdict verdict = attempt.judge(job);

      const bool hook_discards = vector.id.starts_with("fail-exhausted-discard");
      BOOST_TEST((verdict.kind == Kind::discarded ||
                  (verdict.kind == Kind::exhausted && !goes_to_dead(verdict.payload, hook_discards))));
      ++compared;
    }
  }
  BOOST_TEST(compared >= 12);
}

BOOST_AUTO_TEST_CASE(the_message_is_cut_to_10000_characters) {
  for (const auto& vector : test::vectors("fail-long-message-")) {
    Attempt attempt;
    for (int i = 0; i < 10'050; ++i) attempt.failure.message += "é";
    attempt.failure.message = attempt.failure.message.substr(4);  // without "boom"

    const auto message = attempt.judge("\"retry\":true").payload.string("error_message").value();

    BOOST_TEST(static_cast<double>(message.size()) == 2 * vector.expect["error_message_characters"].number());
  }
}

BOOST_AUTO_TEST_CASE(a_message_of_any_bytes_becomes_utf8) {
  Attempt attempt;
  attempt.failure.message = "bad \xff\x01";
  BOOST_TEST(attempt.judge("\"retry\":true").payload.raw("error_message").value() == "\"bad \xef\xbf\xbd\\u0001\"");
  attempt.failure.message = std::string(50'000, '\xff');
  BOOST_TEST(attempt.judge("\"retry\":true").payload.string("error_message")->size() == 30'000U);
}

BOOST_AUTO_TEST_CASE(delays_are_those_of_the_vectors_for_every_jitter) {
  for (const auto& vector : test::vectors("retry-delay-")) {
    BOOST_TEST_CONTEXT(vector.id) {
      const int count = static_cast<int>(vector.input["retry_count_after_this_failure"].number());
      Attempt attempt;
      if (vector.input.has("hook"))
        attempt.hook = {HookAnswer::Kind::delay, std::chrono::seconds(static_cast<int>(vector.input["hook"].number()))};
      const std::string members =
          count == 0 ? "\"retry\":true" : "\"retry\":true,\"retry_count\":" + std::to_string(count - 1);

      std::set<std::int64_t> seen;
      const int choices = 10 * (count + 1);
      for (int i = 0; i < choices; ++i) {
        attempt.jitter = (i + 0.5) / choices;
        seen.insert(delay_s(attempt.judge(members)));
      }

      const auto& bounds = vector.expect["v8"];
      BOOST_TEST(static_cast<double>(*seen.begin()) == bounds["min_s"].number());
      BOOST_TEST(static_cast<double>(*seen.rbegin()) == bounds["max_s"].number());
      BOOST_TEST(seen.size() == static_cast<std::size_t>(choices));
    }
  }
}

BOOST_AUTO_TEST_CASE(twenty_five_retries_take_twenty_days) {
  const auto vector = test::vectors("retry-total-25").at(0);
  std::int64_t sum = 0;
  int retries = 0;
  Payload job = job_with("\"retry\":true");
  for (;; ++retries) {
    const Verdict verdict = Attempt{}.judge(job);
    job = verdict.payload;
    if (verdict.kind != Kind::retry) break;
    sum += delay_s(verdict);
  }
  BOOST_TEST(retries == static_cast<int>(vector.input["retries"].number()));
  BOOST_TEST(static_cast<double>(sum) == vector.expect["sum_of_base_s"].number());
  BOOST_TEST(job.integer("retry_count").value() == 25);
}

BOOST_AUTO_TEST_CASE(a_time_limit_is_kept_in_either_unit_of_failed_at) {
  const auto vector = test::vectors("mixed-retry-for-ms-8.1.7").at(0);
  Attempt attempt;
  attempt.at = time_of(vector.input["now_s"].text);

  const Verdict verdict = attempt.judge(Payload::parse(vector.input["payload"].text));

  BOOST_CHECK(verdict.kind == Kind::exhausted);
  BOOST_TEST(vector.expect["stored_in"].text == "dead");
  BOOST_TEST(static_cast<double>(*verdict.payload.integer("retry_count")) == vector.expect["retry_count"].number());

  for (const char* failed_at : {"1795238052080", "1795238052.080"})
    BOOST_CHECK(
        Attempt{}.judge(std::string(R"("retry":true,"retry_for":60,"retry_count":30,"failed_at":)") + failed_at).kind ==
        Kind::exhausted);
  for (const char* failed_at : {"1795238052082", "1795238052.082"})
    BOOST_CHECK(
        Attempt{}.judge(std::string(R"("retry":true,"retry_for":60,"retry_count":30,"failed_at":)") + failed_at).kind ==
        Kind::retry);
}

BOOST_AUTO_TEST_CASE(numbers_in_quotes_count) {
  const auto kind = [](const char* members) { return Attempt{}.judge(std::string("\"retry\":true,") + members).kind; };
  BOOST_CHECK(kind(R"("retry_for":"60","retry_count":30,"failed_at":1795238052080)") == Kind::exhausted);
  BOOST_CHECK(kind(R"("retry_for":"60","retry_count":30,"failed_at":"1795238052082")") == Kind::retry);
  BOOST_CHECK(kind(R"("retry_count":"24")") == Kind::exhausted);
  Attempt crashed;
  crashed.failure.crash = true;
  BOOST_TEST(crashed.judge(R"("retry":true,"crash_count":"1")").payload.raw("crash_count").value() == "2");
}

BOOST_AUTO_TEST_CASE(a_time_limit_that_cannot_be_read_gives_way_to_the_count) {
  for (const char* members :
       {R"("retry_for":60,"retry_count":24)", R"("retry_for":"x","retry_count":24,"failed_at":1795238112000)",
        R"("retry_for":60,"retry_count":24,"failed_at":"then")", R"("retry_for":null,"retry_count":24)",
        R"("retry_for":false,"retry_count":24)"})
    BOOST_CHECK(Attempt{}.judge(std::string("\"retry\":true,") + members).kind == Kind::exhausted);
}

BOOST_AUTO_TEST_CASE(retry_false_stores_nothing_and_changes_nothing) {
  Attempt attempt;
  for (const Failure& failure : {Failure{.error_class = "E", .message = "m", .backtrace = {}}, crash()}) {
    attempt.failure = failure;
    const Verdict verdict = attempt.judge(R"("retry":false)");
    BOOST_CHECK(verdict.kind == Kind::discarded);
    BOOST_TEST(verdict.payload.text() == job_with(R"("retry":false)").text());
  }
}

// The job was pushed for another server, Ruby's for example, which has performed nothing of it.
BOOST_AUTO_TEST_CASE(a_job_that_nothing_here_performs_is_dead_without_retries_and_not_gone) {
  Attempt attempt;
  attempt.failure = {
      .error_class = "NameError", .message = "no job class", .backtrace = {}, .from_job = false, .misrouted = true};
  const Verdict verdict = attempt.judge(R"("retry":false)");
  BOOST_CHECK(verdict.kind == Kind::exhausted);
  BOOST_TEST(goes_to_dead(verdict.payload, false));
  BOOST_TEST(verdict.payload.string("error_class").value() == "NameError");
  BOOST_TEST(verdict.payload.raw("retry").value() == "false");
  BOOST_CHECK(attempt.judge("").kind == Kind::exhausted);
  BOOST_CHECK(attempt.judge(R"("retry":true)").kind == Kind::retry);
  BOOST_TEST(!goes_to_dead(attempt.judge(R"("retry":false,"dead":false)").payload, false));
}

BOOST_AUTO_TEST_CASE(a_missing_retry_takes_the_option_of_the_class) {
  Attempt attempt;
  attempt.class_retry = RetryOption{RetryOption::Kind::count, 3};
  BOOST_TEST(attempt.judge("").payload.raw("retry").value() == "3");
  BOOST_TEST(attempt.judge(R"("retry":null)").payload.raw("retry").value() == "3");
  BOOST_TEST(attempt.judge(R"("retry":7)").payload.raw("retry").value() == "7");

  attempt.class_retry = RetryOption{RetryOption::Kind::no};
  const Verdict verdict = attempt.judge("");
  BOOST_CHECK(verdict.kind == Kind::discarded);
  BOOST_TEST(verdict.payload.text() == job_with("").text());

  attempt.class_retry = std::nullopt;
  BOOST_TEST(attempt.judge("").payload.raw("retry").value() == "true");
}

BOOST_AUTO_TEST_CASE(the_retry_that_active_job_writes_into_each_payload_takes_the_option_of_the_class) {
  const auto active_job = [](const std::string& retry) {
    return Payload::parse(
        R"({"class":"Sidekiq::ActiveJob::Wrapper","wrapped":"A","args":[{}],"queue":"default","retry":)" + retry + "}");
  };
  Attempt attempt;
  attempt.class_retry = RetryOption{RetryOption::Kind::count, 0};
  BOOST_CHECK(attempt.judge(active_job("true")).kind == Kind::exhausted);
  BOOST_CHECK(attempt.judge(active_job("2")).kind == Kind::retry);
  BOOST_CHECK(attempt.judge(active_job("false")).kind == Kind::discarded);
  attempt.class_retry = RetryOption{RetryOption::Kind::count, 3};
  BOOST_TEST(attempt.judge(active_job("true")).payload.raw("retry").value() == "3");
  attempt.class_retry = RetryOption{RetryOption::Kind::no};
  BOOST_CHECK(attempt.judge(active_job("true")).kind == Kind::discarded);

  // Not known here, or nothing of the class's own has failed.
  attempt.failure.from_job = false;
  BOOST_CHECK(attempt.judge(active_job("true")).kind == Kind::retry);
  attempt = {};
  attempt.class_retry = std::nullopt;
  BOOST_TEST(attempt.judge(active_job("true")).payload.raw("retry").value() == "true");
}

BOOST_AUTO_TEST_CASE(a_missing_retry_of_a_failure_outside_the_job_means_none) {
  Attempt attempt;
  attempt.failure.from_job = false;
  attempt.class_retry = std::nullopt;
  BOOST_CHECK(attempt.judge("").kind == Kind::discarded);
  BOOST_CHECK(attempt.judge(R"("retry":null)").kind == Kind::discarded);
  BOOST_CHECK(attempt.judge(R"("retry":true)").kind == Kind::retry);
}

BOOST_AUTO_TEST_CASE(retry_of_any_type_is_what_ruby_takes_it_for) {
  const auto kind = [](const std::string& retry, int count) {
    return Attempt{}.judge("\"retry\":" + retry + ",\"retry_count\":" + std::to_string(count - 1)).kind;
  };
  BOOST_CHECK(kind("-1", 0) == Kind::exhausted);
  BOOST_CHECK(kind("1000000000", 500) == Kind::retry);
  BOOST_CHECK(kind("99999999999999999999999", 500) == Kind::retry);
  for (const char* truthy : {"true", "\"3\"", "{}", "[]", "1e9", "0.0"}) {
    BOOST_CHECK(kind(truthy, 24) == Kind::retry);
    BOOST_CHECK(kind(truthy, 25) == Kind::exhausted);
  }
  Attempt few;
  few.policy.max_retries = 2;
  BOOST_CHECK(few.judge(R"("retry":true,"retry_count":1)").kind == Kind::exhausted);
}

BOOST_AUTO_TEST_CASE(the_hooks_answers_count_while_retries_are_left) {
  const std::string members = R"("retry":true,"created_at":1795238111.5)";
  BOOST_TEST(delay_s(with_hook(HookAnswer::Kind::delay, 60).judge(members)) == 60);
  BOOST_TEST(delay_s(with_hook(HookAnswer::Kind::delay, 0).judge(members)) == 15);
  BOOST_CHECK(with_hook(HookAnswer::Kind::kill).judge(members).kind == Kind::exhausted);

  const Verdict discarded = with_hook(HookAnswer::Kind::discard).judge(members);
  BOOST_CHECK(discarded.kind == Kind::discarded);
  BOOST_TEST(discarded.payload.raw("discarded_at").value() == "1795238112.081");
  BOOST_TEST(discarded.payload.string("error_message").value() == "boom");
  BOOST_TEST(with_hook(HookAnswer::Kind::discard).judge("\"retry\":true").payload.raw("discarded_at").value() ==
             "1795238112.081");

  BOOST_CHECK(with_hook(HookAnswer::Kind::discard).judge("\"retry\":0").kind == Kind::exhausted);
}

BOOST_AUTO_TEST_CASE(a_delay_never_overflows_the_clock) {
  for (const char* members :
       {R"("retry":9e300,"retry_count":1)", R"("retry":9223372036854775807,"retry_count":9223372036854775806)",
        R"("retry":9223372036854775807,"retry_count":99999)", R"("retry":true,"retry_count":-9223372036854775808)"}) {
    const Verdict verdict = Attempt{}.judge(members);
    if (verdict.kind == Kind::retry)
      BOOST_TEST((verdict.at > now && verdict.at < now + std::chrono::hours(24 * 365 * 101)));
  }
  BOOST_TEST(delay_s(with_hook(HookAnswer::Kind::delay, INT64_MAX).judge("\"retry\":true")) > 1'000'000'000);
  Attempt attempt;
  attempt.jitter = std::nextafter(1.0, 0.0);
  BOOST_TEST(delay_s(attempt.judge(R"("retry":true)")) == 24);
}

BOOST_AUTO_TEST_CASE(a_retry_count_that_ruby_lowered_to_minus_one_is_the_first_again) {
  BOOST_TEST(failure_count(job_with(R"("retry_count":-1)")) == 0);
  BOOST_TEST(delay_s(Attempt{}.judge(R"("retry":true,"retry_count":-1)")) == 15);
  BOOST_TEST(failure_count(job_with("")) == 0);
  BOOST_TEST(failure_count(job_with(R"("retry_count":"3")")) == 4);
  BOOST_TEST(failure_count(job_with(R"("retry_count":2.0)")) == 3);
  BOOST_TEST(failure_count(job_with(R"("retry_count":9223372036854775807)")) == INT64_MAX);
}

BOOST_AUTO_TEST_CASE(the_third_crash_ends_a_job_whatever_retries_it_has_left) {
  Attempt attempt;
  attempt.failure = crash();
  Payload job = job_with("\"retry\":1000");
  for (int crashes = 1; crashes <= 3; ++crashes) {
    const Verdict verdict = attempt.judge(job);
    BOOST_TEST(verdict.payload.integer("crash_count").value() == crashes);
    BOOST_CHECK(verdict.kind == (crashes < 3 ? Kind::retry : Kind::exhausted));
    job = verdict.payload;
  }
  attempt.failure.crash = false;  // an ordinary failure is not judged by crashes
  BOOST_CHECK(attempt.judge(job).kind == Kind::retry);
  BOOST_TEST(attempt.judge(job).payload.integer("crash_count").value() == 3);

  attempt.failure = crash();
  BOOST_TEST(attempt.judge(R"("retry":5,"crash_count":"rubbish")").payload.integer("crash_count").value() == 1);
}

BOOST_AUTO_TEST_CASE(a_crash_keeps_its_stack_and_an_ordinary_failure_asks) {
  Attempt attempt;
  attempt.failure = crash();
  for (const char* members : {R"("retry":true)", R"("retry":true,"backtrace":false)", R"("retry":true,"backtrace":1)"})
    BOOST_TEST(stored_lines(attempt.judge(members)).size() == 3U);

  attempt.failure.always_backtrace = false;
  const auto lines = [&](const std::string& backtrace) {
    return stored_lines(attempt.judge("\"retry\":true,\"backtrace\":" + backtrace)).size();
  };
  BOOST_TEST(lines("true") == 3U);
  BOOST_TEST(lines("2") == 2U);
  BOOST_TEST(lines("1e300") == 3U);
  for (const char* none : {"false", "null", "0", "-1", "{}"}) BOOST_TEST(lines(none) == 0U);
}

BOOST_AUTO_TEST_CASE(an_earlier_stack_does_not_stand_beside_a_later_error) {
  Attempt attempt;
  attempt.failure = crash();
  const Payload crashed = attempt.judge(R"("retry":true)").payload;
  BOOST_REQUIRE(crashed.raw("error_backtrace"));

  BOOST_TEST(!Attempt{}.judge(crashed).payload.raw("error_backtrace"));
}

BOOST_AUTO_TEST_CASE(a_crash_tells_its_facts_until_another_attempt_ends_otherwise) {
  Attempt attempt;
  attempt.failure = crash();
  const Payload crashed = attempt.judge(R"("retry":true,"crash":{"at":1,"signal":"SIGBUS"})").payload;
  BOOST_TEST(crashed.raw("crash").value() == R"({"at":1.5,"signal":"SIGSEGV"})");

  attempt.failure.crash = false;  // a timeout ended its worker too
  BOOST_TEST(attempt.judge(crashed).payload.raw("crash").has_value());
  BOOST_TEST(attempt.judge(crashed).payload.integer("crash_count").value() == 1);

  BOOST_TEST(!Attempt{}.judge(crashed).payload.raw("crash"));
  BOOST_TEST(Attempt{}.judge(R"("retry":true,"crash":"a client's own")").payload.raw("crash").has_value());
}

BOOST_AUTO_TEST_CASE(a_job_ended_by_hand_is_charged_nothing) {
  struct Case {
    const char* members;
    std::optional<std::int64_t> retry_count, crash_count;
    const char* changed;
    std::int64_t delay_s;
  };
  for (const Case& c : {Case{R"("retry":true)", std::nullopt, std::nullopt, "failed_at", 15},
                        Case{R"("retry":false)", std::nullopt, std::nullopt, "failed_at", 15},
                        Case{R"("retry":0,"retry_count":2,"failed_at":5.5,"crash_count":2)", 2, 2, "retried_at", 31},
                        Case{R"("retry":false,"failed_at":5.5)", std::nullopt, std::nullopt, "retried_at", 15}}) {
    BOOST_TEST_CONTEXT(c.members) {
      Failure ended = crash();
      ended.error_class = "Killed";
      const Payload job = job_with(c.members);
      const Verdict verdict = retry_uncharged(job, ended, "images", now, 0);

      BOOST_TEST(delay_s(verdict) == c.delay_s);
      BOOST_CHECK(verdict.payload.integer("retry_count") == c.retry_count);
      BOOST_CHECK(verdict.payload.integer("crash_count") == c.crash_count);
      BOOST_TEST(verdict.payload.raw(c.changed).value() == "1795238112.081");
      BOOST_TEST(verdict.payload.raw("retry").value() == job.raw("retry").value());
      BOOST_TEST(verdict.payload.string("queue").value() == "images");
      BOOST_TEST(verdict.payload.string("error_class").value() == "Killed");
      BOOST_TEST(verdict.payload.string("error_message").value() == "SIGSEGV");
      BOOST_TEST(stored_lines(verdict).size() == 3U);
      BOOST_TEST(verdict.payload.raw("crash").value() == ended.crash_json);

      const Payload dead = with_failure(job, ended, now);
      BOOST_TEST(dead.string("queue").value() == "default");
      BOOST_TEST(dead.raw("crash").value() == ended.crash_json);
      BOOST_CHECK(dead.integer("retry_count") == c.retry_count);
    }
  }
}

BOOST_AUTO_TEST_CASE(only_dead_false_keeps_a_job_out_of_the_dead_set) {
  BOOST_TEST(!goes_to_dead(job_with("\"dead\":false"), false));
  for (const char* dead : {"true", "null", "0", "\"false\""})
    BOOST_TEST(goes_to_dead(job_with(std::string("\"dead\":") + dead), false));
  BOOST_TEST(goes_to_dead(job_with(""), false));
  BOOST_TEST(!goes_to_dead(job_with(""), true));
  BOOST_TEST(discarded(job_with(""), now).raw("discarded_at").value() == "1795238112.081");
}

BOOST_AUTO_TEST_CASE(a_retry_goes_to_the_retry_queue_or_where_the_job_came_from) {
  const auto queue = [](const std::string& members) {
    return Attempt{}.judge("\"retry\":true," + members).payload.string("queue").value();
  };
  BOOST_TEST(queue(R"("retry_queue":"l\u006fw")") == "low");
  for (const char* none :
       {R"("retry_queue":null)", R"("retry_queue":"")", R"("retry_queue":5)", R"("queue":"elsewhere")"})
    BOOST_TEST(queue(none) == "default");
}
