#include <boost/test/unit_test.hpp>

#include "supervisor/workers/end/end_overdue_jobs.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const SteadyTime now{1h};

}  // namespace

BOOST_AUTO_TEST_CASE(a_worker_is_aborted_a_grace_after_the_deadline_and_killed_another_one_later) {
  const JobTimeout overdue(2s);
  BOOST_TEST((overdue.abort_at(now) == now + 2s));
  BOOST_TEST((overdue.kill_at(now + 2s) == now + 4s));
}

BOOST_AUTO_TEST_CASE(last_words_have_their_time_however_short_the_grace) {
  const JobTimeout overdue(0ms);
  BOOST_TEST((overdue.abort_at(now) == now));
  BOOST_TEST((overdue.kill_at(now) == now + 100ms));
}

BOOST_AUTO_TEST_CASE(deadlines_are_looked_for_no_more_rarely_than_the_grace_and_once_a_second) {
  BOOST_TEST((JobTimeout(0ms).look_interval() == 100ms));
  BOOST_TEST((JobTimeout(300ms).look_interval() == 300ms));
  BOOST_TEST((JobTimeout(2s).look_interval() == 1s));
}
