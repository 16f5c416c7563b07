#define BOOST_TEST_MODULE recycling
#include "worker/recycling.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

#include "worker/own_memory.hpp"

using namespace brood;

BOOST_TEST_DONT_PRINT_LOG_VALUE(std::optional<RecycleReason>)

BOOST_AUTO_TEST_CASE(without_limits_a_worker_goes_on_for_ever) {
  BOOST_CHECK(!judge_recycling({}, {.jobs = 1ULL << 60, .rss_bytes = 1ULL << 60}));
}

BOOST_AUTO_TEST_CASE(a_worker_does_as_many_jobs_as_it_may) {
  const WorkerSettings settings{.max_jobs = 10};
  BOOST_CHECK(!judge_recycling(settings, {.jobs = 9}));
  BOOST_CHECK(judge_recycling(settings, {.jobs = 10}) == RecycleReason::max_jobs);
}

BOOST_AUTO_TEST_CASE(a_worker_that_has_grown_too_large_is_replaced) {
  const WorkerSettings settings{.max_rss_bytes = 1000};
  BOOST_CHECK(!judge_recycling(settings, {.rss_bytes = 1000}));
  BOOST_CHECK(judge_recycling(settings, {.rss_bytes = 1001}) == RecycleReason::max_rss);
}

BOOST_AUTO_TEST_CASE(a_worker_that_ran_out_of_memory_is_replaced_whatever_else_holds) {
  BOOST_CHECK(judge_recycling({.max_jobs = 1}, {.jobs = 1, .ran_out_of_memory = true}) == RecycleReason::out_of_memory);
}

BOOST_AUTO_TEST_CASE(a_process_knows_its_own_memory) {
  const OwnMemory before = read_own_memory();
  const std::vector<char> block(64 << 20, 'x');
  const OwnMemory after = read_own_memory();
  BOOST_TEST(before.resident_bytes > 100'000u);
  BOOST_TEST(after.resident_bytes >= before.resident_bytes + block.size() / 2);
  BOOST_TEST(after.data_bytes >= before.data_bytes + block.size() / 2);
  BOOST_TEST(after.data_bytes < before.data_bytes + 2 * block.size());
}
