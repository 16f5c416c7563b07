// Ends that are no fault of the processor: exceptions that are not caught, and calls of exit().
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <exception>
#include <thread>

#include "tests/support/crashing_child.hpp"

using namespace brood;
using namespace brood::crashing_child;
using namespace std::chrono_literals;

struct ThrowsInWhat : std::exception {
  const char* what() const noexcept override {
    throw_number();
    return "";
  }
};
struct CrashesInWhat : std::exception {
  const char* what() const noexcept override {
    write_null();
    return "";
  }
};

BOOST_AUTO_TEST_CASE(an_uncaught_exception_of_a_thread_leaves_its_type_and_what) {
  Child child([](SlotRecord&) { std::thread(throw_runtime_error).join(); });

  const CapturedStack crash = child.crash();
  BOOST_TEST(child.ended_by() == SIGABRT);
  BOOST_TEST(crash.thrown_type == "St13runtime_error");
  BOOST_TEST(crash.what == "no such picture");
  BOOST_TEST(crash.thread != child.pid());
  BOOST_TEST(whole(crash));
  const auto names = functions(crash);
  BOOST_TEST((std::find(names.begin(), names.end(), "throw_runtime_error") != names.end()), text(names));
}

BOOST_AUTO_TEST_CASE(a_thrown_number_leaves_its_type_and_where_it_came_to_its_end) {
  Child child([](SlotRecord&) { throw_foreign(); });

  const CapturedStack crash = child.crash();
  BOOST_TEST(child.ended_by() == SIGABRT);
  BOOST_TEST(crash.thrown_type == "i");
  BOOST_TEST(crash.what == "");
  const auto names = functions(crash);
  BOOST_TEST((std::find(names.begin(), names.end(), "throw_foreign") != names.end()), text(names));
}

BOOST_AUTO_TEST_CASE(terminate_without_an_exception_leaves_no_type) {
  Child child([](SlotRecord&) { std::terminate(); });

  BOOST_TEST(child.crash().signal == SIGABRT);
  BOOST_TEST(child.crash().thrown_type == "");
}

BOOST_AUTO_TEST_CASE(a_what_that_throws_or_crashes_leaves_the_type) {
  Child throwing([](SlotRecord&) { std::thread([] { throw ThrowsInWhat(); }).join(); });
  BOOST_TEST(throwing.ended_by() == SIGABRT);
  BOOST_TEST(throwing.crash().thrown_type == "12ThrowsInWhat");
  BOOST_TEST(whole(throwing.crash()));

  Child crashing([](SlotRecord&) { std::thread([] { throw CrashesInWhat(); }).join(); });
  BOOST_TEST(crashing.ended_by() == SIGSEGV);
  BOOST_TEST(crashing.crash().thrown_type == "13CrashesInWhat");
  CHECK_CALLS(crashing.crash(), {"write_null", "_ZNK13CrashesInWhat4whatEv"});
}

BOOST_AUTO_TEST_CASE(exit_during_a_job_is_told_with_who_called_it_and_changes_nothing) {
  Child child([](SlotRecord&) { call_exit(3); });

  const CapturedStack crash = child.crash();
  BOOST_TEST(child.exit_status() == 3);
  BOOST_TEST(crash.signal == 0);
  BOOST_TEST(crash.exit_status == 3);
  BOOST_TEST(whole(crash));
  CHECK_CALLS(crash, {"exit", "call_exit"});
}

BOOST_AUTO_TEST_CASE(an_exit_outside_of_jobs_or_without_ceremony_is_not_told) {
  Child idle([](SlotRecord& record) {
    record.current.store(-1);
    call_exit(3);
  });
  BOOST_TEST(idle.exit_status() == 3);
  BOOST_TEST(!idle.crash().any());

  Child abrupt([](SlotRecord&) { _exit(5); });
  BOOST_TEST(abrupt.exit_status() == 5);
  BOOST_TEST(!abrupt.crash().any());
}

BOOST_AUTO_TEST_CASE(a_crash_on_the_way_out_is_what_is_told) {
  static Call on_the_way = write_null;
  struct Crashes {
    ~Crashes() { on_the_way(); }
  };
  Child child([](SlotRecord&) {
    static const Crashes late;
    call_exit(3);
  });
  // The static was made after the handler of exit() was registered, so it is destroyed before; a library's is after.
  BOOST_TEST(child.ended_by() == SIGSEGV);
  BOOST_TEST(child.crash().signal == SIGSEGV);
  BOOST_TEST(child.crash().exit_status == 0);
  BOOST_TEST(functions(child.crash()).at(0) == "write_null");
}
