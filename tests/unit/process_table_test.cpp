#include <boost/test/unit_test.hpp>

#include <set>
#include <stdexcept>

#include "supervisor/workers/places/process_table.hpp"

using namespace brood;
using namespace std::chrono_literals;
using State = ProcessTable::Place::State;

namespace {

const SteadyTime noon{12h};

// A table of more slots than places, as there always are.
ProcessTable table_of(int places, int slots = 8) {
  ProcessTable table(slots);
  for (int i = 0; i < places; ++i) table.add_place(1, 0, i);
  return table;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_worker_is_found_by_its_pid_until_it_is_gone) {
  ProcessTable table = table_of(3);
  table.occupy(1, 2, 4711, noon);
  BOOST_TEST(table.slot_of(4711).value_or(-1) == 1);
  BOOST_TEST(table.places().at(2).slot.value_or(-1) == 1);
  BOOST_TEST(table[1].number == 2);
  BOOST_TEST(table.occupied() == 1);

  BOOST_TEST(table.vacate(4711).value_or(-1) == 1);
  BOOST_TEST(!table.slot_of(4711).has_value());
  BOOST_TEST(!table.places().at(2).slot.has_value());
  BOOST_TEST(table.places().at(2).last_slot == 1);
  BOOST_TEST(table.occupied() == 0);
  BOOST_TEST(!table.vacate(4711).has_value());
}

BOOST_AUTO_TEST_CASE(a_process_that_was_never_ours_has_no_slot) {
  ProcessTable table = table_of(2);
  table.occupy(0, 0, 4711, noon);
  BOOST_TEST(!table.slot_of(4712).has_value());
  // A vacant slot holds pid 0, and kill knows negative ones: neither names a worker.
  BOOST_TEST(!table.slot_of(0).has_value());
  BOOST_TEST(!table.slot_of(-1).has_value());
  BOOST_TEST(!table.vacate(0).has_value());
}

BOOST_AUTO_TEST_CASE(an_occupied_slot_or_place_cannot_be_occupied_again) {
  ProcessTable table = table_of(2);
  table.occupy(0, 0, 4711, noon);
  BOOST_CHECK_THROW(table.occupy(0, 1, 4712, noon), std::logic_error);
  BOOST_CHECK_THROW(table.occupy(1, 0, 4712, noon), std::logic_error);
  BOOST_TEST(table[0].pid == 4711);
  BOOST_TEST(table.free_slot().value_or(-1) == 1);
}

BOOST_AUTO_TEST_CASE(a_slot_is_free_again_only_when_nothing_of_its_worker_is_left) {
  ProcessTable table = table_of(1, 2);
  table.occupy(0, 0, 4711, noon);
  table.vacate(4711);
  BOOST_TEST(table[0].held);
  BOOST_CHECK_THROW(table.occupy(0, 0, 4712, noon), std::logic_error);

  // Its place does not wait for that.
  BOOST_TEST((table.due_for_refill(noon) == std::vector<int>{0}));
  BOOST_TEST(table.free_slot().value_or(-1) == 1);
  table.occupy(1, 0, 4712, noon);
  table.vacate(4712);
  BOOST_TEST(!table.free_slot().has_value());

  table.release(0);
  BOOST_TEST(table.free_slot().value_or(-1) == 0);
  table.occupy(0, 0, 4713, noon);
  BOOST_TEST(table[1].held);
}

BOOST_AUTO_TEST_CASE(what_is_known_of_the_last_worker_lasts_until_the_next) {
  ProcessTable table = table_of(1);
  table.occupy(0, 0, 4711, noon);
  table.note_ready(0, noon);
  table[0].ended_by = EndedBy::brood;
  BOOST_TEST(table.ready() == 1);

  table.vacate(4711);
  table.release(0);
  BOOST_TEST(table[0].ready_at.has_value());
  BOOST_TEST((table[0].ended_by == EndedBy::brood));
  BOOST_TEST((table[0].occupied_since == noon));
  BOOST_TEST(table.ready() == 0);  // of living workers

  table.occupy(0, 0, 4712, noon + 1s);
  BOOST_TEST(!table[0].ready_at.has_value());
  BOOST_TEST((table[0].ended_by == EndedBy::itself));
  BOOST_TEST((table[0].occupied_since == noon + 1s));
}

BOOST_AUTO_TEST_CASE(a_slot_that_a_dead_worker_of_the_program_before_had_is_held_until_it_is_released) {
  ProcessTable table = table_of(2);
  ProcessTable::Slot last;
  last.pid = 4711;
  last.place = 1;
  last.generation = 3;
  last.incarnation = 17;
  last.ended_at = noon;
  table.hold(0, last);
  BOOST_TEST((table[0].held && !table.is_living(0)));
  BOOST_TEST(table[0].generation == 3U);
  BOOST_TEST((table[0].ended_at == noon));
  BOOST_TEST(table.place_of(0) == nullptr);
  BOOST_TEST(table.used_slots() == 1);
  BOOST_TEST(table.free_slot().value_or(-1) == 1);
  table.release(0);
  BOOST_TEST(table.free_slot().value_or(-1) == 0);

  table.occupy(1, 1, 4712, noon);
  BOOST_CHECK_THROW(table.hold(1, last), std::logic_error);
}

// Where each worker ends after a job, there may be no moment in which all are ready.
BOOST_AUTO_TEST_CASE(all_were_ready_once_each_kept_place_has_had_a_ready_worker) {
  ProcessTable table = table_of(2);
  table.add_place(2, 0, 0, State::waiting);
  table.occupy(0, 0, 4711, noon);
  table.note_ready(0, noon);
  table.vacate(4711);
  table.release(0);
  BOOST_TEST(!table.all_were_ready());

  table.occupy(0, 0, 4712, noon);
  table.occupy(1, 1, 4713, noon);
  BOOST_TEST(!table.all_were_ready());
  table.note_ready(1, noon);
  BOOST_TEST(table.ready() == 1);
  BOOST_TEST(table.all_were_ready());
  table.vacate(4712);
  BOOST_TEST(table.all_were_ready());
}

BOOST_AUTO_TEST_CASE(no_incarnation_is_assigned_twice) {
  ProcessTable table(4);
  std::set<std::uint64_t> seen{0};  // none
  for (int round = 0; round < 5; ++round) {
    for (int slot = 0; slot < 4; ++slot) {
      const std::uint64_t assigned = table.assign_incarnation(slot);
      BOOST_TEST(seen.insert(assigned).second);
      BOOST_TEST(table[slot].incarnation == assigned);
    }
  }
}

BOOST_AUTO_TEST_CASE(vacant_places_are_due_once_they_have_rested) {
  ProcessTable table = table_of(3);
  table.occupy(0, 0, 4711, noon);
  table.places().at(1).rests_until = noon + 100ms;
  table.places().at(2).rests_until = noon + 200ms;
  BOOST_TEST(table.due_for_refill(noon).empty());
  BOOST_TEST((table.next_refill(noon) == noon + 100ms));
  BOOST_TEST((table.due_for_refill(noon + 100ms) == std::vector<int>{1}));
  BOOST_TEST((table.due_for_refill(noon + 1s) == std::vector<int>{1, 2}));
}

BOOST_AUTO_TEST_CASE(a_full_table_waits_for_no_refill) {
  ProcessTable table = table_of(2);
  BOOST_TEST((table.due_for_refill(noon) == std::vector<int>{0, 1}));
  table.occupy(0, 0, 4711, noon);
  table.occupy(1, 1, 4712, noon);
  BOOST_TEST(table.due_for_refill(noon + 1h).empty());
  BOOST_TEST(!table.next_refill(noon).has_value());
}

BOOST_AUTO_TEST_CASE(a_place_and_a_slot_whose_worker_is_on_its_way_are_given_to_no_other) {
  ProcessTable table = table_of(2);
  table.reserve(0, 0);
  BOOST_TEST((table.due_for_refill(noon) == std::vector<int>{1}));
  BOOST_TEST(table.free_slot().value() == 1);
  BOOST_TEST(!table[0].held);  // no jobs wait there for a recovery
  BOOST_CHECK_THROW(table.occupy(0, 1, 4711, noon), std::logic_error);

  table.unreserve(0);
  BOOST_TEST((table.due_for_refill(noon) == std::vector<int>{0, 1}));
  table.occupy(0, 0, 4711, noon);
  BOOST_TEST(table.slot_of(4711).value() == 0);
}

BOOST_AUTO_TEST_CASE(a_slot_is_free_again_when_the_place_that_it_was_for_is_gone) {
  ProcessTable table = table_of(1);
  table.reserve(0, 0);
  table.remove_place(0);
  table.unreserve(0);
  BOOST_TEST(table.free_slot().value() == 0);
}

BOOST_AUTO_TEST_CASE(places_that_may_be_filled_already_are_not_waited_for) {
  ProcessTable table = table_of(2);
  table.places().at(1).rests_until = noon + 1s;
  BOOST_TEST((table.next_refill(noon) == noon + 1s));
  BOOST_TEST(!table.next_refill(noon + 1s).has_value());
}

BOOST_AUTO_TEST_CASE(only_places_that_are_kept_are_filled) {
  ProcessTable table = table_of(1);
  const int waiting = table.add_place(2, 0, 0, State::waiting);
  table.occupy(0, 0, 4711, noon);
  table.places().at(0).state = State::given_up;
  table.vacate(4711);
  BOOST_TEST(table.due_for_refill(noon).empty());
  BOOST_TEST(table.kept() == 0);

  table.places().at(waiting).state = State::kept;
  BOOST_TEST((table.due_for_refill(noon) == std::vector<int>{waiting}));
  BOOST_TEST(table.kept() == 1);
}

BOOST_AUTO_TEST_CASE(a_worker_outlives_its_place) {
  ProcessTable table = table_of(2);
  table.occupy(0, 0, 4711, noon);
  table.remove_place(0);
  BOOST_TEST(table.place_of(0) == nullptr);
  BOOST_TEST(table.occupied() == 1);
  BOOST_TEST(table.vacate(4711).value_or(-1) == 0);
  BOOST_TEST((table.due_for_refill(noon) == std::vector<int>{1}));
}

BOOST_AUTO_TEST_CASE(places_whose_workers_do_not_start_are_known_until_one_is_ready) {
  ProcessTable table(4);
  const int first = table.add_place(1, 0, 0), second = table.add_place(1, 0, 1);
  table.occupy(0, first, 10, SteadyTime(1s));
  table.occupy(1, second, 11, SteadyTime(1s));
  BOOST_TEST(table.failing_starts().places == 0);

  ProcessTable::Place& failing = table.places().at(first);
  table.vacate(10);
  failing.rest = failing.policy.rest_after({.uptime = 5ms});
  BOOST_TEST(table.failing_starts().places == 1);
  BOOST_TEST((table.failing_starts().longest_rest == 100ms));
  table.occupy(2, first, 12, SteadyTime(2s));
  BOOST_TEST(table.failing_starts().places == 1);  // it is not ready yet

  table.note_ready(2, SteadyTime(3s));
  BOOST_TEST(table.failing_starts().places == 0);
}

BOOST_AUTO_TEST_CASE(a_slot_rests_for_as_long_as_the_place_that_it_was_the_last_of) {
  ProcessTable table = table_of(2);
  table.occupy(0, 0, 4711, noon);
  table.occupy(1, 1, 4712, noon);
  table.vacate(4712);
  table.places().at(1).rests_until = noon + 5s;
  BOOST_CHECK(table.rests_until(0) == SteadyTime());
  BOOST_CHECK(table.rests_until(1) == noon + 5s);
  BOOST_CHECK(table.rests_until(7) == SteadyTime());
  // The place is filled again, in another slot.
  table.occupy(2, 1, 4713, noon);
  BOOST_CHECK(table.rests_until(1) == SteadyTime());
  BOOST_CHECK(table.rests_until(2) == SteadyTime());
}
