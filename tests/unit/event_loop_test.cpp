#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <thread>

#include "shared/base/check.hpp"
#include "shared/base/host_memory.hpp"
#include "shared/base/unique_fd.hpp"
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

// A child that could write there would give the kernel orders in the supervisor's name.
BOOST_AUTO_TEST_CASE(no_child_has_the_rings_through_which_a_loop_speaks_with_the_kernel) {
  io_uring_params parameters{};
  const UniqueFd ring(static_cast<int>(syscall(SYS_io_uring_setup, 4, &parameters)));  // as a later libuv makes one
  if (!ring) {
    BOOST_TEST_MESSAGE("skipped: this kernel makes no ring");
    return;
  }
  const std::size_t size = parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned);
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.get(), IORING_OFF_SQ_RING);
  BOOST_REQUIRE(memory != MAP_FAILED);
  const auto rings = [] {
    const auto all = memory_mappings();
    return std::count_if(all.begin(), all.end(), [](const MemoryMapping& one) {
      return one.is_shared && one.path.find("io_uring") != std::string::npos;
    });
  };

  EventLoop loop;

  BOOST_TEST(rings() >= 1);
  const pid_t child = fork();
  if (child == 0) _exit(rings() == 0 ? 0 : 1);
  int status = -1;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
  munmap(memory, size);
}
