#include <boost/test/unit_test.hpp>

#include "tests/support/ledger.hpp"
#include "tests/support/temporary_directory.hpp"

using brood::Ledger;
using Ids = std::vector<std::string>;

namespace {

Ledger::Verdict judge(const std::string& lines, int count) {
  const brood::TemporaryDirectory directory;
  return Ledger(directory.write("ledger", lines)).judge(count);
}

}  // namespace

BOOST_AUTO_TEST_CASE(jobs_done_once_each_are_in_order) {
  const auto verdict = judge("S 0 10 1 100\nD 0 10 200\nS 1 11 1 150\nD 1 11 250\n", 2);
  BOOST_TEST(verdict.lost == Ids{}, boost::test_tools::per_element());
  BOOST_TEST(verdict.unexpected.empty());
  BOOST_TEST(verdict.doubled.empty());
  BOOST_TEST(verdict.overlapped.empty());
}

BOOST_AUTO_TEST_CASE(a_job_never_begun_or_never_ended_is_lost) {
  const auto verdict = judge("S 0 10 1 100\n", 2);
  BOOST_TEST(verdict.lost == (Ids{"0", "1"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_job_cut_off_and_run_again_is_neither_lost_nor_doubled) {
  const auto verdict = judge("S 0 10 1 100\nS 0 11 1 300\nD 0 11 400\n", 1);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.doubled.empty());
  BOOST_TEST(verdict.overlapped.empty());
}

BOOST_AUTO_TEST_CASE(a_job_done_twice_is_doubled) {
  const auto verdict = judge("S 0 10 1 100\nD 0 10 200\nS 0 10 1 300\nD 0 10 400\n", 1);
  BOOST_TEST(verdict.doubled == Ids{"0"}, boost::test_tools::per_element());
  BOOST_TEST(verdict.overlapped.empty());
}

BOOST_AUTO_TEST_CASE(two_runs_at_one_time_overlap) {
  const auto whole = judge("S 0 10 1 100\nS 0 11 1 150\nD 0 10 200\nD 0 11 300\n", 1);
  BOOST_TEST(whole.overlapped == Ids{"0"}, boost::test_tools::per_element());
  const auto cut_off = judge("S 0 10 1 100\nS 0 11 1 150\nD 0 10 200\n", 1);
  BOOST_TEST(cut_off.overlapped == Ids{"0"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_job_that_was_not_enqueued_is_unexpected) {
  const auto verdict = judge("S 7 10 1 100\nD 7 10 200\n", 0);
  BOOST_TEST(verdict.unexpected == Ids{"7"}, boost::test_tools::per_element());
}
