#include <sys/stat.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "shared/base/digest.hpp"
#include "shared/config/job_environment.hpp"
#include "shared/errors/error_answer.hpp"
#include "shared/errors/error_post.hpp"
#include "shared/errors/error_report.hpp"
#include "shared/errors/error_spool.hpp"
#include "shared/errors/error_storm.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "tests/support/temporary_directory.hpp"
#include "worker/job/failure_report.hpp"
#include "worker/reporting/report_queue.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

ErrorReport some_report() {
  ErrorReport report;
  report.id = std::string(32, 'a');
  report.at = 1'800'000'000.5;
  report.job_class = "Resize";
  report.jid = "j1";
  report.queue = "images";
  report.error_class = "SIGSEGV";
  report.message = "bad \"bytes\" \xff\n";
  report.backtrace = {"#0 Resize::perform() at resize.cpp:12 (libjobs.so+0x10)", "#1 libjobs.so+0x20 [build id 1f]"};
  report.retry_count = 2;
  report.retry_at = 1'800'000'060;
  report.crash = R"({"at":1,"fingerprint":"f"})";
  report.fingerprint = "f";
  report.tags = {"a", "b"};
  report.arguments = "[1,\"x\"]";
  report.job = R"({"class":"Resize","args":[1,"x"]})";
  report.host = "h";
  report.identity = "h:1:x";
  report.generation = 3;
  report.environment = "production";
  return report;
}

ErrorVerdict judged(const std::string& text) {
  HttpEnd end;
  end.answer.add(text);
  end.answer.end();
  return judge_error_answer(end);
}

Failure failure_with(const std::string& error_class) {
  Failure failure;
  failure.error_class = error_class;
  return failure;
}

// Ends at once, with the verdict on its message.
class FinishedAttempt : public ReportAttempt {
 public:
  explicit FinishedAttempt(ErrorVerdict verdict) : verdict_(std::move(verdict)) {}
  void watch(std::vector<pollfd>&) const override {}
  SteadyTime next_look(SteadyTime now) const override { return now; }
  std::optional<ErrorVerdict> go_on(SteadyTime) override { return verdict_; }

 private:
  const ErrorVerdict verdict_;
};

// A service to which some reports go unanswered.
struct SilentService {
  ErrorSinkCounts counts{};
  int seen = 0;
  bool is_silent_to_all = false;
  std::vector<std::string> done = {};
  ErrorSettings settings = {};
  ReportQueue queue{ErrorSink::webhook, settings, counts,
                    [this](const HeldReport& held, SteadyTime) {
                      ++seen;
                      ErrorVerdict verdict;
                      verdict.was_sent = true;
                      verdict.reason = "it closed the connection";
                      if (held.report.message != "poison" && !is_silent_to_all)
                        verdict.kind = ErrorVerdict::Kind::taken;
                      return std::make_unique<FinishedAttempt>(verdict);
                    },
                    [this](HeldReport& held) { done.push_back(held.report.message); }};
  SteadyTime now{1h};

  void add(const std::string& message) {
    const auto held = std::make_shared<HeldReport>();
    held->report.message = message;
    queue.add(held, now);
  }
  void let_pass(std::chrono::seconds time) {
    for (const SteadyTime until = now + time; now < until; now += 1s) queue.advance(now);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_report_to_which_no_service_answers_does_not_keep_the_others) {
  SilentService service;
  service.add("poison");
  service.let_pass(10s);
  service.add("well");
  service.let_pass(300s);
  BOOST_TEST(service.done == (std::vector<std::string>{"well", "poison"}), boost::test_tools::per_element());
  BOOST_TEST(service.counts.sent.load() == 1U);
  BOOST_TEST(service.counts.refused.load() == 1U);
}

BOOST_AUTO_TEST_CASE(a_service_that_answers_none_loses_no_report) {
  SilentService service;
  service.is_silent_to_all = true;
  for (const char* const message : {"one", "two"}) service.add(message);
  service.let_pass(2h);
  BOOST_TEST(service.done.empty());
  BOOST_TEST(service.seen > 20);
  BOOST_TEST(service.counts.away_since.load() > 0U);
  service.is_silent_to_all = false;
  service.let_pass(120s);
  BOOST_TEST(service.counts.sent.load() == 2U);
  BOOST_TEST(service.counts.away_since.load() == 0U);
}

BOOST_AUTO_TEST_CASE(a_report_is_read_as_it_was_written) {
  const ErrorReport report = some_report();
  const std::string json = report_json(report);
  BOOST_TEST(json.starts_with(R"({"class":"Resize","jid":"j1","queue":"images","error_class":"SIGSEGV",)"), json);
  BOOST_TEST(report_json(read_error_report(json)) == json);
  BOOST_TEST(JsonObject::parse(json).integer("attempt").value() == 3);
}

BOOST_AUTO_TEST_CASE(a_text_that_is_no_report_is_refused) {
  for (const char* const text :
       {"", "[]", "{}", "no", R"({"id":"x"})", R"({"id":"aaaaaaaaaaaaaaaa\r\naaaaaaaaaaaaaa"})"})
    BOOST_CHECK_THROW(read_error_report(text), BadJson);
  const ErrorReport odd = read_error_report(
      R"({"id":"00000000000000000000000000000000","backtrace":{"a":1},"tags":[1,"x"],"crash":[],"retry_count":"n"})");
  BOOST_TEST(odd.backtrace.empty());
  BOOST_TEST(odd.tags.size() == 1U);
  BOOST_TEST(odd.crash == "");
}

BOOST_AUTO_TEST_CASE(a_line_of_a_backtrace_is_taken_apart) {
  const BacktraceLine whole =
      read_backtrace_line("#0 A::f(int (*)(char)) at /a b/x.cpp:12 (libjobs.so+0x1230, inlined)");
  BOOST_TEST(whole.function == "A::f(int (*)(char))");
  BOOST_TEST(whole.file == "/a b/x.cpp");
  BOOST_TEST(whole.line == 12);
  BOOST_TEST(whole.module == "libjobs.so");
  const BacktraceLine bare = read_backtrace_line("#12 libjobs.so+0x20 [build id 1f2e]");
  BOOST_TEST(bare.module == "libjobs.so");
  BOOST_TEST(bare.line == 0);
  for (const char* const text : {"", "no such picture", "#", "# x", "#1", "at x:y (z)", "#1 f (x)"})
    BOOST_TEST(read_backtrace_line(text).line == 0, text);
  BOOST_TEST(read_backtrace_line("no such picture").function == "no such picture");
}

BOOST_AUTO_TEST_CASE(a_dsn_is_read_as_sentry_shows_it) {
  const SentryDsn dsn = SentryDsn::parse("https://abc@o1.ingest.sentry.io/42");
  BOOST_TEST(dsn.key == "abc");
  BOOST_TEST(dsn.project == "42");
  BOOST_TEST(dsn.endpoint.host == "o1.ingest.sentry.io");
  BOOST_TEST(dsn.endpoint.port == 443);
  const SentryDsn old = SentryDsn::parse("http://abc:secret@host:9000/prefix/more/7");
  BOOST_TEST(old.key == "abc");
  BOOST_TEST(old.endpoint.path == "/prefix/more");
  BOOST_TEST(post_to_sentry(old, some_report(), "1").target == "/prefix/more/api/7/envelope/");
  for (const char* const wrong : {"", "https://sentry.io/42", "https://@h/1", "https://k@h", "https://k@h/",
                                  "https://k@/1", "k@h/1", "ftp://k@h/1", "https://k\r\nX: y@h/1", "https://k@h/1 2"})
    BOOST_CHECK_THROW(SentryDsn::parse(wrong), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_webhook_keeps_its_path_and_query) {
  BOOST_TEST(WebhookAddress::parse("https://h/a/?b=c&d").target == "/a/?b=c&d");
  BOOST_TEST(WebhookAddress::parse("http://h:1").target == "/");
  BOOST_TEST(WebhookAddress::parse("http://h:1?x").target == "/?x");
  for (const char* const wrong : {"", "h/a", "https://h/a b", "https://h/?a b", "https://h/?a#b", "https://u@h/"})
    BOOST_CHECK_THROW(WebhookAddress::parse(wrong), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(each_form_is_json_without_the_payload) {
  ErrorReport report = some_report();
  report.job.clear();
  const HttpPost sentry = post_to_sentry(SentryDsn::parse("https://k@h/1"), report, "1");
  const std::size_t first = sentry.body.find('\n'), second = sentry.body.find('\n', first + 1);
  const std::string event = sentry.body.substr(second + 1, sentry.body.size() - second - 2);
  const JsonObject item = JsonObject::parse(sentry.body.substr(first + 1, second - first - 1));
  BOOST_TEST(item.integer("length").value() == static_cast<std::int64_t>(event.size()));
  BOOST_TEST(JsonObject::parse(event).string("event_id").value() == report.id);
  BOOST_TEST(JsonObject::parse(event).string("level").value() == "fatal");
  const JsonObject notice = JsonObject::parse(post_to_honeybadger("https://h/p", "key", report, "1").body);
  BOOST_TEST(notice.raw("error").has_value());
  const HttpPost hook = post_to_webhook(WebhookAddress::parse("https://h/"), "secret", report);
  BOOST_TEST(hook.headers.find("X-Brood-Signature: sha256=" + hmac_sha256_hex("secret", hook.body) + "\r\n") !=
             std::string::npos);
  BOOST_TEST(post_to_webhook(WebhookAddress::parse("https://h/"), "", report).headers.find("Signature") ==
             std::string::npos);
  // From RFC 4231, its second case.
  BOOST_TEST(hmac_sha256_hex("Jefe", "what do ya want for nothing?") ==
             "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

BOOST_AUTO_TEST_CASE(a_storm_is_the_first_few_of_each_minute_and_a_digest) {
  ErrorStorm storm(3);
  ErrorReport report = some_report();
  report.id = std::string(31, 'a') + "b";
  const SteadyTime begin = SteadyTime(1h);
  int sent = 0;
  for (int i = 0; i < 10; ++i) {
    report.at = i;
    sent += storm.sends(report, begin + std::chrono::seconds(i)) ? 1 : 0;
  }
  BOOST_TEST(sent == 3);
  ErrorReport other = report;
  other.error_class = "std::bad_alloc";
  BOOST_TEST(storm.sends(other, begin + 10s));
  BOOST_TEST((storm.next_digest().value() == begin + 60s));
  BOOST_TEST(storm.take_digests(begin + 59s).empty());
  const auto digests = storm.take_digests(begin + 60s);
  BOOST_REQUIRE(digests.size() == 1U);
  BOOST_TEST(digests[0].digest.value().failures == 7U);
  BOOST_TEST(digests[0].digest.value().since == 3);
  BOOST_TEST(digests[0].digest.value().until == 9);
  BOOST_TEST(digests[0].id == "b" + std::string(31, 'a'));
  BOOST_TEST(digests[0].job == "");
  // The next minute begins anew.
  BOOST_TEST(storm.sends(report, begin + 61s));
  BOOST_TEST(storm.take_digests(begin + 62s, true).empty());
}

BOOST_AUTO_TEST_CASE(a_storm_of_many_kinds_takes_no_more_memory_and_loses_no_count) {
  ErrorStorm storm(1);
  ErrorReport report = some_report();
  std::uint64_t sent = 0, summed = 0;
  for (int i = 0; i < 5'000; ++i) {
    report.error_class = "E" + std::to_string(i);
    sent += storm.sends(report, SteadyTime(1h)) ? 1U : 0U;
  }
  for (const ErrorReport& digest : storm.take_digests(SteadyTime(1h), true)) {
    summed += digest.digest.value().failures;
    BOOST_TEST(digest_text(digest).find(" more failures of several classes from ") != std::string::npos);
  }
  BOOST_TEST(sent + summed == 5'000U);
  BOOST_TEST(sent == ErrorStorm::most_kinds);
  ErrorStorm none(0);
  for (int i = 0; i < 100; ++i) BOOST_TEST(none.sends(report, SteadyTime(1h)));
}

BOOST_AUTO_TEST_CASE(answers_of_services_are_judged_by_the_rules_of_sentry) {
  using Kind = ErrorVerdict::Kind;
  BOOST_TEST((judged("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").kind == Kind::taken));
  BOOST_TEST((judged("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}").kind == Kind::taken));
  const ErrorVerdict limited = judged("HTTP/1.1 429 X\r\nRetry-After: 7\r\n\r\n");
  BOOST_TEST((limited.kind == Kind::again && limited.wait_at_least == 7s && limited.has_answered));
  BOOST_TEST((judged("HTTP/1.1 429 X\r\n\r\n").wait_at_least == 60s));
  BOOST_TEST((judged("HTTP/1.1 429 X\r\nRetry-After: 999999999999\r\n\r\n").wait_at_least == 1h));
  const auto by_limits = [](const std::string& limits) {
    return judged("HTTP/1.1 200 OK\r\nX-Sentry-Rate-Limits: " + limits + "\r\n\r\n").wait_at_least;
  };
  BOOST_TEST((by_limits("60:error:key, 2700:session:key") == 60s));
  BOOST_TEST((by_limits("60:transaction;default:organization") == 60s));
  BOOST_TEST((by_limits("9::organization") == 9s));
  BOOST_TEST((by_limits("60:transaction:key") == 0s));
  BOOST_TEST((by_limits("rubbish, :, x:error") == 0s));
  for (const char* const status : {"500", "502", "503", "408"})
    BOOST_TEST((judged("HTTP/1.1 " + std::string(status) + " X\r\n\r\n").kind == Kind::again), status);
  for (const char* const status : {"400", "401", "403", "404", "413", "301"})
    BOOST_TEST((judged("HTTP/1.1 " + std::string(status) + " X\r\n\r\n").kind == Kind::refused), status);
  BOOST_TEST(!judged("SSH-2.0\r\n\r\n").has_answered);
  BOOST_TEST(judged("HTTP/1.1 403 X\r\n\r\nno\x1b[31m key").reason.find('\x1b') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_spool_keeps_reports_until_they_are_removed) {
  const TemporaryDirectory directory;
  const std::string path = directory / "spool";
  make_error_spool(path);
  ErrorCounts counts{};
  ErrorSpoolWriter writer(path, &counts);
  BOOST_TEST(writer.write("one"));
  BOOST_TEST(writer.write("two"));
  ErrorSpoolReader reader(path), other(path);
  BOOST_TEST(reader.lock());
  BOOST_TEST(!other.lock());
  BOOST_TEST(reader.note_begin().empty());
  const auto names = reader.names(10);
  BOOST_REQUIRE(names.size() == 2U);
  BOOST_TEST(reader.read(names[0]).value() == "one");
  BOOST_TEST(reader.names(1).size() == 1U);
  reader.remove(names[0]);
  BOOST_TEST(reader.names(10).size() == 1U);
  BOOST_TEST(counts.written.load() == 2U);

  // Other readers were killed.
  reader.note_in_hand({names[1], "another"});
  reader.note_in_hand({names[1]});
  BOOST_TEST((other.note_begin() == std::set<std::string>{names[1]}));
  BOOST_TEST(other.note_begin().empty());
  std::string name = names[1];
  for (int killed = 0; killed < 5; ++killed) name = other.note_killed_reader(name).value();
  BOOST_TEST(!other.note_killed_reader(name));
  BOOST_TEST(other.names(10).empty());
  BOOST_TEST(writer.write("three"));
  BOOST_TEST(remove_error_spool(path).reports == 1U);
  BOOST_TEST(!std::filesystem::exists(path));
  BOOST_TEST(writer.write("four"));  // it is made again
}

BOOST_AUTO_TEST_CASE(a_report_is_readable_whatever_umask_a_job_sets) {
  const TemporaryDirectory directory;
  const std::string path = directory / "spool";
  make_error_spool(path);
  const mode_t before = umask(0777);
  const bool written = ErrorSpoolWriter(path, nullptr).write("one");
  umask(before);
  BOOST_TEST(written);
  const auto mode = std::filesystem::status(path + "/" + ErrorSpoolReader(path).names(1).at(0)).permissions();
  BOOST_TEST(static_cast<unsigned>(mode) == 0600U);
}

BOOST_AUTO_TEST_CASE(a_reader_notices_that_its_directory_was_replaced) {
  const TemporaryDirectory directory;
  const std::string path = directory / "spool";
  make_error_spool(path);
  const ErrorSpoolReader reader(path);
  BOOST_TEST(reader.is_in_place());
  std::filesystem::rename(path, path + "-away");
  BOOST_TEST(!reader.is_in_place());
  make_error_spool(path);
  BOOST_TEST(!reader.is_in_place());
}

BOOST_AUTO_TEST_CASE(a_spool_of_any_size_is_removed_in_bounded_steps) {
  const TemporaryDirectory directory;
  const std::string path = directory / "spool";
  make_error_spool(path);
  BOOST_TEST(!remove_error_spool(path).goes_on);
  BOOST_TEST(!std::filesystem::exists(path));
  make_error_spool(path);
  for (int i = 0; i < 4'500; ++i) std::ofstream(path + "/" + std::to_string(i));
  std::filesystem::create_directory(path + "/folder");
  std::size_t reports = 0;
  int calls = 0;
  for (bool goes_on = true; goes_on; ++calls) {
    const RemovedSpool removed = remove_error_spool(path);
    reports += removed.reports;
    goes_on = removed.goes_on;
  }
  BOOST_TEST(calls == 3);
  BOOST_TEST(reports == 4'501U);
  BOOST_TEST(!std::filesystem::exists(path));
}

BOOST_AUTO_TEST_CASE(a_failure_has_the_same_id_when_a_recovery_reports_it_again) {
  Config config;
  config.errors.webhook.value = Secret("https://h/");
  const Payload job = Payload::parse(R"({"class":"A","jid":"j","args":[1]})");
  const Payload later = Payload::parse(R"({"class":"A","jid":"j","args":[1],"retry_count":0})");
  const FailureSource source{.identity = "h:1:x", .host = "h", .worker = "0.1"};
  const auto id_of = [&](const FailureSource& from, const Payload& payload) {
    return report_failure(config, from, payload, "q", failure_with("E"), {Outcome::Kind::retry, "", 1}).value().id;
  };
  const std::string id = id_of(source, job);
  BOOST_TEST(id.size() == 32U);
  BOOST_TEST(id_of(source, job) == id);
  BOOST_TEST(id_of(source, later) != id);
  BOOST_TEST(id_of({.identity = "h:1:x", .host = "h", .worker = "0.2"}, job) != id);
}

BOOST_AUTO_TEST_CASE(what_no_report_may_have_is_left_out) {
  Config config;
  config.errors.webhook.value = Secret("https://h/");
  config.errors.arguments = true;
  config.on_error.emplace();
  const auto report_of = [&](const std::string& text, const std::string& error) {
    return report_failure(config, {}, Payload::parse(text), "q", failure_with(error), {Outcome::Kind::retry, "", 1})
        .value();
  };
  const std::string job = R"({"class":"A","jid":"j","args":["clear"]})";
  BOOST_TEST(report_of(job, "E").arguments == R"(["clear"])");
  BOOST_TEST(report_of(job, "E").job == job);
  BOOST_TEST(report_of(job, "NotEncrypted").arguments == "");
  const std::string deepest = R"({"class":"A","jid":"j","args":)" + std::string(99, '[') + std::string(99, ']') + "}";
  const ErrorReport report = report_of(deepest, "E");
  BOOST_TEST(report.job == "");
  BOOST_CHECK_NO_THROW(read_error_report(report_json(report)));
}

BOOST_AUTO_TEST_CASE(jobs_do_not_find_the_variables_with_secrets_of_services) {
  setenv("BROOD_TEST_DSN", "https://k@h/1", 1);
  ErrorSettings settings;
  settings.sentry_dsn.variable = "BROOD_TEST_DSN";
  keep_error_secrets_from_jobs(settings);
  BOOST_TEST(std::getenv("BROOD_TEST_DSN") == nullptr);
}

BOOST_AUTO_TEST_CASE(a_forged_report_is_cut_to_what_a_real_one_may_be) {
  const std::string longer(5'000, 'x');
  std::string text = R"({"id":"00000000000000000000000000000000","class":")" + longer + R"(","error_class":")" +
                     longer + R"(","at":1e999,"retry_at":1e308,"retry_count":9223372036854775807,"backtrace":[)";
  for (int i = 0; i < 1'000; ++i) text += (i == 0 ? "\"" : ",\"") + longer + "\"";
  const ErrorReport report = read_error_report(text + "]}");
  BOOST_TEST(report.job_class.size() == longest_report_word);
  BOOST_TEST(report.error_class.size() == longest_report_word);
  BOOST_TEST(report.backtrace.size() == most_report_lines);
  BOOST_TEST(report.attempt() > 0);
  BOOST_TEST(report.at < 1e12);
  const std::string sent = post_to_sentry(SentryDsn::parse("https://k@h/1"), report, "1").body;
  BOOST_TEST(sent.find("2255-") != std::string::npos);
  const ErrorReport early =
      read_error_report(R"({"id":"00000000000000000000000000000000","at":-1e999,"retry_at":-5,"retry_count":-7})");
  BOOST_TEST(early.at == 0);
  BOOST_TEST(early.attempt() == 1);
}

BOOST_AUTO_TEST_CASE(a_spool_is_bounded_and_reads_no_odd_file) {
  const TemporaryDirectory directory;
  const std::string path = directory / "spool";
  make_error_spool(path);
  ErrorCounts counts{};
  ErrorSpoolWriter writer(path, &counts);
  BOOST_TEST(!writer.write(std::string(longest_error_report + 1, 'x')));
  int written = 0;
  while (written < 100 && writer.write(std::string(longest_error_report, 'x'))) ++written;
  BOOST_TEST(written == 17);  // the one that goes beyond the limit is the last
  BOOST_TEST(counts.unwritten.load() == 2U);
  const ErrorSpoolReader reader(path);
  std::filesystem::create_symlink("/etc/passwd", path + "/link");
  std::filesystem::create_directory(path + "/folder");
  for (const char* const name : {"link", "folder", "none"}) BOOST_TEST(reader.read(name).value() == "", name);
  BOOST_TEST(!reader.remove("folder"));
  BOOST_TEST(reader.remove("none"));
  for (int i = 0; i < 5; ++i) std::ofstream(path + "/" + std::to_string(i));
  // The reports of above have longer names, which begin with a digit too.
  const std::vector<std::string> names = reader.names(3);
  BOOST_TEST(names.size() == 3U);
  BOOST_TEST(std::is_sorted(names.begin(), names.end()));
  BOOST_TEST(names.front() == "0");
  BOOST_TEST(reader.names(100).size() == 22U);
  BOOST_TEST(!std::filesystem::exists(std::filesystem::symlink_status(path + "/link")));
}
