#include "supervisor/queues/batch_watch.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;
using namespace std::chrono_literals;

namespace {

const SteadyTime start{100h};

struct OneWorker {
  Scoreboard board = Scoreboard::in_memory(1);
  WorkerSlot worker{board.slot(0)};
  BatchAges ages;

  OneWorker() {
    vacate(board.slot(0), 3, 0);
    worker.adopt_incarnation(3);
    fetch(1, 4);
  }
  void fetch(std::uint64_t number, int jobs) {
    worker.clear_entries();
    worker.set_number(number);
    worker.set_queue("default");
    worker.set_fetched(jobs);
  }
  void begin(int entry, SteadyTime at) { BOOST_REQUIRE(worker.begin(entry, "j", "J", WallTime{}, at, 0)); }
  void perform(int entry, SteadyTime at) {
    begin(entry, at);
    worker.end(entry, EntryState::succeeded);
  }
  bool holds_up(SteadyTime now) { return ages.holds_up(0, board.slot(0), now); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_job_that_runs_for_long_holds_up_those_behind_it, OneWorker) {
  begin(0, start);
  BOOST_TEST(!holds_up(start + 19ms));
  BOOST_TEST(holds_up(start + 20ms));
}

BOOST_FIXTURE_TEST_CASE(a_slow_job_is_seen_at_the_first_look, OneWorker) {
  begin(0, start);
  BOOST_TEST(holds_up(start + 1s));
}

BOOST_FIXTURE_TEST_CASE(many_jobs_hold_up_as_one_does, OneWorker) {
  perform(0, start);
  begin(1, start + 9ms);
  BOOST_TEST(!holds_up(start + 9ms));
  worker.end(1, EntryState::succeeded);
  begin(2, start + 18ms);
  BOOST_TEST(!holds_up(start + 19ms));
  BOOST_TEST(holds_up(start + 29ms));
}

BOOST_FIXTURE_TEST_CASE(the_next_batch_begins_anew, OneWorker) {
  begin(0, start);
  BOOST_TEST(!holds_up(start));
  worker.end(0, EntryState::succeeded);
  fetch(2, 4);
  begin(0, start + 25ms);
  BOOST_TEST(!holds_up(start + 30ms));
}

BOOST_FIXTURE_TEST_CASE(the_last_job_of_a_batch_holds_up_no_other, OneWorker) {
  for (int i = 0; i < 3; ++i) perform(i, start);
  begin(3, start);
  BOOST_TEST(!holds_up(start + 1h));
  BOOST_TEST(!ages.last_seen().has_value());
}

BOOST_FIXTURE_TEST_CASE(nothing_is_held_up_while_nothing_runs, OneWorker) {
  BOOST_TEST(!holds_up(start + 1h));
  perform(0, start);
  BOOST_TEST(!holds_up(start + 1h));
}

BOOST_FIXTURE_TEST_CASE(what_was_taken_back_is_held_up_no_more, OneWorker) {
  begin(0, start);
  BOOST_TEST(holds_up(start + 1s));
  BOOST_TEST(take_back_unbegun(board.slot(0), 1, 4) == 1);
  BOOST_TEST(!holds_up(start + 1s));
  BOOST_TEST(!worker.begin(1, "j", "J", WallTime{}, start, 0));
}

BOOST_FIXTURE_TEST_CASE(a_job_whose_hooks_run_after_its_failure_still_holds_up, OneWorker) {
  begin(0, start);
  worker.end(0, EntryState::failed);
  BOOST_TEST(holds_up(start + 20ms));
}

BOOST_FIXTURE_TEST_CASE(a_scribbled_record_is_survived, OneWorker) {
  board.slot(0).current.store(1'000'000);
  BOOST_TEST(!holds_up(start));
  board.slot(0).current.store(max_batch_entries - 1);
  BOOST_TEST(!holds_up(start));
  board.slot(0).current.store(0);
  board.slot(0).started_steady.store(-1);
  BOOST_TEST(!holds_up(start));
}
