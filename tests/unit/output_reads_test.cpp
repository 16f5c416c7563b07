#include "shared/scoreboard/output_reads.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/scoreboard/scoreboard.hpp"

using namespace brood;

namespace {

struct BothEnds {
  Scoreboard board = Scoreboard::in_memory(1);
  OutputReads reads{board.slot(0)};
  OutputSeen seen;

  bool was_read() { return seen.was_read(board.slot(0)); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_has_printed_when_a_read_brought_output_since_the_last_job_ended) {
  BothEnds ends;
  BOOST_TEST(!ends.was_read());
  ends.reads.begin();
  ends.reads.end(true);
  BOOST_TEST(ends.was_read());
  BOOST_TEST(!ends.was_read());
}

BOOST_AUTO_TEST_CASE(a_read_that_brought_marks_alone_is_no_output) {
  BothEnds ends;
  ends.reads.begin();
  ends.reads.end(false);
  BOOST_TEST(!ends.was_read());
}

BOOST_AUTO_TEST_CASE(while_a_read_goes_on_a_job_may_have_printed) {
  BothEnds ends;
  ends.reads.begin();
  BOOST_TEST(ends.was_read());
}

// The read begins while one job runs and brings what the next one prints.
BOOST_AUTO_TEST_CASE(a_job_whose_end_falls_into_a_read_does_not_use_up_the_next_ones_output) {
  BothEnds ends;
  ends.reads.begin();
  BOOST_TEST(ends.was_read());
  ends.reads.end(true);
  BOOST_TEST(ends.was_read());
  BOOST_TEST(!ends.was_read());
}

BOOST_AUTO_TEST_CASE(a_supervisor_that_takes_a_worker_over_counts_on) {
  BothEnds ends;
  ends.reads.begin();
  ends.reads.end(true);
  BOOST_TEST(ends.was_read());
  OutputReads successor(ends.board.slot(0));
  successor.begin();
  successor.end(true);
  BOOST_TEST(ends.was_read());
}
