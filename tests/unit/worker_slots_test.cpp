#include "supervisor/workers/worker_slots.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(workers_that_go_on_with_long_jobs_take_no_room_from_those_of_a_restart) {
  constexpr int workers = 3;
  const TemporaryDirectory directory;
  Config config;
  config.capsules.push_back({.name = "default", .concurrency = workers});
  WorkerSlots slots({.runtime_directory = directory.path(), .identity = "here:1:aaaaaaaaaaaa"}, config);
  const int at_first = slots.table.slots();
  for (int generation = 1, pid = 1000; generation <= 20; ++generation) {
    slots.make_room(config);
    for (int number = 0; number < workers; ++number) {
      const int place = slots.table.add_place(static_cast<std::uint32_t>(generation), 0, number);
      const auto slot = slots.table.free_slot();
      BOOST_REQUIRE(slot.has_value());
      slots.table.occupy(*slot, place, ++pid, SteadyTime(1h));
      slots.table.remove_place(place);  // it is to finish
    }
  }
  BOOST_TEST(slots.table.slots() > at_first);
  BOOST_TEST(slots.board.slots() == slots.table.slots());
}
