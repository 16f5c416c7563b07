#include <boost/test/unit_test.hpp>

#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "worker/testing/outcome.hpp"
#include "worker/testing/run_log.hpp"

using namespace brood;
using testing::JobPlaces;
using testing::Outcome;
using Place = JobPlaces::Place;

BOOST_TEST_DONT_PRINT_LOG_VALUE(Outcome::Kind)

namespace {

// A log line as a run writes it.
std::string line(std::string_view event, std::initializer_list<log::Fact> facts, pid_t pid = 4711) {
  return log::format_line({}, log::Level::info, wall_now(), pid, event, facts);
}
std::string began(pid_t pid = 4711) { return line("job_started", {{"jid", "J"}, {"class", "Resize"}}, pid); }

std::optional<Outcome> judge(Place place, const std::string& log) { return testing::judge_outcome({place}, "J", log); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_value_is_read_as_it_was_written) {
  for (const std::string value :
       {"plain", "", "two words", "a \"quote\" and a \\", "lines\nand\ttabs\r", "x=y jid=J", "\x01\x7f", "caf\xc3\xa9",
        "no UTF-8: \xe9", "\xe2\x80\xa8 \xc2\x85", "ends with \\"}) {
    const auto lines = testing::lines_of_job(line("job_failed", {{"jid", "J"}, {"message", value}, {"n", 1}}), "J");
    BOOST_REQUIRE(lines.size() == 1);
    BOOST_TEST(lines[0].fact("message") == value);
    BOOST_TEST(lines[0].fact("n") == "1");
    BOOST_TEST(lines[0].fact("event") == "job_failed");
    BOOST_TEST(lines[0].fact("pid") == "4711");
    BOOST_TEST(lines[0].fact("none") == "");
  }
}

BOOST_AUTO_TEST_CASE(what_another_job_says_of_it_is_not_taken_for_its_own) {
  const std::string log = line("job_says", {{"jid", "other"}, {"message", "event=job_done jid=J"}}) +
                          line("job_done", {{"jid", "JJ"}}) + "rubbish jid=J\n\n=\"\n";
  BOOST_TEST(testing::lines_of_job(log, "J").size() == 1);  // the rubbish, which is no event
  BOOST_TEST(!judge(Place::nowhere, log).has_value());
}

BOOST_AUTO_TEST_CASE(a_log_that_ends_within_a_line_is_read_as_far_as_it_goes) {
  const std::string whole = line("job_failed", {{"jid", "J"}, {"message", "a \"b\" \\ \x01"}});
  for (std::size_t size = 0; size <= whole.size(); ++size) testing::lines_of_job(whole.substr(0, size), "J");
}

BOOST_AUTO_TEST_CASE(a_job_that_waits_has_not_ended) {
  const std::string log = began() + line("job_done", {{"jid", "J"}});
  BOOST_TEST(!judge(Place::waits, log).has_value());
  BOOST_TEST(!judge(Place::schedule, log).has_value());
}

BOOST_AUTO_TEST_CASE(a_job_that_is_nowhere_is_judged_by_its_last_run) {
  const std::string failed = began() + line("job_discarded", {{"jid", "J"}, {"error", "E"}, {"message", "m"}});
  const std::string done = began() + line("job_done", {{"jid", "J"}});
  BOOST_TEST(judge(Place::nowhere, failed)->text() == "discarded after 1 run: E: m");
  BOOST_TEST(judge(Place::nowhere, done)->text() == "succeeded after 1 run");
  BOOST_TEST(judge(Place::nowhere, failed + done)->text() == "succeeded after 2 runs");
  BOOST_TEST(judge(Place::nowhere, done + failed)->text() == "discarded after 2 runs: E: m");
  BOOST_TEST(!judge(Place::nowhere, done + began()).has_value());
  BOOST_TEST(!judge(Place::nowhere, "").has_value());
  for (const Place waits : {Place::waits, Place::schedule, Place::quarantine})
    BOOST_TEST(!judge(waits, failed).has_value());
}

BOOST_AUTO_TEST_CASE(the_crash_of_an_earlier_attempt_is_not_that_of_the_last) {
  JobPlaces::Found found{Place::retry};
  found.entry.emplace();
  static_cast<JobRecord&>(*found.entry) = JobRecord::read(
      R"({"class":"Resize","args":[],"jid":"J","error_class":"E","error_message":"m","crash":{"signal":"SIGSEGV"}})");
  const std::string crashed = began() + line("job_crashed", {{"jid", "J"}, {"top", "#0 f()"}});
  const auto first = testing::judge_outcome(found, "J", crashed);
  BOOST_REQUIRE(first->crash.has_value());
  BOOST_TEST(first->crash->signal == "SIGSEGV");
  BOOST_TEST(first->crash->top_frame == "#0 f()");
  const auto second = testing::judge_outcome(found, "J", crashed + began() + line("job_failed", {{"jid", "J"}}));
  BOOST_TEST(!second->crash.has_value());
  BOOST_TEST(second->runs == 2);
}

BOOST_AUTO_TEST_CASE(a_job_runs_in_the_process_that_began_it_last) {
  BOOST_TEST(!testing::running_in("J", "").has_value());
  BOOST_TEST(testing::running_in("J", began(1) + line("job_interrupted", {{"jid", "J"}}, 1) + began(2)).value() == 2);
  for (const char* end : {"job_done", "job_failed", "job_interrupted", "job_crashed", "worker_crashed"})
    BOOST_TEST(!testing::running_in("J", began() + line(end, {{"jid", "J"}})).has_value());
}
