#define BOOST_TEST_MODULE process_table
#include <boost/test/unit_test.hpp>

#include <set>
#include <stdexcept>

#include "supervisor/process_table.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const SteadyTime noon{12h};

}  // namespace

BOOST_AUTO_TEST_CASE(slots_are_numbered_through_the_capsules) {
  const ProcessTable table({2, 1, 3});
  BOOST_TEST(table.size() == 6);
  const int capsules[] = {0, 0, 1, 2, 2, 2};
  for (int i = 0; i < 6; ++i) BOOST_TEST(table[i].capsule == capsules[i]);
  BOOST_CHECK_THROW(table[6], std::out_of_range);
  BOOST_CHECK_THROW(table[-1], std::out_of_range);
}

BOOST_AUTO_TEST_CASE(an_occupant_is_found_by_its_pid_until_it_is_gone) {
  ProcessTable table({3});
  table.occupy(1, 4711, noon);
  BOOST_TEST(table.slot_of(4711).value_or(-1) == 1);
  BOOST_TEST(table.occupied() == 1);

  BOOST_TEST(table.vacate(4711).value_or(-1) == 1);
  BOOST_TEST(!table.slot_of(4711).has_value());
  BOOST_TEST(table.occupied() == 0);
  BOOST_TEST(!table.vacate(4711).has_value());
}

BOOST_AUTO_TEST_CASE(a_process_that_was_never_ours_has_no_slot) {
  ProcessTable table({2});
  table.occupy(0, 4711, noon);
  BOOST_TEST(!table.slot_of(4712).has_value());
  // A vacant slot holds pid 0, and kill knows negative ones: neither names a worker.
  BOOST_TEST(!table.slot_of(0).has_value());
  BOOST_TEST(!table.slot_of(-1).has_value());
  BOOST_TEST(!table.vacate(0).has_value());
}

BOOST_AUTO_TEST_CASE(an_occupied_slot_cannot_be_occupied_again) {
  ProcessTable table({1});
  table.occupy(0, 4711, noon);
  BOOST_CHECK_THROW(table.occupy(0, 4712, noon), std::logic_error);
  BOOST_TEST(table[0].pid == 4711);
}

BOOST_AUTO_TEST_CASE(what_is_known_of_the_last_occupant_lasts_until_the_next) {
  ProcessTable table({1});
  table.occupy(0, 4711, noon);
  table[0].ready = true;
  table[0].ended_by = EndedBy::brood;
  BOOST_TEST(table.ready() == 1);

  table.vacate(4711);
  BOOST_TEST(table[0].ready);
  BOOST_TEST((table[0].ended_by == EndedBy::brood));
  BOOST_TEST((table[0].occupied_since == noon));
  BOOST_TEST(table.ready() == 0);  // of living workers

  table.occupy(0, 4712, noon + 1s);
  BOOST_TEST(!table[0].ready);
  BOOST_TEST((table[0].ended_by == EndedBy::itself));
  BOOST_TEST((table[0].occupied_since == noon + 1s));
}

BOOST_AUTO_TEST_CASE(no_incarnation_is_assigned_twice) {
  ProcessTable table({2, 2});
  std::set<std::uint64_t> seen{0};  // none
  for (int round = 0; round < 5; ++round) {
    for (int slot = 0; slot < 4; ++slot) {
      const std::uint64_t assigned = table.assign_incarnation(slot);
      BOOST_TEST(seen.insert(assigned).second);
      BOOST_TEST(table[slot].incarnation == assigned);
    }
  }
}

BOOST_AUTO_TEST_CASE(vacant_slots_are_due_once_they_have_rested) {
  ProcessTable table({3});
  table.occupy(0, 4711, noon);
  table[1].rests_until = noon + 100ms;
  table[2].rests_until = noon + 200ms;
  BOOST_TEST(table.due_for_refill(noon).empty());
  BOOST_TEST((table.next_refill() == noon + 100ms));
  BOOST_TEST((table.due_for_refill(noon + 100ms) == std::vector<int>{1}));
  BOOST_TEST((table.due_for_refill(noon + 1s) == std::vector<int>{1, 2}));
}

BOOST_AUTO_TEST_CASE(a_full_table_waits_for_no_refill) {
  ProcessTable table({2});
  BOOST_TEST((table.due_for_refill(noon) == std::vector<int>{0, 1}));
  table.occupy(0, 4711, noon);
  table.occupy(1, 4712, noon);
  BOOST_TEST(table.due_for_refill(noon + 1h).empty());
  BOOST_TEST(!table.next_refill().has_value());
}
