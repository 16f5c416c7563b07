#include "supervisor/workers/predecessors.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Pipe {
  UniqueFd read_end, write_end;
  Pipe() {
    std::array<int, 2> ends{};
    check("pipe2", pipe2(ends.data(), O_CLOEXEC));
    read_end.reset(ends[0]);
    write_end.reset(ends[1]);
  }
};

bool is_open(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }

// Waits for SIGTERM.
pid_t worker() {
  const pid_t pid = check("fork", fork());
  if (pid == 0) {
    pause();
    _exit(0);
  }
  return pid;
}

}  // namespace

// The caller closes the originals.  If they were closed twice, another descriptor may have the number by then.
BOOST_AUTO_TEST_CASE(what_was_left_is_copied_and_the_copies_go_with_the_worker) {
  Pipe control, output;
  const pid_t pid = worker();
  Handover::Worker left;
  left.pid = pid;
  left.slot = 0;
  left.control = control.write_end.get();
  left.output = output.read_end.get();
  {
    EventLoop loop;
    Predecessors predecessors(loop, {left});
    BOOST_TEST(predecessors.is_one(pid));
    BOOST_TEST(waitpid(pid, nullptr, 0) == pid);  // its end was ordered

    control.write_end.reset();
    char byte = 0;
    fcntl(control.read_end.get(), F_SETFL, O_NONBLOCK);
    BOOST_TEST(read(control.read_end.get(), &byte, 1) == -1);  // the copy holds the pipe open

    BOOST_TEST(predecessors.reaped(pid));
    BOOST_TEST(read(control.read_end.get(), &byte, 1) == 0);
    BOOST_TEST(!predecessors.reaped(pid));
  }
  BOOST_TEST(is_open(output.read_end.get()));
}

BOOST_AUTO_TEST_CASE(a_job_of_theirs_that_prints_waits_for_no_reader) {
  Pipe control, output;
  const pid_t pid = worker();
  Handover::Worker left;
  left.pid = pid;
  left.control = control.write_end.get();
  left.output = output.read_end.get();
  EventLoop loop;
  Predecessors predecessors(loop, {left});
  Timer again(loop, [] {});
  fcntl(output.write_end.get(), F_SETFL, O_NONBLOCK);
  const std::string text(10'000, 'x');
  std::size_t printed = 0;
  for (int turn = 0; turn < 10'000 && printed < 1'000'000; ++turn) {
    const ssize_t written = write(output.write_end.get(), text.data(), text.size());
    if (written > 0) printed += static_cast<std::size_t>(written);
    again.start_in(1ms);
    loop.run_once();
  }
  BOOST_TEST(printed >= 1'000'000U);
  output.write_end.reset();  // the end of the pipe does not wake the loop again and again
  loop.run_once();
  BOOST_TEST(waitpid(pid, nullptr, 0) == pid);
  BOOST_TEST(predecessors.reaped(pid));
}
