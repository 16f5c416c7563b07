#include <boost/test/unit_test.hpp>

#include "worker/fetching/batch_size.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// After `batches` full batches of jobs that take `each`.
int want_after(int batches, std::chrono::nanoseconds each, int most = 32) {
  BatchSize size(most);
  for (int i = 0; i < batches; ++i) size.performed(size.want(), size.want() * each, each);
  return size.want();
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_first_fetch_takes_one) { BOOST_TEST(BatchSize(32).want() == 1); }

BOOST_AUTO_TEST_CASE(it_doubles_while_jobs_are_short) {
  BOOST_TEST(want_after(1, 1us) == 2);
  BOOST_TEST(want_after(3, 1us) == 8);
  BOOST_TEST(want_after(20, 1us) == 32);
  BOOST_TEST(want_after(20, 1us, 10) == 10);
}

BOOST_AUTO_TEST_CASE(a_batch_stays_within_five_milliseconds) {
  BOOST_TEST(want_after(20, 1ms) == 5);
  BOOST_TEST(want_after(20, 3ms) == 1);
  BOOST_TEST(want_after(20, 50ms) == 1);
}

BOOST_AUTO_TEST_CASE(one_long_job_ends_the_batching_at_once) {
  BatchSize size(32);
  for (int i = 0; i < 10; ++i) size.performed(size.want(), size.want() * 1us, 1us);
  BOOST_REQUIRE(size.want() == 32);
  size.performed(32, 5ms + 31us, 5ms);
  BOOST_TEST(size.want() == 1);
}

BOOST_AUTO_TEST_CASE(a_fetch_that_found_nothing_changes_nothing) {
  BatchSize size(32);
  size.performed(1, 1us, 1us);
  size.performed(0, 0ns, 0ns);
  BOOST_TEST(size.want() == 2);
}
