#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <thread>

#include "shared/base/check.hpp"
#include "supervisor/process/event_loop.hpp"

using namespace brood;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(a_turn_that_begins_with_the_last_timer_does_not_wait_for_more) {
  int pipe_ends[2];
  check("pipe", pipe(pipe_ends));
  EventLoop loop;
  {
    const FdWatch silent(loop, pipe_ends[0], FdWatch::readable, [](int) {});
    int fired = 0;
    Timer timer(loop, [&] { ++fired; });
    timer.start_in(1ms);
    std::this_thread::sleep_for(10ms);  // it is overdue when the turn begins
    alarm(30);                          // a turn that waits for the silent pipe waits for ever
    loop.run_once();
    alarm(0);
    BOOST_TEST(fired == 1);
  }
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}
