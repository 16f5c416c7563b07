#include "worker/guard/syscall_watch.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>

#include "shared/scoreboard/scoreboard.hpp"
#include "worker/crash/crash_handler.hpp"

using namespace brood;

namespace {

bool kernel_can_watch() {
#if defined(__x86_64__)
  static volatile char selector = 0;
  constexpr int set_syscall_user_dispatch = 59;
  const bool can = prctl(set_syscall_user_dispatch, 1UL, 0UL, 0UL, &selector) == 0;
  if (can) prctl(set_syscall_user_dispatch, 0UL, 0UL, 0UL, 0UL);
  return can;
#else
  return false;
#endif
}

boost::test_tools::assertion_result watchable(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result can(kernel_can_watch());
  can.message() << "this kernel has no syscall user dispatch";
  return can;
}

struct WorkersHandlers {
  explicit WorkersHandlers(Scoreboard& board) {
    for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);  // the test framework has some
    install_crash_handler(board.slot(0));
    board.slot(0).current.store(0);
  }
};

// Does this in a child, as a worker.  Returns the child's status as waitpid reports it.
int in_a_worker(
    const std::function<bool(SyscallWatch&)>& holds, const std::function<void()>& before = [] {}) {
  Scoreboard board = Scoreboard::in_memory(1);
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    const WorkersHandlers handlers(board);
    SyscallWatch watch;
    before();
    _exit(holds(watch) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

bool makes_calls(SyscallWatch& watch, const std::function<void()>& job) {
  watch.begin_job();
  job();
  return watch.end_job();
}

const auto idle = [] {};
const auto call = [] { syscall(SYS_getppid); };

volatile int handled = 0;
void handle_with_a_call(int) {
  syscall(SYS_getppid);
  handled = handled + 1;
}
void handle_without(int) { handled = handled + 1; }

void handle(int signal, void (*handler)(int), bool blocks_all) {
  struct sigaction action {};
  action.sa_handler = handler;
  if (blocks_all) sigfillset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_without_calls_is_told_from_one_with, *boost::unit_test::precondition(watchable)) {
  BOOST_TEST(in_a_worker([](SyscallWatch& watch) {
               return !makes_calls(watch, idle) && !makes_calls(watch, idle) && makes_calls(watch, call);
             }) == 0);
}

BOOST_AUTO_TEST_CASE(the_call_that_is_caught_happens_as_if_it_were_not, *boost::unit_test::precondition(watchable)) {
  BOOST_TEST(in_a_worker([](SyscallWatch& watch) {
               int ends[2] = {-1, -1};
               if (pipe(ends) != 0) return false;
               ssize_t written = 0, refused = 0;
               int why = 0;
               const bool caught = makes_calls(watch, [&] {
                 written = write(ends[1], "abc", 3);
                 refused = write(-1, "abc", 3);
                 why = errno;
               });
               char text[4] = {};
               return caught && written == 3 && read(ends[0], text, 3) == 3 && std::string(text) == "abc" &&
                      refused == -1 && why == EBADF;
             }) == 0);
}

BOOST_AUTO_TEST_CASE(a_failing_call_keeps_its_error_when_it_is_the_one_that_is_caught,
                     *boost::unit_test::precondition(watchable)) {
  BOOST_TEST(in_a_worker([](SyscallWatch& watch) {
               int why = 0;
               return makes_calls(watch, [&] { why = close(-1) == -1 ? errno : 0; }) && why == EBADF;
             }) == 0);
}

BOOST_AUTO_TEST_CASE(a_fork_is_a_call_and_its_copy_is_not_watched) {
  BOOST_TEST(in_a_worker([](SyscallWatch& watch) {
               int status = -1;
               const bool caught = makes_calls(watch, [&] {
                 const pid_t child = fork();
                 if (child == 0) {
                   call();
                   _exit(7);
                 }
                 waitpid(child, &status, 0);
               });
               return caught && WIFEXITED(status) && WEXITSTATUS(status) == 7;
             }) == 0);
}

BOOST_AUTO_TEST_CASE(after_a_job_with_calls_some_go_unwatched_and_then_it_watches_again,
                     *boost::unit_test::precondition(watchable)) {
  BOOST_TEST(in_a_worker([](SyscallWatch& watch) {
               makes_calls(watch, call);
               const bool taken_for_one = makes_calls(watch, idle);
               int unwatched = 1;
               while (unwatched < 1000 && makes_calls(watch, idle)) ++unwatched;
               if (!taken_for_one || unwatched > 2) return false;
               // A job that makes calls all the time is hardly ever watched.
               for (int job = 0; job < 2000; ++job) makes_calls(watch, call);
               unwatched = 0;
               while (unwatched < 1000 && makes_calls(watch, idle)) ++unwatched;
               return unwatched > 20 && unwatched < 1000;
             }) == 0);
}

BOOST_AUTO_TEST_CASE(a_crash_of_a_watched_job_is_written_down_and_ends_it_by_its_signal) {
  Scoreboard board = Scoreboard::in_memory(1);
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    const WorkersHandlers handlers(board);
    SyscallWatch watch;
    watch.begin_job();
    *reinterpret_cast<volatile int*>(0x10) = 1;
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV), status);
  const CapturedStack crash = read_stack(board.slot(0).crash);
  BOOST_TEST((crash.state == StackState::complete));
  BOOST_TEST(crash.address == 0x10U);
}

BOOST_AUTO_TEST_CASE(a_sigsys_that_is_not_the_watchs_is_a_crash) {
  const int status = in_a_worker([](SyscallWatch& watch) {
    makes_calls(watch, [] { raise(SIGSYS); });
    return true;
  });
  BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS), status);
}

BOOST_AUTO_TEST_CASE(a_workers_own_handler_may_make_calls_during_a_watched_job) {
  BOOST_TEST(in_a_worker([](SyscallWatch&) {
               handle(SIGTERM, handle_with_a_call, false);
               SyscallWatch watch;  // which takes that handler for the worker's
               makes_calls(watch, idle);
               watch.begin_job();
               raise(SIGTERM);
               watch.end_job();
               return handled == 1;
             }) == 0);
}

BOOST_AUTO_TEST_CASE(where_a_library_handles_signals_no_job_is_watched) {
  BOOST_TEST(in_a_worker(
                 [](SyscallWatch& watch) {
                   for (int job = 0; job < 1000; ++job) {
                     watch.begin_job();
                     raise(SIGUSR2);
                     if (!watch.end_job()) return false;
                   }
                   return handled == 1000;
                 },
                 [] { handle(SIGUSR2, handle_without, true); }) == 0);
}

BOOST_AUTO_TEST_CASE(nor_after_a_job_has_installed_a_handler) {
  BOOST_TEST(in_a_worker([](SyscallWatch& watch) {
               makes_calls(watch, idle);
               makes_calls(watch, [] { handle(SIGUSR2, handle_without, true); });
               for (int job = 0; job < 1000; ++job) {
                 if (!makes_calls(watch, idle)) return false;
               }
               return true;
             }) == 0);
}
