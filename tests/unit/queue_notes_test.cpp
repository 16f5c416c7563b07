#include "supervisor/queues/doorbell_plan.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;
using namespace std::chrono_literals;

namespace {

const SteadyTime start{1h};

}  // namespace

BOOST_AUTO_TEST_CASE(a_queue_that_never_rang_does_not_rest) { BOOST_TEST((QueueNotes().rests_until("mail") <= start)); }

BOOST_AUTO_TEST_CASE(the_same_job_lets_it_rest_twice_as_long_each_time_up_to_a_tenth_of_a_second) {
  QueueNotes rests;
  for (const auto pause : {1ms, 2ms, 4ms, 8ms, 16ms, 32ms, 64ms, 100ms, 100ms}) {
    rests.note_ring("mail", "job", start);
    BOOST_TEST((rests.rests_until("mail") - start == pause));
  }
}

BOOST_AUTO_TEST_CASE(another_job_and_an_empty_queue_begin_anew) {
  QueueNotes rests;
  rests.note_ring("mail", "one", start);
  rests.note_ring("mail", "one", start);
  rests.note_ring("mail", "two", start);
  BOOST_TEST((rests.rests_until("mail") - start == 1ms));
  rests.note_ring("mail", "two", start);
  rests.note_no_job("mail");
  BOOST_TEST((rests.rests_until("mail") <= start));
  rests.note_ring("mail", "two", start);
  BOOST_TEST((rests.rests_until("mail") - start == 1ms));
}

BOOST_AUTO_TEST_CASE(each_queue_rests_by_itself) {
  QueueNotes rests;
  rests.note_ring("mail", "job", start);
  BOOST_TEST((rests.rests_until("images") <= start));
}
