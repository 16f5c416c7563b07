#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sysexits.h>
#include <unistd.h>

#include "shared/base/check.hpp"
#include "shared/base/identity.hpp"
#include "shared/base/unique_fd.hpp"
#include "supervisor/recovery/recovery_children.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/recovering.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

WorkerDeath uncharged(std::uint64_t incarnation) {
  WorkerDeath worker_death;
  worker_death.worker.identity = "here:1:aa";
  worker_death.worker.slot = 3;
  worker_death.worker.incarnation = incarnation;
  return worker_death;
}

WorkerDeath charged(std::uint64_t incarnation) {
  WorkerDeath worker_death = uncharged(incarnation);
  worker_death.cause = WorkerDeath::Cause{"SIGSEGV", "SIGSEGV in Segfault"};
  return worker_death;
}

using Lines = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(a_death_is_answered_by_one_child_and_forgotten) {
  Recovering test;
  BOOST_TEST(test.recovery.is_idle());
  test.recovery.add(charged(7));
  BOOST_TEST(!test.recovery.is_idle());
  BOOST_TEST((test.recovery.fields_of("here:1:aa") == std::set<std::string>{"3.7"}));
  BOOST_TEST(test.recovery.fields_of("there:1:aa").empty());

  test.recovery.spawn_due(test.now, {});
  BOOST_TEST((test.recovery.fields_of("here:1:aa") == std::set<std::string>{"3.7"}));
  test.reap(1);

  BOOST_TEST(test.recovery.is_idle());
  BOOST_TEST(test.recovery.fields_of("here:1:aa").empty());
  BOOST_TEST((test.diary.lines() == Lines{"full 7"}));
}

BOOST_AUTO_TEST_CASE(what_is_held_is_recovered_once_it_is_released_and_is_not_forgotten_before) {
  Recovering test;
  test.recovery.hold(uncharged(7));
  test.recovery.spawn_due(test.now, {});
  BOOST_TEST(!test.recovery.next_start());
  BOOST_TEST(!test.recovery.is_idle());
  BOOST_TEST(test.recovery.fields_of("here:1:aa").size() == 1u);
  BOOST_TEST(test.diary.lines().empty());

  test.recovery.release_held();
  test.recovery.spawn_due(test.now, {});
  BOOST_TEST(test.recovery.fields_of("here:1:aa").size() == 1u);
  test.reap(1);
  BOOST_TEST((test.diary.lines() == Lines{"full 7"}));
  BOOST_TEST(test.recovery.is_idle());
}

BOOST_AUTO_TEST_CASE(while_recoveries_pause_none_begins_and_what_waits_may_be_handed_over) {
  Recovering test;
  test.recovery.add(charged(7));
  test.recovery.spawn_due(test.now, {});
  test.recovery.pause();
  test.recovery.add(charged(8));
  test.recovery.spawn_due(test.now, {});
  BOOST_TEST(!test.recovery.may_be_left());  // the one for 7 runs
  test.reap(1);
  test.recovery.spawn_due(test.now, {});
  BOOST_TEST(test.recovery.may_be_left());
  BOOST_TEST(!test.recovery.next_start());
  BOOST_TEST((test.diary.lines() == Lines{"full 7"}));
  BOOST_REQUIRE(test.recovery.dead_workers_of("here:1:aa").size() == 1u);
  BOOST_TEST(test.recovery.dead_workers_of("here:1:aa").front().worker.incarnation == 8u);

  test.recovery.resume();
  test.recovery.spawn_due(test.now, {});
  test.reap(1);
  BOOST_TEST((test.diary.lines() == Lines{"full 7", "full 8"}));
  BOOST_TEST(test.recovery.is_idle());
}

BOOST_AUTO_TEST_CASE(a_sweep_gives_way_to_a_pause_and_begins_again_after_it) {
  Recovering test;
  test.end = wait_for_ever;
  test.recovery.sweep([] { return OwnIncarnations{}; });
  test.recovery.spawn_due(test.now, {});
  BOOST_TEST((test.diary_after(1) == Lines{"sweep"}));
  test.recovery.pause();
  test.end = [] { return EX_OK; };
  test.recovery.resume();  // before its end is noticed
  test.reap(1);
  BOOST_TEST(test.recovery.may_be_left());
  test.recovery.spawn_due(test.now, {});
  test.reap(1);
  BOOST_TEST((test.diary.lines() == Lines{"sweep", "sweep"}));
  BOOST_TEST(!test.recovery.next_start());
}

BOOST_AUTO_TEST_CASE(a_child_keeps_the_descriptors_from_which_it_loads_libraries) {
  Recovering test;
  const UniqueFd library(check("open", open("/dev/null", O_RDONLY | O_CLOEXEC)));
  test.recording->kept = {library.get()};
  test.end = [&] { return fcntl(library.get(), F_GETFD) < 0 ? EXIT_FAILURE : EX_OK; };
  test.recovery.add(charged(7));
  test.recovery.spawn_due(test.now, {});
  test.reap(1);
  BOOST_TEST(test.recovery.is_idle());
}

BOOST_AUTO_TEST_CASE(a_failing_child_is_followed_at_once_by_one_that_dares_less_and_then_by_burials_with_pauses) {
  for (const bool by_a_signal : {false, true}) {
    Recovering test;
    test.end = [by_a_signal] { return by_a_signal ? raise(SIGKILL) : EXIT_FAILURE; };
    test.recovery.add(charged(7));
    test.recovery.spawn_due(test.now, {});
    test.reap(1);
    BOOST_TEST((test.diary.lines() == Lines{"full 7"}));

    test.recovery.spawn_due(test.now, {});
    test.reap(1);
    BOOST_TEST((test.diary.lines() == Lines{"full 7", "no_library 7"}));

    test.recovery.spawn_due(test.now, {});  // it rests
    BOOST_TEST(test.diary.lines().size() == 2U);
    std::chrono::nanoseconds last_pause{0};
    for (int burials = 1; burials <= 8; ++burials) {
      const auto pause = test.recovery.next_start().value() - test.now;
      BOOST_TEST((pause > last_pause || pause >= 3750ms));
      BOOST_TEST((pause <= 6250ms));  // five seconds, and a quarter
      last_pause = pause;
      test.now += pause;
      test.recovery.spawn_due(test.now, {});
      test.reap(1);
      const Lines lines = test.diary.lines();
      BOOST_TEST(std::count(lines.begin(), lines.end(), "bury 7") == burials);
      BOOST_TEST(!test.recovery.is_idle());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_child_that_lost_redis_is_repeated_as_daring_as_before_with_growing_pauses) {
  Recovering test;
  test.end = [] { return EX_TEMPFAIL; };
  test.recovery.add(charged(7));
  const std::vector<std::chrono::milliseconds> expected = {100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 5000ms, 5000ms};
  std::set<std::int64_t> seen;  // in percent of the expected pause: supervisors that lost Redis together spread out
  for (std::size_t i = 0; i < expected.size(); ++i) {
    test.recovery.spawn_due(test.now, {});
    test.reap(1);
    const auto pause = test.recovery.next_start().value() - test.now;
    BOOST_TEST((pause >= expected[i] * 3 / 4 && pause <= expected[i] * 5 / 4), pause / 1ms << " ms");
    seen.insert(pause * 100 / expected[i]);
    test.recovery.spawn_due(test.now + pause - 1ms, {});  // not yet
    BOOST_TEST(waitpid(-1, nullptr, WNOHANG) == -1);
    test.now += pause;
  }
  BOOST_TEST(seen.size() > 1U);
  BOOST_TEST((test.diary.lines() == Lines(8, "full 7")));
}

BOOST_AUTO_TEST_CASE(a_child_that_takes_five_seconds_is_killed_with_all_it_started_and_followed_by_a_less_daring_one) {
  Recovering test;
  test.end = [&] {
    if (fork() == 0) {
      test.diary.note("grandchild " + std::to_string(getpid()));
      wait_for_ever();
    }
    return wait_for_ever();
  };
  test.recovery.add(charged(7));
  test.recovery.spawn_due(test.now, {});
  BOOST_TEST((test.children.next_deadline() == test.now + 5s));
  BOOST_TEST(!test.recovery.next_start().has_value());
  const Lines lines = test.diary_after(2);
  BOOST_REQUIRE(lines.size() == 2U);
  const pid_t grandchild = std::stoi(lines[1].substr(11));

  test.now += 4999ms;
  test.children.kill_overdue(test.now);
  BOOST_TEST(test.a_child_runs());
  test.now += 1ms;
  test.children.kill_overdue(test.now);
  BOOST_TEST(!test.children.next_deadline().has_value());  // nothing to do until it is reaped
  test.reap(1);
  BOOST_TEST(eventually([&] { return process_start_time(grandchild) == 0; }));

  test.end = [] { return EX_OK; };
  test.recovery.spawn_due(test.now, {});
  test.reap(1);
  BOOST_TEST(test.diary.lines().back() == "no_library 7");
  BOOST_TEST(test.recovery.is_idle());
}

// Lets a large payload get through a slow line.
BOOST_AUTO_TEST_CASE(a_child_in_which_bytes_move_to_and_from_redis_may_go_on_and_one_that_then_hangs_may_not) {
  Recovering test;
  test.end = [&] {
    for (int second = 1; second <= 5; ++second) {
      test.bytes->fetch_add(1 << 20);
      test.diary.note("moved " + std::to_string(second));
      raise(SIGSTOP);
    }
    return wait_for_ever();
  };
  const auto child_stands_still = [] {
    siginfo_t info{};
    return waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0 && info.si_code == CLD_STOPPED
               ? info.si_pid
               : 0;
  };
  test.recovery.add(charged(7));
  test.recovery.spawn_due(test.now, {});
  for (int second = 1; second <= 5; ++second) {
    pid_t child = 0;
    BOOST_REQUIRE(eventually([&] { return (child = child_stands_still()) != 0; }));
    test.now += 4s;
    test.children.kill_overdue(test.now);
    BOOST_TEST((test.children.next_deadline() == test.now + 5s));
    BOOST_TEST(test.a_child_runs());
    kill(child, SIGCONT);
  }
  test.now += 5s;
  test.children.kill_overdue(test.now);
  test.reap(1);
  test.end = [] { return EX_OK; };
  test.recovery.spawn_due(test.now, {});
  test.reap(1);
  BOOST_TEST(test.diary.lines().back() == "no_library 7");
}

BOOST_AUTO_TEST_CASE(uncharged_deaths_share_one_child_and_charged_ones_get_their_own) {
  Recovering test;
  test.recovery.add(uncharged(1));
  test.recovery.add(charged(2));
  test.recovery.add(uncharged(3));
  test.recovery.add(charged(4));
  test.recovery.add(uncharged(5));
  BOOST_TEST((test.recovery.fields_of("here:1:aa") == std::set<std::string>{"3.1", "3.2", "3.3", "3.4", "3.5"}));

  test.recovery.spawn_due(test.now, {});
  test.reap(3);

  BOOST_TEST((test.diary.lines() == Lines{"full 1 3 5", "full 2", "full 4"}));
  BOOST_TEST(test.recovery.is_idle());
}

BOOST_AUTO_TEST_CASE(a_death_does_not_join_a_child_that_runs_already) {
  Recovering test;
  test.end = wait_for_ever;
  test.recovery.add(uncharged(1));
  test.recovery.spawn_due(test.now, {});
  BOOST_TEST(test.diary_after(1).size() == 1U);
  test.recovery.add(uncharged(2));
  test.recovery.spawn_due(test.now, {});
  BOOST_TEST((test.diary_after(2) == Lines{"full 1", "full 2"}));
}

BOOST_AUTO_TEST_CASE(at_most_four_children_run_at_a_time) {
  Recovering test;
  test.end = wait_for_ever;
  for (int i = 1; i <= 6; ++i) test.recovery.add(charged(static_cast<std::uint64_t>(i)));
  test.recovery.spawn_due(test.now, {});
  test.recovery.spawn_due(test.now, {});
  BOOST_TEST(test.diary_after(4).size() == 4U);
  BOOST_TEST(!test.recovery.next_start().has_value());  // it waits for the end of one of them

  test.end = [] { return EX_OK; };
  test.now += 5s;
  test.children.kill_overdue(test.now);
  test.reap(4);
  for (int round = 0; round < 2 && !test.recovery.is_idle(); ++round) {
    test.recovery.spawn_due(test.now, {});
    test.reap(round == 0 ? 4 : 2);
  }
  BOOST_TEST(test.recovery.is_idle());
  BOOST_TEST(test.diary.lines().size() == 10U);
}

// Four sweeps would fill all places, and no crash would be recovered any more.
BOOST_AUTO_TEST_CASE(there_is_one_sweep_at_a_time_however_long_it_takes) {
  Recovering test;
  test.end = wait_for_ever;
  for (int hour = 0; hour < 6; ++hour) test.recovery.sweep([] { return OwnIncarnations{}; });
  test.recovery.spawn_due(test.now, {});
  BOOST_TEST((test.diary_after(1) == Lines{"sweep"}));
  test.recovery.sweep([] { return OwnIncarnations{}; });
  test.recovery.add(charged(7));
  test.recovery.spawn_due(test.now, {});
  BOOST_TEST((test.diary_after(2) == Lines{"full 7", "sweep"}));
}

BOOST_AUTO_TEST_CASE(a_sweep_that_took_too_long_is_not_begun_again_before_its_next_hour) {
  Recovering test;
  test.end = wait_for_ever;
  test.recovery.sweep([] { return OwnIncarnations{}; });
  test.recovery.spawn_due(test.now, {});
  BOOST_TEST((test.diary_after(1) == Lines{"sweep"}));
  BOOST_TEST(!test.recovery.is_idle());
  test.now += 10min;
  test.children.kill_overdue(test.now);
  test.reap(1);
  BOOST_TEST(test.recovery.is_idle());
  BOOST_TEST(!test.recovery.next_start().has_value());
}

// As if Redis refused to list its keys.
BOOST_AUTO_TEST_CASE(a_sweep_that_is_refused_rests_up_to_a_minute_and_holds_up_no_recovery) {
  Recovering test;
  test.end = [] { return EX_TEMPFAIL; };
  test.recovery.sweep([] { return OwnIncarnations{}; });
  std::chrono::nanoseconds pause{0};
  for (int i = 0; i < 12; ++i) {
    test.recovery.spawn_due(test.now, {});
    test.reap(1);
    BOOST_TEST(test.recovery.is_idle());
    pause = test.recovery.next_start().value() - test.now;
    test.now += pause;
  }
  BOOST_TEST((pause >= 45s && pause <= 75s));  // a minute, give or take a quarter
}

BOOST_AUTO_TEST_CASE(a_sweep_is_one_child_that_has_the_time_which_reading_every_key_takes) {
  Recovering test;
  test.recovery.sweep([] { return OwnIncarnations{}; });
  test.recovery.spawn_due(test.now, {});
  BOOST_TEST((test.children.next_deadline() >= test.now + 1min));
  test.reap(1);
  BOOST_TEST((test.diary.lines() == Lines{"sweep"}));
  BOOST_TEST(test.recovery.is_idle());
}
