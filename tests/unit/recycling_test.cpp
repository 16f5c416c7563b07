#include "worker/run/recycling.hpp"

#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <ctime>
#include <thread>
#include <vector>

#include "worker/guard/own_memory.hpp"
#include "worker/guard/thread_count.hpp"
#include "worker/guard/timer_count.hpp"

using namespace brood;

BOOST_TEST_DONT_PRINT_LOG_VALUE(std::optional<RecycleReason>)

BOOST_AUTO_TEST_CASE(without_limits_a_worker_goes_on_for_ever) {
  BOOST_CHECK(!judge_recycling({}, {.jobs = 1ULL << 60, .rss_bytes = 1ULL << 60}));
}

BOOST_AUTO_TEST_CASE(a_worker_does_as_many_jobs_as_it_may) {
  const WorkerSettings settings{.max_jobs = 10};
  BOOST_CHECK(!judge_recycling(settings, {.jobs = 9}));
  BOOST_CHECK(judge_recycling(settings, {.jobs = 10}) == RecycleReason::max_jobs);
}

BOOST_AUTO_TEST_CASE(a_worker_that_has_grown_too_large_is_replaced) {
  const WorkerSettings settings{.max_rss_bytes = 1000};
  BOOST_CHECK(!judge_recycling(settings, {.rss_bytes = 1000}));
  BOOST_CHECK(judge_recycling(settings, {.rss_bytes = 1001}) == RecycleReason::max_rss);
}

BOOST_AUTO_TEST_CASE(a_worker_that_ran_out_of_memory_is_replaced_whatever_else_holds) {
  BOOST_CHECK(judge_recycling({.max_jobs = 1}, {.jobs = 1, .ran_out_of_memory = true}) == RecycleReason::out_of_memory);
}

BOOST_AUTO_TEST_CASE(a_worker_in_which_threads_were_left_is_replaced) {
  BOOST_CHECK(judge_recycling({}, {.left_threads = 1}) == RecycleReason::threads);
  BOOST_CHECK(!judge_recycling({}, {.left_threads = 0}));
}

BOOST_AUTO_TEST_CASE(so_is_one_in_which_timers_were_left_or_limits_lowered) {
  BOOST_CHECK(judge_recycling({}, {.left_timers = 1}) == RecycleReason::timers);
  BOOST_CHECK(judge_recycling({}, {.lowered_limits = true}) == RecycleReason::limits);
}

BOOST_AUTO_TEST_CASE(timers_that_are_left_are_stopped_and_counted_and_those_that_were_deleted_are_not) {
  const auto make = [] {
    sigevent by_signal{};
    by_signal.sigev_notify = SIGEV_SIGNAL;
    by_signal.sigev_signo = SIGUSR1;  // which ends this process
    timer_t timer{};
    BOOST_TEST_REQUIRE(timer_create(CLOCK_MONOTONIC, &by_signal, &timer) == 0);
    const itimerspec soon{.it_interval = {}, .it_value = {.tv_sec = 30, .tv_nsec = 0}};
    BOOST_TEST_REQUIRE(timer_settime(timer, 0, &soon, nullptr) == 0);
    return timer;
  };
  const auto is_set = [](timer_t timer) {
    itimerspec left{};
    return timer_gettime(timer, &left) == 0 && (left.it_value.tv_sec != 0 || left.it_value.tv_nsec != 0);
  };
  const timer_t of_a_library = make();
  TimerCount count;
  count.note_present();
  BOOST_TEST(count.stop_left_behind() == 0);
  for (int i = 0; i < 500; ++i) {
    timer_delete(make());
    BOOST_TEST_REQUIRE(count.stop_left_behind() == 0);
  }

  const timer_t one = make(), another = make();

  BOOST_TEST(count.stop_left_behind() == 2);
  BOOST_TEST(!is_set(one));
  BOOST_TEST(!is_set(another));
  BOOST_TEST(is_set(of_a_library));
  BOOST_TEST(count.stop_left_behind() == 0);

  for (int i = 0; i < 10'001; ++i) timer_delete(make());
  const timer_t last = make();
  BOOST_TEST(count.stop_left_behind() == 1);
  BOOST_TEST(!is_set(last));
  for (const timer_t timer : {of_a_library, one, another, last}) timer_delete(timer);
}

BOOST_AUTO_TEST_CASE(threads_that_are_left_are_counted_and_those_that_were_joined_are_not) {
  ThreadCount count;
  count.note_present();
  BOOST_TEST(count.left_behind() == 0);
  for (int i = 0; i < 500; ++i) {
    std::thread([] {}).join();
    BOOST_TEST_REQUIRE(count.left_behind() == 0);
  }
  const std::size_t others = names_of_other_threads().size();
  std::atomic<bool> over{false};
  const auto until_over = [&] {
    while (!over) usleep(1000);
  };
  std::thread one(until_over), other(until_over);
  BOOST_TEST(count.left_behind() == 2);
  count.note_present();
  BOOST_TEST(count.left_behind() == 0);
  over = true;
  one.join();
  other.join();
  // pthread_join() returns before the kernel has taken a thread off its list.
  while (names_of_other_threads().size() > others) usleep(1000);
  BOOST_TEST(count.left_behind() == 0);
  over = false;
  // The unclaimed threads are gone: a new one is not among them.
  std::thread another(until_over);
  BOOST_TEST(count.left_behind() >= 1);
  over = true;
  another.join();
}

BOOST_AUTO_TEST_CASE(a_process_knows_its_own_memory) {
  const OwnMemory before = read_own_memory();
  const std::vector<char> block(64 << 20, 'x');
  const OwnMemory after = read_own_memory();
  BOOST_TEST(before.resident_bytes > 100'000u);
  BOOST_TEST(after.resident_bytes >= before.resident_bytes + block.size() / 2);
  BOOST_TEST(after.data_bytes >= before.data_bytes + block.size() / 2);
  BOOST_TEST(after.data_bytes < before.data_bytes + 2 * block.size());
}
