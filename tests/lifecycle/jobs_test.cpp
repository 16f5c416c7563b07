#include <boost/test/unit_test.hpp>

#include <cmath>
#include <ctime>
#include <sstream>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Running {
  RedisServer redis;
  TemporaryDirectory directory;
  Ledger ledger{directory / "ledger"};
  BroodProcess brood;

  explicit Running(BroodOptions options = {}) : brood(redis, std::move(options)) {}

  std::string only_member(const std::string& set) {
    BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of(set) == 1; }, 20s), brood.log_tail());
    return redis.zrange(set).front().first;
  }
  std::string ledger_job(const std::string& id, int number = 1) {
    return payload_text("Ledger", "[\"" + ledger.path() + "\",\"" + id + "\",0]", number);
  }
};

// The rest of each crashed worker's place, in order, from the log.
[[maybe_unused]] std::vector<std::string> rests_after_crashes(const BroodProcess& brood) {
  std::vector<std::string> rests;
  std::istringstream log(brood.log());
  for (std::string line; std::getline(log, line);) {
    const std::size_t at = line.find(" refill_in=");
    if (line.find("event=worker_crashed") != std::string::npos && at != std::string::npos)
      rests.push_back(line.substr(at + 11));
  }
  return rests;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_is_performed_and_leaves_nothing_behind) {
  Running running;
  enqueue(running.redis, {running.ledger_job("one")});

  BOOST_TEST(eventually([&] { return running.ledger.done().contains("one"); }, 20s), running.brood.log_tail());

  BOOST_TEST(eventually([&] { return jobs_in_flight(running.redis) == 0; }));
  for (const char* key : {"queue:default", "retry", "dead", "schedule"}) BOOST_TEST(running.redis.size_of(key) == 0U);
}

BOOST_AUTO_TEST_CASE(what_the_command_line_enqueues_is_performed) {
  Running running;
  const std::map<std::string, std::string> environment = {{"REDIS_URL", running.redis.url()}};

  const CommandResult plain = run_brood({"enqueue", "Ledger", running.ledger.path(), "plain"}, environment);
  const CommandResult json =
      run_brood({"enqueue", "Ledger", "--args", "[\"" + running.ledger.path() + "\",\"json\",0]"}, environment);

  BOOST_TEST(plain.status == 0, plain.errors);
  BOOST_TEST(json.status == 0, json.errors);
  BOOST_TEST(eventually([&] { return running.ledger.has_done(2); }, 20s), running.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_failing_job_is_retried_by_sidekiqs_curve_with_every_member_kept) {
  Running running;
  const std::string extra = R"("retry":5,"custom":{"big":1180591620717411303424,"empty":[],"float":1.0})";
  const double now = static_cast<double>(std::time(nullptr));
  enqueue(running.redis, {payload_text("Fail", R"(["no such \"file\""])", 7, extra)});

  const std::string member = running.only_member("retry");
  BOOST_TEST(holds(member, extra), member);
  BOOST_TEST(holds(member, R"("error_message":"no such \"file\"")"), member);
  BOOST_TEST(holds(member, R"("retry_count":0)"), member);
  const double delay = running.redis.zrange("retry").front().second - now;
  BOOST_TEST(delay >= 14);
  BOOST_TEST(delay <= 45);
}

BOOST_AUTO_TEST_CASE(a_place_whose_every_job_crashes_rests_from_the_21st_on_until_a_job_is_done) {
  constexpr std::size_t free_crashes = 20, crashes = 24;
  Running running({.workers = 1});
  std::vector<std::string> jobs;
  for (std::size_t i = 0; i < crashes; ++i)
    jobs.push_back(payload_text("Segfault", "[]", static_cast<int>(i), R"("retry":false)"));
  enqueue(running.redis, jobs);
  const auto ended = [&](std::size_t count) {
    return eventually([&] { return rests_after_crashes(running.brood).size() >= count; }, 60s);
  };
  BOOST_TEST_REQUIRE(ended(crashes), running.brood.log_tail());
  const std::vector<std::string> rests = rests_after_crashes(running.brood);
  for (std::size_t i = 0; i < free_crashes; ++i) BOOST_TEST(rests[i] == "0ms");
  for (std::size_t i = free_crashes; i < crashes; ++i) BOOST_TEST(rests[i] != "0ms");

  enqueue(running.redis, {running.ledger_job("good", 100)});
  BOOST_TEST(eventually([&] { return running.ledger.done().contains("good"); }, 20s), running.brood.log_tail());
  enqueue(running.redis, {payload_text("Segfault", "[]", 101, R"("retry":false)")});
  BOOST_TEST_REQUIRE(ended(crashes + 1), running.brood.log_tail());
  BOOST_TEST(rests_after_crashes(running.brood).back() == "0ms");
}

BOOST_AUTO_TEST_CASE(a_job_without_retries_is_dead) {
  Running running;
  enqueue(running.redis, {payload_text("Fail", R"(["for good"])", 1, R"("retry":0)")});

  BOOST_TEST(holds(running.only_member("dead"), "for good"));
  BOOST_TEST(running.redis.size_of("retry") == 0U);
}

BOOST_AUTO_TEST_CASE(a_job_that_is_never_retried_is_stored_nowhere) {
  Running running;
  enqueue(running.redis,
          {payload_text("Fail", R"(["and forget"])", 1, R"("retry":false)"), running.ledger_job("after", 2)});

  BOOST_TEST(eventually([&] { return running.ledger.done().contains("after"); }, 20s));
  BOOST_TEST(running.redis.size_of("retry") == 0U);
  BOOST_TEST(running.redis.size_of("dead") == 0U);
}

BOOST_AUTO_TEST_CASE(an_unknown_class_is_retried_under_its_name) {
  Running running;
  enqueue(running.redis, {payload_text("NoSuchJob", "[]")});

  const std::string member = running.only_member("retry");
  BOOST_TEST(holds(member.substr(member.find("error_message")), "NoSuchJob"), member);
}

BOOST_AUTO_TEST_CASE(wrong_arguments_are_an_ordinary_failure_that_says_what_is_wrong) {
  Running running;
  enqueue(running.redis, {payload_text("Sleep", R"(["soon"])")});

  BOOST_TEST(!running.only_member("retry").empty());
  BOOST_TEST(eventually([&] { return running.brood.workers().size() == 2U; }), running.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(what_is_no_job_is_dead_at_once_and_nothing_of_it_is_lost) {
  Running running;
  const std::vector<std::string> bad = {
      "", " ", "\"x\"", "{", "{\"class\":", "{} {}", "\xEF\xBB\xBF{}", "\xff\xfe", "{\"a\":nul}"};
  const std::vector<std::string> values = {"null", "[]", "[1, 2]", "1", "true"};  // Sidekiq's page would fail at them
  enqueue(running.redis, bad);
  enqueue(running.redis, values);
  enqueue(running.redis, {R"({"class":"Sleep"})"});
  enqueue(running.redis, {running.ledger_job("after")});

  BOOST_TEST(eventually([&] { return running.ledger.done().contains("after"); }, 20s), running.brood.log_tail());
  BOOST_TEST(eventually([&] { return running.redis.size_of("dead") == bad.size() + values.size() + 1; }),
             running.redis.size_of("dead"));
  std::vector<std::string> dead;
  for (const auto& [member, score] : running.redis.zrange("dead")) dead.push_back(member);
  for (const std::string& text : bad)
    BOOST_TEST((std::find(dead.begin(), dead.end(), text) != dead.end()), "not in dead: " + text);
  const auto has_record = [&](const std::string& part, const std::string& reason) {
    return std::any_of(dead.begin(), dead.end(), [&](const std::string& record) {
      return holds(record, part) &&
             holds(record, R"("error_class":"BadPayload","error_message":"the payload )" + reason);
    });
  };
  for (const std::string& value : values)
    BOOST_TEST(has_record("\"args\":[" + value + "]", "is not a JSON object"), value);
  BOOST_TEST(has_record(R"({"class":"Sleep")", "has no args"));
}

BOOST_AUTO_TEST_CASE(an_object_without_what_a_job_needs_does_no_harm) {
  Running running;
  enqueue(running.redis,
          {"{}", R"({"class":"Sleep"})", R"({"args":[]})", R"({"class":5,"args":[]})", R"({"class":"Sleep","args":{}})",
           R"({"class":"Sleep","args":[1],"jid":5,"retry":{}})", std::string(200, '[') + std::string(200, ']')});
  enqueue(running.redis, {running.ledger_job("after")});

  BOOST_TEST(eventually([&] { return running.ledger.done().contains("after"); }, 20s), running.brood.log_tail());
  BOOST_TEST(eventually([&] { return running.brood.workers().size() == 2U; }), running.brood.log_tail());
  BOOST_TEST(eventually([&] { return jobs_in_flight(running.redis) == 0; }));
}

BOOST_AUTO_TEST_CASE(a_scheduled_job_runs_when_due_and_not_before) {
  Running running;
  BOOST_REQUIRE(running.brood.wait_ready());
  const auto now = [] { return std::chrono::system_clock::now().time_since_epoch() / 1ms / 1000.0; };
  const double due = now() + 2;
  running.redis.command({"ZADD", "schedule", std::to_string(due), running.ledger_job("later")});

  BOOST_TEST(eventually([&] { return running.ledger.begun().contains("later"); }, 30s), running.brood.log_tail());
  BOOST_TEST(now() >= due);
  BOOST_TEST(running.redis.size_of("schedule") == 0U);
}

BOOST_AUTO_TEST_CASE(a_due_retry_runs_again) {
  Running running;
  running.redis.command({"ZADD", "retry", "1", running.ledger_job("again")});

  BOOST_TEST(eventually([&] { return running.ledger.done().contains("again"); }, 30s), running.brood.log_tail());
  BOOST_TEST(running.redis.size_of("retry") == 0U);
}

BOOST_AUTO_TEST_CASE(queues_in_strict_order_are_emptied_in_that_order) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  std::vector<std::string> low, high;
  for (int i = 0; i < 200; ++i) {
    low.push_back(payload_text("Ledger", "[\"" + ledger.path() + "\",\"low" + std::to_string(i) + "\",0]", i + 1));
    high.push_back(payload_text("Ledger", "[\"" + ledger.path() + "\",\"high" + std::to_string(i) + "\",0]", i + 1000));
  }
  enqueue(redis, low, "low");
  enqueue(redis, high, "high");

  BroodProcess brood(redis, {.workers = 1, .queues = {"high", "low"}});

  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(400); }, 30s), brood.log_tail());
  const std::vector<Ledger::Run> runs = ledger.runs();
  for (int i = 0; i < 200; ++i) {
    BOOST_TEST(runs[static_cast<std::size_t>(i)].id == "high" + std::to_string(i));
    BOOST_TEST(runs[static_cast<std::size_t>(i) + 200].id == "low" + std::to_string(i));
  }
}

// Their locks, and the jobs that wait for their ends, do not wait for the long job.
BOOST_AUTO_TEST_CASE(what_has_ended_is_settled_before_a_job_begins_that_may_be_long) {
  Running running({.workers = 1});
  std::vector<std::string> payloads;
  for (int i = 0; i < 500; ++i) payloads.push_back(running.ledger_job(std::to_string(i), i + 1));
  payloads.push_back(payload_text("PoliteLoop", "[600000]", 501));
  enqueue(running.redis, payloads, "aside");
  running.redis.command({"RENAME", "queue:aside", "queue:default"});  // so that they are fetched as one batch

  BOOST_TEST(eventually([&] { return running.ledger.has_done(500); }, 30s), running.brood.log_tail());
  const auto title = [&] {
    return text_of_file("/proc/" + std::to_string(running.brood.workers().front()) + "/cmdline");
  };
  BOOST_TEST(eventually([&] { return holds(title(), "PoliteLoop") && jobs_in_flight(running.redis) == 1; }),
             title() << " " << jobs_in_flight(running.redis) << running.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(two_capsules_work_beside_each_other_on_queues_of_their_own) {
  Running running({.workers = 1, .config = "[capsules.images]\nconcurrency = 2\nqueues = [\"images\"]\n"});
  enqueue(running.redis, {payload_text("Sleep", "[60000]", 5)});
  enqueue(running.redis, {running.ledger_job("image")}, "images");

  BOOST_TEST(eventually([&] { return running.ledger.done().contains("image"); }, 20s), running.brood.log_tail());
  BOOST_TEST(eventually([&] { return running.brood.workers().size() == 3U; }, 20s), running.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(two_supervisors_share_the_queues_and_double_nothing) {
  constexpr int jobs = 5000;
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  enqueue_ledger_jobs(redis, ledger.path(), jobs);
  BroodProcess one(redis, {.workers = 2}), other(redis, {.workers = 2});

  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(jobs); }, 40s), one.log_tail() + other.log_tail());

  const Ledger::Verdict verdict = ledger.judge(jobs);
  BOOST_TEST(verdict.lost.size() == 0U);
  BOOST_TEST(verdict.doubled.size() == 0U);
}
