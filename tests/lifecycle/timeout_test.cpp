#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string timed = BROOD_BINARY_DIR "/tests/job_libraries/libtimed_jobs.so";
const std::string examples = BROOD_BINARY_DIR "/worker/examples/libexamples.so";

// Leaves a job enough time between its deadline and its end, even on a busy machine.
BroodOptions workers(int count, const std::string& worker_settings = "", const std::string& grace = "200ms") {
  return {.workers = count,
          .libraries = {timed, examples},
          .config = "[worker]\ntimeout_grace = \"" + grace + "\"\n" + worker_settings};
}

// Waits for the only job in `retry`.
Payload retried(RedisServer& redis, const BroodProcess& brood) {
  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("retry") == 1; }, 20s), brood.log_tail());
  return Payload::parse(redis.zrange("retry").front().first);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_that_never_looks_is_ended_and_its_record_says_where_it_hung) {
  RedisServer redis;
  BroodProcess brood(redis, workers(1, "", "5s"));
  enqueue(redis, {payload_text("Stubborn", "[600000]")});

  const Payload job = retried(redis, brood);

  BOOST_TEST(job.string("error_class").value() == "JobTimeout");
  BOOST_TEST(job.string("error_message").value().find("longer than its timeout of 0.5s, in Stubborn") !=
             std::string::npos);
  BOOST_TEST(job.integer("retry_count").value() == 0);
  BOOST_TEST(!job.raw("crash_count"));
  const auto stack = decode_backtrace(job.string("error_backtrace").value_or(""));
  BOOST_REQUIRE(stack.has_value());
  BOOST_TEST(std::any_of(stack->begin(), stack->end(),
                         [](const std::string& line) { return line.find("Stubborn::perform") != line.npos; }));
  BOOST_TEST(eventually([&] { return brood.workers().size() == 1; }));
}

BOOST_AUTO_TEST_CASE(the_payload_s_timeout_beats_the_class_s_and_that_the_default) {
  RedisServer redis;
  BroodProcess brood(redis, workers(4, "job_timeout = \"100ms\"\n"));
  enqueue(redis, {payload_text("Stubborn", "[1200]", 1, R"("timeout":60)"),    // longer than the class's 500 ms
                  payload_text("Stubborn", "[1200]", 5, R"("timeout":"60")"),  // as Ruby writes 1.minute
                  payload_text("Stubborn", "[1200]", 2, R"("timeout":0)"),     // for ever
                  payload_text("SleepLong", "[1]", 3),                         // longer than the default
                  payload_text("Sleep", "[600000]", 4)});                      // no timeout of its own

  const Payload job = retried(redis, brood);
  BOOST_TEST(job.jid() == "000000000000000000000004");
  BOOST_TEST(eventually([&] { return brood.log().find("event=job_done") != std::string::npos; }, 20s));
  const auto done = [&](int number) {
    const std::string log = brood.log();
    return log.find("event=job_done jid=00000000000000000000000" + std::to_string(number)) != std::string::npos;
  };
  BOOST_TEST(eventually([&] { return done(1) && done(2) && done(3) && done(5); }, 20s));
  BOOST_TEST(redis.size_of("retry") == 1U);
}

BOOST_AUTO_TEST_CASE(a_timeout_that_is_no_number_is_ignored_with_a_line) {
  RedisServer redis;
  BroodProcess brood(redis, workers(1));
  enqueue(redis, {payload_text("Sleep", "[1]", 1, R"("timeout":"5m")")});
  BOOST_TEST(eventually([&] { return brood.log().find("event=job_done") != std::string::npos; }, 20s));
  BOOST_TEST(brood.log().find("event=job_option_ignored") != std::string::npos);
  BOOST_TEST(brood.log().find("timeout=") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_job_that_winds_up_at_its_deadline_has_failed_and_keeps_its_worker) {
  RedisServer redis;
  BroodProcess brood(redis, workers(1, "", "20s"));
  BOOST_REQUIRE(brood.wait_ready());
  const auto before = brood.workers();
  enqueue(redis, {payload_text("PoliteLoop", "[600000]", 1, R"("timeout":0.1)")});

  const Payload job = retried(redis, brood);

  BOOST_TEST(job.string("error_class").value() == "JobTimeout");
  BOOST_TEST((brood.workers() == before));
}

BOOST_AUTO_TEST_CASE(a_job_may_give_itself_more_time) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, workers(1));
  enqueue(redis, {payload_text("AskForTime", "[6,\"" + directory / "done" + "\"]")});

  BOOST_TEST(eventually([&] { return text_of_file(directory / "done") == "1"; }, 20s));
  BOOST_TEST(redis.size_of("retry") == 0U);
}

BOOST_AUTO_TEST_CASE(a_deaf_job_is_killed_with_all_that_it_started) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, workers(1));
  enqueue(redis, {payload_text("DeafWithChild", "[\"" + directory / "child" + "\"]", 1, R"("timeout":3)")});

  const Payload job = retried(redis, brood);

  BOOST_TEST(job.string("error_class").value() == "JobTimeout");
  BOOST_TEST(eventually([&] { return !process_exists(std::stoi(text_of_file(directory / "child"))); }));
}

BOOST_AUTO_TEST_CASE(a_hook_that_hangs_is_ended_too) {
  RedisServer redis;
  BroodProcess brood(redis, workers(1));
  enqueue(redis, {payload_text("HangInHook", "[]")});

  BOOST_TEST(retried(redis, brood).string("error_class").value() == "JobTimeout");
}

// Aborts a worker at the moment when its job ends and the next one begins.
BOOST_AUTO_TEST_CASE(the_next_job_is_never_hit) {
  constexpr int jobs = 60;
  RedisServer redis;
  const TemporaryDirectory directory;
  const std::string path = directory / "ledger";
  std::vector<std::string> payloads;
  for (int i = 0; i < jobs; ++i) {
    const bool innocent = i % 2 != 0;
    const int microseconds = innocent ? 1'000 : 300'000 - 2'000 + i * 80;
    payloads.push_back(payload_text(
        "CloseCall", "[\"" + path + "\",\"" + std::to_string(i) + "\"," + std::to_string(microseconds) + "]", i + 1,
        innocent ? R"("timeout":60)" : ""));
  }
  enqueue(redis, payloads);
  BroodOptions options = workers(4);
  options.config = "poll_interval = \"24h\"\n" + options.config;  // no retry comes due
  BroodProcess brood(redis, options);

  const auto settled = [&] { return no_job_is_left(redis, "default", true); };
  BOOST_REQUIRE_MESSAGE(eventually(settled, 60s), brood.log_tail());
  std::map<std::string, int> begun, done;
  std::istringstream ledger(text_of_file(path));
  for (std::string word, id; ledger >> word >> id;) ++(word == "S" ? begun : done)[id];
  std::map<std::string, int> timed_out;
  for (const auto& [member, due] : redis.zrange("retry")) {
    const Payload job = Payload::parse(member);
    BOOST_TEST(job.string("error_class").value() == "JobTimeout");
    ++timed_out[std::to_string(std::stoi(job.jid(), nullptr, 16) - 1)];
  }
  for (int i = 0; i < jobs; ++i) {
    const std::string id = std::to_string(i);
    BOOST_TEST_CONTEXT("job " << id) {
      BOOST_TEST(begun[id] == 1);
      if (i % 2 != 0) {
        BOOST_TEST(done[id] == 1);
        BOOST_TEST(timed_out[id] == 0);
      }
      BOOST_TEST(done[id] + timed_out[id] >= 1);
    }
  }
}
