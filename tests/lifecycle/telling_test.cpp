#include <boost/test/unit_test.hpp>

#include <fstream>
#include <sstream>

#include "shared/base/clock.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/file_text.hpp"

using namespace brood;
using namespace std::chrono_literals;

// Reports of jobs on themselves, and where they appear.

namespace {

struct Running {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string path = directory / "file";
  BroodProcess brood;

  explicit Running(int workers = 1, const std::string& config = "[log]\nlog_jobs = true\n")
      : brood(redis, {.workers = workers,
                      .libraries = {BROOD_BINARY_DIR "/tests/job_libraries/libtelling_jobs.so"},
                      .config = config}) {}

  std::string only_member(const std::string& set) {
    BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of(set) == 1; }, 30s), brood.log_tail());
    return redis.zrange(set).front().first;
  }
};

std::string line_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(part) != std::string::npos) return line;
  return "";
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The place of the throw, from the retry record of the job.
std::vector<std::string> backtrace_of(const std::string& more) {
  Running running;
  enqueue(running.redis, {payload_text("ThrowDeepDown", "[]", 1, more)});
  const auto text = Payload::parse(running.only_member("retry")).string("error_backtrace");
  return text ? decode_backtrace(*text).value() : std::vector<std::string>();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_throw_is_recorded_as_far_as_the_job_asks) {
  const auto all = backtrace_of(R"("backtrace":true)");
  BOOST_REQUIRE(all.size() >= 2U);
  BOOST_TEST(holds(all[0], "throw_deep_down() at telling_jobs.cpp:"), all[0]);
  BOOST_TEST(holds(all[1], "ThrowDeepDown::perform() at telling_jobs.cpp:"), all[1]);
  BOOST_TEST(backtrace_of(R"("backtrace":1)").size() == 1U);
  BOOST_TEST(backtrace_of("").empty());
  BOOST_TEST(backtrace_of(R"("backtrace":false)").empty());
}

BOOST_AUTO_TEST_CASE(a_job_of_a_batch_of_sidekiq_pro_runs_and_keeps_its_bid_and_the_log_warns_that_it_is_not_counted) {
  Running running;
  enqueue(running.redis, {payload_text("PutOff", "[\"" + running.path + "\",600000]", 1, R"("bid":"b-1")"),
                          payload_text("PutOff", "[\"" + running.path + "2\",600000]", 2, R"("bid":"b-1")"),
                          payload_text("ThrowDeepDown", "[]", 3, R"("bid":"b-2")")});
  BOOST_TEST(Payload::parse(running.only_member("retry")).string("bid").value_or("") == "b-2");
  BOOST_TEST(eventually([&] { return running.redis.size_of("schedule") == 2; }), running.brood.log_tail());
  BOOST_TEST(times_logged(running.brood, "job_of_foreign_batch") == 1U);
  BOOST_TEST(
      holds(running.brood.log(), "bid=b-1 jobs=1 reason=\"it belongs to a batch that only Sidekiq Pro can count\""));
}

BOOST_AUTO_TEST_CASE(a_job_that_puts_itself_off_waits_uncharged_in_the_schedule) {
  Running running;
  const double before = epoch_seconds(wall_now());
  enqueue(running.redis, {payload_text("PutOff", "[\"" + running.path + "\",600000]", 1, R"("retry":false)")});

  const Payload waiting = Payload::parse(running.only_member("schedule"));
  const double score = running.redis.zrange("schedule").front().second;
  BOOST_TEST(score >= before + 600 - 1);
  BOOST_TEST(score <= epoch_seconds(wall_now()) + 600 + 1);
  BOOST_TEST(!waiting.raw("retry_count"));
  BOOST_TEST(running.redis.size_of("retry") + running.redis.size_of("dead") == 0U);
  BOOST_TEST(running.redis.keys("brood:recovered:*").empty());
}

BOOST_AUTO_TEST_CASE(a_job_that_has_put_itself_off_runs_when_it_is_due) {
  Running running(1, "poll_interval = \"100ms\"\n[log]\nlog_jobs = true\n");
  enqueue(running.redis, {payload_text("PutOff", "[\"" + running.path + "\",1500]", 1, R"("retry":false)")});
  BOOST_TEST(eventually([&] { return text_of_file(running.path) == "run\nrun\n"; }, 30s), running.brood.log_tail());
  BOOST_TEST(eventually([&] { return holds(running.brood.log(), "event=job_done"); }, 20s), running.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(what_a_job_adds_stands_in_its_own_lines_and_in_no_others) {
  Running running;
  std::ofstream(running.path) << "there";
  enqueue(running.redis, {payload_text("WorkFor", "[42,\"" + running.path + "\"]", 1),
                          payload_text("PutOff", "[\"" + running.path + "\",0]", 2)});
  const auto done = [&](long number) {
    return line_with(running.brood.log(),
                     "event=job_done jid=" + Payload::parse(payload_text("X", "[]", number)).jid());
  };
  BOOST_REQUIRE_MESSAGE(eventually([&] { return !done(2).empty(); }, 30s), running.brood.log_tail());

  for (const std::string& line : {line_with(running.brood.log(), "message=\"at work\""), done(1)}) {
    BOOST_TEST(holds(line, " user=42"), line);
    BOOST_TEST(holds(line, R"( tenant="acme \"and\" sons")"), line);
    BOOST_TEST(!holds(line, "another"), line);
  }
  BOOST_TEST(!holds(done(2), "user="), done(2));
}

BOOST_AUTO_TEST_CASE(the_title_of_a_busy_worker_says_what_it_does_and_since_when) {
  Running running;
  BOOST_REQUIRE(running.brood.wait_ready());
  const auto title = [&] {
    const std::string text = text_of_file("/proc/" + std::to_string(running.brood.workers().front()) + "/cmdline");
    return text.substr(0, text.find('\0'));
  };
  BOOST_TEST(title() == "brood: worker 0 default");
  enqueue(running.redis, {payload_text("WorkFor", "[42,\"" + running.path + "\"]")});
  BOOST_TEST(eventually([&] { return title().starts_with("brood: worker 0 default WorkFor since "); }, 20s), title());
  BOOST_TEST(title().size() == std::string("brood: worker 0 default WorkFor since 12:03:04").size());

  std::ofstream(running.path) << "there";
  BOOST_TEST(eventually([&] { return title() == "brood: worker 0 default"; }, 20s), title());
}

BOOST_AUTO_TEST_CASE(an_orphan_dies_like_any_other_job) {
  for (const bool dead : {true, false}) {
    Running running;
    enqueue(running.redis, {payload_text("Orphan", "[\"" + running.path + "\"]", 1, dead ? "" : R"("dead":false)")});
    for (const std::string runs : {"run\n", "run\nrun\n", "run\nrun\nrun\n"}) {
      BOOST_REQUIRE_MESSAGE(eventually([&] { return text_of_file(running.path) == runs; }, 30s),
                            running.brood.log_tail());
      kill_with_workers(running.brood);
      running.brood.start();
    }

    BOOST_TEST(eventually([&] { return holds(text_of_file(running.path), "dead: recovered 3 times"); }, 30s),
               running.brood.log_tail());
    BOOST_TEST(holds(text_of_file(running.path), "exhausted by Orphaned"));
    BOOST_TEST(eventually([&] { return running.redis.size_of("dead") == (dead ? 1U : 0U); }));
    BOOST_TEST(running.redis.size_of("queue:default") == 0U);
  }
}
