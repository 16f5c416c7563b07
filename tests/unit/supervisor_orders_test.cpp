#include "worker/orders/supervisor_orders.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// A worker's end of its control pipe, and the supervisor's.
struct Ends {
  Scoreboard board = Scoreboard::in_memory(1);
  UniqueFd worker, supervisor;
  Ends() {
    std::array<int, 2> ends{};
    check("socketpair", socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()));
    worker.reset(ends[0]);
    supervisor.reset(ends[1]);
    board.last_beat().store(boot_now().time_since_epoch().count());
  }
  WorkerSetup setup() {
    WorkerSetup setup;
    setup.control = worker.get();
    setup.record = &board.slot(0);
    setup.beats = &board.beats();
    setup.supervisor = getppid();
    return setup;
  }
  void say(int times) const {
    for (int i = 0; i < times; ++i) check("write", write(supervisor.get(), "!", 1));
  }
};

}  // namespace

// Each request for an incarnation is answered with a byte, which may come after the worker has seen the answer.
BOOST_AUTO_TEST_CASE(a_pause_is_as_long_as_it_is_whatever_the_supervisor_says) {
  Ends ends;
  SupervisorOrders orders(ends.setup(), 1s);
  for (int i = 0; i < 3; ++i) {
    ends.say(1);
    const SteadyTime before = steady_now();
    orders.pause(30ms);
    BOOST_TEST((steady_now() - before >= 30ms));
  }
}

BOOST_AUTO_TEST_CASE(a_wait_ends_with_what_the_supervisor_says) {
  Ends ends;
  SupervisorOrders orders(ends.setup(), 1s);
  ends.say(1);
  BOOST_TEST(orders.wait(1h));
  BOOST_TEST(!orders.wait(0ms));
}

BOOST_AUTO_TEST_CASE(a_pause_ends_with_a_stop) {
  Ends ends;
  SupervisorOrders orders(ends.setup(), 1h);
  ends.board.slot(0).flags.store(slot_stop);
  orders.pause(1h);
  ends.board.slot(0).flags.store(0);
  ends.supervisor.reset();  // it is gone
  orders.pause(1h);
  BOOST_TEST(orders.told_to_stop());
}
