#include <boost/test/unit_test.hpp>

#include <signal.h>

#include <brood/client.hpp>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "shared/json/json_object.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string library = BROOD_BINARY_DIR "/tests/job_libraries/libresult_jobs.so";

struct Results {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string gate = directory / "gate";
  BroodProcess brood{redis, {.workers = 2, .libraries = {library}}};
  Client client{redis.url()};

  Results() { BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail()); }

  std::string push(const std::string& job_class, const std::string& args, const std::string& retry = "0") {
    return client.push({.job_class = job_class,
                        .args = args,
                        .retry = retry == "false" ? YesNoOrCount(false) : YesNoOrCount(0),
                        .members = {{"keep_result", "3600"}}});
  }
  JobReport ended(const std::string& jid) {
    const auto report = client.wait(jid, 120s);
    BOOST_REQUIRE_MESSAGE(report, "job " + jid + " has not ended\n" + brood.log_tail());
    return *report;
  }
  void open_gate() const { std::ofstream(gate) << "x"; }
  std::string gate_args() const { return "[\"" + gate + "\"]"; }
  CommandResult command(const std::vector<std::string>& words) const {
    auto environment = brood.environment();
    environment["REDIS_URL"] = redis.url();
    return run_brood(words, environment);
  }
  JsonObject shown(const std::string& jid) const { return JsonObject::parse(command({"show", jid, "--json"}).output); }
  bool runs(const std::string& jid) {
    return eventually([&] { return shown(jid).raw("progress") != "null"; }, 60s);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_job_leaves_its_result_to_the_programs_that_wait, Results) {
  for (const char* const job_class : {"Sum", "SumApart"}) {
    const JobReport report = ended(push(job_class, "[[1,2,3]]"));
    BOOST_TEST((report.state == JobState::done), job_class);
    BOOST_TEST(report.result.text == R"({"sum":6})", job_class);
    BOOST_TEST(report.elapsed.count() > 0);
    BOOST_TEST(report.ended_at.has_value());
  }
}

BOOST_FIXTURE_TEST_CASE(a_result_is_a_megabyte_at_most, Results) {
  BOOST_TEST(ended(push("Large", "[1048574]")).result.text.size() == 1'048'576u);
  const JobReport report = ended(push("Large", "[1048575]"));
  BOOST_TEST((report.state == JobState::dead));
  BOOST_TEST(report.error_class == "std::length_error");
  BOOST_TEST(report.error_message.starts_with("the result has 1048577 bytes of JSON, of at most 1048576"));
}

BOOST_FIXTURE_TEST_CASE(a_dead_job_says_why_and_leaves_no_result, Results) {
  for (const std::string retry : {"0", "false"}) {
    const JobReport report = ended(push(retry == "0" ? "FailsForGood" : "Discarded", "[]", retry));
    BOOST_TEST((report.state == JobState::dead));
    BOOST_TEST(report.error_class == "std::runtime_error");
    BOOST_TEST(report.error_message == "no luck");
    BOOST_TEST(report.result.text == "null");
  }
}

BOOST_FIXTURE_TEST_CASE(a_crash_is_in_the_report_and_a_retry_that_succeeds_writes_it_anew, Results) {
  const std::string jid = push("CrashesUntil", gate_args());
  BOOST_TEST((ended(jid).state == JobState::dead));
  BOOST_TEST(ended(jid).error_class == "SIGSEGV");

  open_gate();
  BOOST_TEST(command({"dead", "run", jid}).status == 0);

  BOOST_TEST(eventually([&] { return ended(jid).state == JobState::done; }), brood.log_tail());
  BOOST_TEST(ended(jid).result.text == "7");
  BOOST_TEST(ended(jid).error_class == "");
}

BOOST_FIXTURE_TEST_CASE(a_job_is_shown_with_its_holder_and_its_progress, Results) {
  for (const char* const job_class : {"Waits", "WaitsApart"}) {
    std::remove(gate.c_str());
    const std::string jid = push(job_class, gate_args());
    const std::string progress = "3 of 10 (30 %), page <3>";
    const auto status_has_it = [&] { return command({"status"}).output.find(progress) != std::string::npos; };
    BOOST_REQUIRE_MESSAGE(eventually(status_has_it, 60s), brood.log_tail());

    // Here the same is shown at once, without a heartbeat.
    const JsonObject job = shown(jid);
    BOOST_TEST(job.string("state").value_or("") == "running");
    BOOST_TEST(job.string("class").value_or("") == job_class);
    BOOST_TEST(job.integer("pid").value_or(0) == brood.pid());
    BOOST_TEST(job.integer("since").value_or(0) > 1'700'000'000);
    BOOST_TEST(job.raw("progress").value_or("") == R"({"done":3,"total":10,"note":"page <3>"})");
    BOOST_TEST(command({"show", jid}).output.find(progress) != std::string::npos);
    open_gate();
    BOOST_TEST(ended(jid).result.text == "true");
    BOOST_TEST(command({"show", jid}).output.find("done") != std::string::npos);
  }
}

BOOST_FIXTURE_TEST_CASE(an_iterable_job_counts_its_items, Results) {
  const std::string jid = client.push({.job_class = "Counts", .args = gate_args()});
  BOOST_TEST(runs(jid), brood.log_tail());
  BOOST_TEST(shown(jid).raw("progress").value_or("") == R"({"done":0,"total":4,"note":""})");
  open_gate();
  // Without keep_result the job is unknown once it has ended.
  BOOST_TEST(eventually([&] { return command({"show", jid}).status == 1; }), brood.log_tail());
  BOOST_TEST(shown(jid).string("state").value_or("") == "unknown");
  BOOST_TEST(redis.keys("brood:report:*").empty());
}

BOOST_FIXTURE_TEST_CASE(a_wait_survives_the_death_of_the_worker, Results) {
  const std::string jid = push("Waits", gate_args());
  BOOST_REQUIRE_MESSAGE(runs(jid), brood.log_tail());
  std::optional<JobReport> report;
  std::thread waits([&] { report = Client(redis.url()).wait(jid, 120s); });
  for (const pid_t worker : brood.workers()) kill(worker, SIGKILL);
  waits.join();

  BOOST_REQUIRE(report);
  BOOST_TEST((report->state == JobState::dead));
  BOOST_TEST(report->error_class == "SIGKILL");
}

BOOST_FIXTURE_TEST_CASE(enqueue_waits_for_the_result, Results) {
  const CommandResult done = command({"enqueue", "Sum", "[1,2]", "--wait=60s"});
  BOOST_TEST(done.status == 0, done.errors);
  BOOST_TEST(done.output == "{\"sum\":3}\n");
  BOOST_TEST(command({"enqueue", "Sum", "[4]", "--wait"}).output == "{\"sum\":4}\n");

  const CommandResult died = command({"enqueue", "FailsForGood", "--retry", "0", "--wait"});
  BOOST_TEST(died.status == 1);
  BOOST_TEST(died.output == "");
  BOOST_TEST(died.errors.find("std::runtime_error: no luck") != std::string::npos, died.errors);

  const CommandResult late = command({"enqueue", "Waits", gate, "--wait=300ms"});
  BOOST_TEST(late.status == 75, late.errors);
  BOOST_TEST(late.output == "");
  BOOST_TEST(command({"enqueue", "Sum", "[4]", "--wait=soon"}).status == 64);
  open_gate();
}
