#include "worker/isolation/job_messages.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "shared/store/outcome.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const Payload job = Payload::parse(R"({"class":"Resize","args":[],"jid":"0123456789abcdef01234567"})");

JobEnd failed_with(const Outcome& outcome) {
  JobEnd end{.kind = Performed::Kind::failed, .error_class = "std::runtime_error", .message = "why"};
  end.outcome = note_of(outcome);
  return end;
}

std::string retried(const std::string& payload) {
  return encode(failed_with({Outcome::Kind::retry, payload, 1'795'000'000.5}));
}

bool is_refused(const std::string& body) {
  try {
    read_end(body, job, "default");
    return false;
  } catch (const BadMessage& bad) {
    return std::string(bad.what()).size() > 10;
  }
}

// The number of messages read; -1 if it was refused.
int read_all(MessageReader reader, const std::string& bytes) {
  reader.add(bytes);
  int count = 0;
  try {
    while (reader.next()) ++count;
  } catch (const BadMessage&) {
    return -1;
  }
  return count;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_said_is_what_was_meant) {
  JobOrder order{.entry = 3, .payload = job.text(), .queue = "images", .shard = "eu", .started = SteadyTime(5s)};
  order.expired = true;
  order.failure.emplace();
  order.failure->message = std::string("with\0zero", 9);
  const JobOrder heard = read_order(encode(order));
  BOOST_TEST(heard.entry == 3);
  BOOST_TEST(heard.payload == job.text());
  BOOST_TEST(heard.queue == "images");
  BOOST_TEST(heard.shard == "eu");
  BOOST_TEST((heard.started == order.started));
  BOOST_TEST(heard.failure.value().message == order.failure->message);
  BOOST_TEST(heard.expired);

  const LoadedIteration loaded = read_loaded(
      encode(LoadedIteration{.state = {.executions = 2, .cursor = "[1]", .run_seconds = 1.5, .cancelled = 7}}));
  BOOST_TEST(loaded.state.cursor == "[1]");
  BOOST_TEST(loaded.state.executions == 2);
  BOOST_TEST(loaded.state.run_seconds == 1.5);
  BOOST_TEST(loaded.state.cancelled.value() == 7);
  BOOST_TEST(!read_saved(encode(IterationState{})).cancelled);

  const FailureRule rule = read_failure_rule(encode(FailureRule{RetryFor::both, WallTime(9s)}));
  BOOST_TEST((rule.retry_for == RetryFor::both && rule.now == WallTime(9s)));
  BOOST_TEST(read_cancelled_answer(encode_cancelled(true)));

  JobEnd end = failed_with({Outcome::Kind::retry, job.text(), 17.25});
  end.facts = {{"order", "4711"}};
  const JobEnd told = read_end(encode(end), job, "default");
  BOOST_TEST((told.kind == Performed::Kind::failed));
  BOOST_TEST(told.error_class == "std::runtime_error");
  BOOST_TEST(told.outcome.payload == job.text());
  BOOST_TEST(told.outcome.score == 17.25);
  BOOST_TEST(told.facts.at(0).second == "4711");
}

BOOST_AUTO_TEST_CASE(messages_are_found_however_their_bytes_arrive) {
  const std::string bytes = framed(MessageKind::load_iteration, "") +
                            framed(MessageKind::save_iteration, encode(IterationState{.cursor = "12"})) +
                            framed(MessageKind::end, encode(JobEnd{}));
  MessageReader reader = MessageReader::of_job(1000);
  std::vector<MessageKind> kinds;
  for (const char byte : bytes) {
    reader.add({&byte, 1});
    while (const auto message = reader.next()) kinds.push_back(message->kind);
  }
  BOOST_TEST((kinds == std::vector{MessageKind::load_iteration, MessageKind::save_iteration, MessageKind::end}));
}

// Each of these would lose the job, or make it another's.
BOOST_AUTO_TEST_CASE(a_failure_whose_outcome_is_not_of_that_very_job_is_refused) {
  BOOST_TEST(!is_refused(retried(job.text())));
  BOOST_TEST(!is_refused(retried(job.with({{"retry_count", "0"}}).text())));
  BOOST_TEST(!is_refused(encode(failed_with({}))));
  BOOST_TEST(is_refused(retried("")));
  BOOST_TEST(is_refused(retried("{}")));
  BOOST_TEST(is_refused(retried(job.with({{"jid", "\"another\""}}).text())));
  BOOST_TEST(is_refused(retried(job.with({{"class", "\"Another\""}}).text())));
  for (const auto kind : {Outcome::Kind::schedule, Outcome::Kind::requeue_head, Outcome::Kind::give_back})
    BOOST_TEST(is_refused(encode(failed_with({kind, job.text(), 1}))));
  for (const double score : {std::nan(""), std::numeric_limits<double>::infinity()})
    BOOST_TEST(is_refused(encode(failed_with({Outcome::Kind::retry, job.text(), score}))));
}

// It may not add other members: markup, for example, which Sidekiq's pages would print without escaping.
BOOST_AUTO_TEST_CASE(a_failure_adds_to_its_job_what_failures_add_and_no_more) {
  const Payload plain = Payload::parse(
      R"({"class":"Resize", "args":[1, 2.50],"retry_queue":"low","jid":"0123456789abcdef01234567","retry":5,"crash":7})");
  const auto refuses = [&](const std::vector<Payload::Edit>& edits) {
    try {
      read_end(retried(plain.with(edits).text()), plain, "default");
      return false;
    } catch (const BadMessage&) {
      return true;
    }
  };
  const Failure failure{.error_class = "std::vector<int>",
                        .message = "<b>why</b>",
                        .backtrace = {"#0 f<int>()"},
                        .always_backtrace = true};
  const Verdict verdict = judge_failure(plain, failure, {}, std::nullopt, "default", wall_now(), 0, {});
  BOOST_REQUIRE(verdict.kind == Verdict::Kind::retry);
  const JobEnd end = read_end(retried(verdict.payload.text()), plain, "default");
  BOOST_TEST(noted_outcome(end.outcome)->payload == verdict.payload.text());

  BOOST_TEST(!refuses({{"queue", R"("low")"}}));
  BOOST_TEST(refuses({{"queue", R"("default")"}}));
  BOOST_TEST(refuses({{"queue", R"("another")"}}));
  BOOST_TEST(refuses({{"args", "[3]"}}));
  BOOST_TEST(refuses({{"wrapped", R"("<script>")"}}));
  BOOST_TEST(refuses({{"unique_for", "5"}}));
  BOOST_TEST(refuses({{"retry", "6"}}));
  BOOST_TEST(refuses({{"expiry", "1"}}));
  BOOST_TEST(refuses({{"retry_queue", std::nullopt}}));
  BOOST_TEST(refuses({{"retry_count", "1"}}));
  BOOST_TEST(refuses({{"retry_count", "-1"}}));
  BOOST_TEST(refuses({{"failed_at", R"("<b>")"}}));
  BOOST_TEST(refuses({{"error_class", R"("<script>")"}}));
  BOOST_TEST(refuses({{"error_class", "1"}}));
  BOOST_TEST(refuses({{"error_message", "{}"}}));
  BOOST_TEST(refuses({{"error_backtrace", R"("none")"}}));
  BOOST_TEST(refuses({{"error_backtrace", '"' + encode_backtrace({"<script>"}) + '"'}}));
  BOOST_TEST(refuses({{"crash", R"({"at":1,"<b>":2})"}}));
  BOOST_TEST(!refuses({{"crash", std::nullopt}}));
}

BOOST_AUTO_TEST_CASE(counts_and_sizes_out_of_bounds_are_refused) {
  JobEnd facts;
  facts.facts.assign(17, {"name", "value"});
  BOOST_TEST(is_refused(encode(facts)));
  BOOST_TEST(is_refused(encode(JobEnd{.delay = -1ms})));
  BOOST_TEST(is_refused(encode(JobEnd{.delay = std::chrono::milliseconds::max()})));
  BOOST_TEST(is_refused(encode(JobEnd{}) + "x"));
  const std::string good = retried(job.text());
  for (std::size_t size = 0; size < good.size(); ++size) BOOST_TEST(is_refused(good.substr(0, size)));
}

BOOST_AUTO_TEST_CASE(a_message_that_no_job_may_send_or_that_is_too_large_is_refused_by_its_head) {
  const auto of_job = [](const std::string& bytes) { return read_all(MessageReader::of_job(100), bytes); };
  BOOST_TEST(of_job(framed(MessageKind::end, std::string(100, 'x'))) == 1);
  BOOST_TEST(of_job(framed(MessageKind::end, std::string(101, 'x')).substr(0, 16)) == -1);
  IterationState largest;
  largest.cursor.assign(brood::abi::longest_cursor, 'x');
  const std::string largest_state = encode(largest);
  BOOST_TEST(of_job(framed(MessageKind::save_iteration, largest_state)) == 1);
  const std::size_t too_large = brood::abi::longest_cursor + longest_state_beside_cursor + 1;
  BOOST_TEST(of_job(framed(MessageKind::save_iteration, std::string(too_large, 'x')).substr(0, 16)) == -1);
  BOOST_TEST(of_job(framed(MessageKind::order, "x")) == -1);
  BOOST_TEST(of_job(framed(MessageKind::load_iteration, "x")) == -1);
  BOOST_TEST(of_job(framed(MessageKind::ask_failure_rule, "x")) == -1);
  BOOST_TEST(of_job(framed(static_cast<MessageKind>(0), "")) == -1);
  BOOST_TEST(of_job(framed(static_cast<MessageKind>(static_cast<int>(last_message_kind) + 1), "")) == -1);
  BOOST_TEST(of_job(framed(MessageKind::ask_batch_cancelled, "")) == 1);
  BOOST_TEST(of_job(framed(MessageKind::note_progress, std::string(1024, 'x'))) == 1);
  BOOST_TEST(of_job(framed(MessageKind::note_progress, std::string(1025, 'x')).substr(0, 16)) == -1);
  BOOST_TEST(of_job(std::string(16, '\xff')) == -1);
  BOOST_TEST(of_job("what is this?????????????????????") == -1);
  BOOST_TEST(of_job("\xff") == -1);
  BOOST_TEST(of_job(std::string("\5\0\0\1", 4)) == -1);
  BOOST_TEST(of_job(framed(MessageKind::end, "").substr(0, 9)) == 0);
}

BOOST_AUTO_TEST_CASE(a_result_is_json_and_a_megabyte_at_most) {
  const Payload job = Payload::parse(R"({"class":"A","args":[],"jid":"j"})");
  const auto read = [&](const std::string& result) {
    return read_end(encode(JobEnd{.result = result}), job, "default").result;
  };
  BOOST_TEST(read(R"({"a":[1.50]})") == R"({"a":[1.50]})");
  BOOST_TEST(read("") == "");
  BOOST_TEST(read('"' + std::string(brood::abi::longest_result - 2, 'x') + '"').size() == brood::abi::longest_result);
  BOOST_CHECK_THROW(read('"' + std::string(brood::abi::longest_result - 1, 'x') + '"'), BadMessage);
  BOOST_CHECK_THROW(read("no JSON"), BadMessage);
}

BOOST_AUTO_TEST_CASE(a_progress_is_read_as_it_was_told) {
  const JobProgress read = read_job_progress(encode(JobProgress{3, 10, "page 3"}));
  BOOST_TEST(read.done == 3);
  BOOST_TEST(read.total == 10);
  BOOST_TEST(read.note == "page 3");
  BOOST_CHECK_THROW(read_job_progress(encode(JobProgress{-1, 10, ""})), BadMessage);
  BOOST_CHECK_THROW(read_job_progress("x"), BadMessage);
}

BOOST_AUTO_TEST_CASE(bytes_at_random_are_read_or_refused_and_nothing_else) {
  std::minstd_rand random(7);
  const std::string good = retried(job.text());
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    try {
      const JobEnd end = read_end(bytes, job, "default");
      BOOST_TEST(end.facts.size() <= 16u);
      if (end.kind == Performed::Kind::failed) BOOST_TEST(noted_outcome(end.outcome).has_value());
    } catch (const BadMessage&) {
    }
    for (char& byte : bytes) byte = static_cast<char>(random());
    BOOST_TEST(read_all(MessageReader::of_job(1 << 20), bytes) <= 1);
    BOOST_TEST(is_refused(bytes));
  }
}

BOOST_AUTO_TEST_CASE(what_is_said_of_limits_is_read_back_and_what_is_none_is_refused) {
  Limit limit{.name = "erp",
              .kind = LimitKind::window,
              .amount = 5,
              .interval = 1s,
              .wanted = 2,
              .known_for = 24h,
              .defined_ago = 7ms};
  const WantedLimits wanted = read_wanted_limits(encode(WantedLimits{{limit}, 300ms}));
  BOOST_TEST(wanted.limits.at(0).name == "erp");
  BOOST_TEST((wanted.limits[0].kind == LimitKind::window && wanted.limits[0].amount == 5 &&
              wanted.limits[0].interval == 1s && wanted.limits[0].wanted == 2 && wanted.limits[0].known_for == 24h &&
              wanted.limits[0].defined_ago == 7ms && wanted.wait == 300ms));
  const LimitResult result = read_limit_result(encode(LimitResult{LimitResult::Kind::refused, 3, "why"}));
  BOOST_TEST((result.kind == LimitResult::Kind::refused && result.which == 3 && result.why == "why"));
  const std::vector<LimitUse> uses = read_limit_uses(encode(std::vector<LimitUse>{{"erp", LimitKind::points, -7}}));
  BOOST_TEST((uses.at(0).name == "erp" && uses[0].kind == LimitKind::points && uses[0].difference == -7));

  limit.name = "e r p";
  BOOST_CHECK_THROW(read_wanted_limits(encode(WantedLimits{{limit}, 0ms})), BadMessage);
  BOOST_CHECK_THROW(read_wanted_limits(encode(WantedLimits{{}, 0ms})), BadMessage);
  BOOST_CHECK_THROW(read_limit_uses(encode(std::vector<LimitUse>{{"", LimitKind::points, 1}})), BadMessage);
  BOOST_CHECK_THROW(read_limit_uses(encode(std::vector<LimitUse>(17, {"erp", LimitKind::points, 1}))), BadMessage);
}

BOOST_AUTO_TEST_CASE(only_a_failed_job_may_lose_its_count_of_deferrals) {
  const Payload deferred = Payload::parse(R"({"class":"Resize","args":[],"jid":"1","overrated":3})");
  const auto is_taken = [&](const std::string& overrated) {
    const std::string record =
        R"({"class":"Resize","args":[],"jid":"1")" + overrated +
        R"(,"queue":"default","error_message":"why","error_class":"E","failed_at":1795000000000,"retry_count":0})";
    try {
      read_end(retried(record), deferred, "default");
      return true;
    } catch (const BadMessage&) {
      return false;
    }
  };
  BOOST_TEST(is_taken(""));
  BOOST_TEST(is_taken(R"(,"overrated":3)"));
  BOOST_TEST(!is_taken(R"(,"overrated":1)"));
}

// The bounds of the messages accept all that the worker's own checks accept.
BOOST_AUTO_TEST_CASE(what_a_job_may_do_with_limits_arrives) {
  const std::vector<LimitUse> uses{{"points", LimitKind::points, INT64_MAX},
                                   {"less", LimitKind::points, -most_of_interval}};
  const std::vector<LimitUse> read = read_limit_uses(encode(uses));
  BOOST_REQUIRE(read.size() == 2u);
  BOOST_TEST(read[0].difference == INT64_MAX);
  BOOST_TEST(read[1].difference == -most_of_interval);

  WantedLimits wanted{.limits = {}, .wait = longest_wait_for_limits};
  for (std::size_t i = 0; i < most_limits_together; ++i)
    wanted.limits.push_back({.name = std::string(99, 'a') + static_cast<char>('a' + i),
                             .kind = LimitKind::points,
                             .amount = most_of_interval,
                             .interval = longest_limit_interval,
                             .wanted = most_of_interval,
                             .known_for = longest_limit_knowledge,
                             .defined_ago = longest_defined});
  const std::string message = encode(wanted);
  BOOST_TEST(read_all(MessageReader::of_job(0), framed(MessageKind::take_limits, message)) == 1);
  BOOST_TEST(read_wanted_limits(message).limits.size() == most_limits_together);
}

BOOST_AUTO_TEST_CASE(the_largest_failure_that_a_job_may_have_arrives) {
  Failure failure;
  failure.error_class = failure.message = std::string(30'000, '\x01');
  failure.always_backtrace = true;
  for (int i = 0; i < 100; ++i) failure.backtrace.push_back("#" + std::to_string(i) + std::string(600, 'a' + i % 26));
  const Verdict verdict = judge_failure(job, failure, {}, std::nullopt, "default", wall_now(), 0, {});
  JobEnd end = failed_with({Outcome::Kind::retry, verdict.payload.text(), 1});
  end.error_class = end.message = std::string(40'000, 'x');
  end.facts.assign(16, {std::string(64, 'n'), std::string(1'000, 'v')});
  end.delay = std::chrono::milliseconds(longest_job_delay);
  const std::size_t most = job.text().size() + longest_end_beside_payload;
  BOOST_TEST(read_all(MessageReader::of_job(most), framed(MessageKind::end, encode(end))) == 1);
  read_end(encode(end), job, "default");
}
