#include <boost/test/unit_test.hpp>

#include <string>

#include "worker/admission/quarantine.hpp"

using namespace brood;

BOOST_AUTO_TEST_CASE(a_class_is_judged_by_the_libraries_that_it_crashed_with) {
  const QuarantinedClass known{.libraries = "aa", .fingerprint = "f", .since = 1, .crashes = 5, .passed = 0};
  BOOST_CHECK(judge_quarantine(nullptr, "aa") == QuarantineAnswer::perform);
  BOOST_CHECK(judge_quarantine(&known, "aa") == QuarantineAnswer::defer);
  BOOST_CHECK(judge_quarantine(&known, "bb") == QuarantineAnswer::probe);
  BOOST_CHECK(judge_quarantine(&known, "a") == QuarantineAnswer::probe);
  const QuarantinedClass of_both{.libraries = "bb,aa", .fingerprint = "f", .since = 1, .crashes = 5, .passed = 0};
  BOOST_CHECK(judge_quarantine(&of_both, "aa") == QuarantineAnswer::defer);
  BOOST_CHECK(judge_quarantine(&of_both, "bb") == QuarantineAnswer::defer);
  BOOST_CHECK(judge_quarantine(&of_both, "cc") == QuarantineAnswer::probe);
}

BOOST_AUTO_TEST_CASE(a_pause_holds_jobs_by_their_class_and_by_the_one_that_it_wraps) {
  for (const std::string wrapper :
       {"Sidekiq::ActiveJob::Wrapper", "ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper", "OtherWrapper"}) {
    const Payload job = Payload::parse(R"({"args":[],"wrapped":"Mail","class":")" + wrapper + "\"}");
    BOOST_TEST(is_of_paused_class(job, {wrapper}));
    BOOST_TEST(is_of_paused_class(job, {"Mail"}));
    BOOST_TEST(!is_of_paused_class(job, {"Other"}));
  }
}
