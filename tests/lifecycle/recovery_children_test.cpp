#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "shared/base/check.hpp"
#include "shared/base/identity.hpp"
#include "shared/base/job_mark.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/recovery/dead_supervisors.hpp"
#include "supervisor/recovery/recovery_children.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

std::string name_of(RecoveryMode mode) {
  return mode == RecoveryMode::full ? "full" : mode == RecoveryMode::no_library ? "no_library" : "bury";
}

// What the children did, a line each, in a file: they share nothing else with the test.
class Diary {
 public:
  void note(const std::string& line) const {
    const UniqueFd file(check("open", open(path().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600)));
    check("write", write(file.get(), (line + "\n").data(), line.size() + 1));
  }
  std::vector<std::string> lines() const {
    std::ifstream file(path());
    std::vector<std::string> found;
    for (std::string line; std::getline(file, line);) found.push_back(line);
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  std::string path() const { return directory_ / "diary"; }
  TemporaryDirectory directory_;
};

// A recovery whose children note what they were given and end as the test says.
struct Recovering {
  Diary diary;
  std::function<int()> end = [] { return EX_OK; };
  ChildBodies::ByteCount* bytes = nullptr;  // the child's own
  ChildBodies bodies{
      .worker = {},
      .recover_worker_deaths =
          [this](const RedisAddress&, const std::vector<WorkerDeath>& worker_deaths, RecoveryMode mode,
                 ChildBodies::ByteCount& moved) {
            bytes = &moved;
            std::string line = name_of(mode);
            for (const WorkerDeath& worker_death : worker_deaths)
              line += " " + std::to_string(worker_death.worker.incarnation);
            diary.note(line);
            return end();
          },
      .orphaned_jobs =
          [this](const RedisAddress&, const OrphanedJobs& orphaned_jobs, RecoveryMode, ChildBodies::ByteCount&) {
            diary.note("jobs of " + orphaned_jobs.identity);
            return end();
          },
      .sweep =
          [this](const RedisAddress&, const OwnIncarnations&) {
            diary.note("sweep");
            return end();
          }};
  EventLoop loop;
  Children children{loop};
  RecoveryChildren recovery{loop, children, bodies};
  SteadyTime now{24h};  // invented: nothing here waits for a clock

  ~Recovering() {
    children.kill_overdue(now + 24h);
    while (waitpid(-1, nullptr, 0) > 0) {
    }
  }

  // Reaps so many children, as the supervisor does.
  void reap(int how_many) {
    for (; how_many > 0; --how_many) {
      int status = 0;
      const pid_t pid = check("waitpid", waitpid(-1, &status, 0));
      const ExitStatus end =
          WIFEXITED(status) ? ExitStatus{true, WEXITSTATUS(status)} : ExitStatus{false, WTERMSIG(status)};
      BOOST_TEST(children.reaped(pid, end, now));
    }
  }
  bool a_child_runs() const {
    siginfo_t info{};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
  }
  std::vector<std::string> diary_after(std::size_t lines) const {
    eventually([&] { return diary.lines().size() >= lines; });
    return diary.lines();
  }
};

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

int wait_for_ever() {
  for (;;) pause();
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
  BOOST_TEST(!test.recovery.may_be_left());  // that of 7 runs
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
  test.recovery.resume();  // before its end is heard of
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
  test.bodies.keep = {library.get()};
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
  std::set<std::int64_t> seen;  // in percent of what is expected: supervisors that lost Redis together come apart
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

// So a large payload comes through a slow line.
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
  BOOST_TEST(!test.recovery.next_start().has_value());  // the end of one of them is waited for

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

// Four of them would fill all places, and no crash would be recovered any more.
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

// As where Redis refuses to show its keys.
BOOST_AUTO_TEST_CASE(a_sweep_that_is_refused_rests_up_to_a_minute_and_holds_nobody_up) {
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
  BOOST_TEST((pause >= 45s && pause <= 75s));  // a minute, and a quarter less or more
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

// ---- DeadSupervisors

namespace {

// Nobody has a pid beyond it.
long pid_max() {
  long largest = 0;
  std::ifstream("/proc/sys/kernel/pid_max") >> largest;
  return largest;
}

struct Inheriting : Recovering {
  TemporaryDirectory runtime;
  DeadSupervisor dead;
  AsyncConnection no_redis{loop.raw(), "test", {}};
  ProcessPruning pruning{loop, no_redis};
  DeadFiles files{1};
  DeadSupervisors dead_supervisors{recovery, pruning, files, 0, "here:1:own", runtime.path()};

  Inheriting() {
    dead.identity.name = "here:99:dead";
    dead.identity.pid = 99;
    dead.identity.start_time = 5000;
    dead.same_host = true;
  }

  std::string file() const { return scoreboard_path(runtime.path(), dead.identity.name); }
  void handle() { dead_supervisors.handle(dead, now); }
  // Lets every child that is due end well.
  void answer(int children) {
    recovery.spawn_due(now, {});
    reap(children);
  }
};

// A process that stands for a worker of the dead supervisor, or of the one with this pid; 0: of none.
class SomeProcess {
 public:
  explicit SomeProcess(pid_t supervisor = 99) {
    int marked[2];
    check("pipe", pipe(marked));
    pid_ = check("fork", fork());
    if (pid_ == 0) {
      if (supervisor != 0) mark_as_job(supervisor, 5000);
      close(marked[1]);
      wait_for_ever();
    }
    close(marked[1]);
    char nothing = 0;
    check("read", read(marked[0], &nothing, 1));  // until it is marked
    close(marked[0]);
    start_time_ = process_start_time(pid_);
  }
  ~SomeProcess() { end(); }
  SomeProcess(const SomeProcess&) = delete;
  SomeProcess& operator=(const SomeProcess&) = delete;
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }
  bool is_running() const { return process_start_time(pid_) == start_time_; }
  void sits_in(SlotRecord& record, std::uint64_t incarnation) const {
    record.pid = pid_;
    record.start_time = start_time_;
    WorkerSlot(record).adopt_incarnation(incarnation);
  }

 private:
  pid_t pid_ = 0;
  std::uint64_t start_time_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_takeover_waits_for_living_workers_and_hands_over_each_dead_one_once) {
  Inheriting test;
  Scoreboard board = Scoreboard::create(test.runtime.path(), test.dead.identity.name, 5);
  SomeProcess dead, living, retired;
  dead.sits_in(board.slot(0), 10);
  living.sits_in(board.slot(1), 11);
  retired.sits_in(board.slot(2), 12);
  board.slot(2).retired = 1;  // slots 3 and 4 never had an occupant
  dead.end();
  retired.end();

  for (int look = 0; look < 3; ++look) {
    test.handle();
    test.now += 2s;
  }
  test.answer(1);
  test.handle();
  BOOST_TEST(test.recovery.is_idle());
  BOOST_TEST((test.diary.lines() == Lines{"full 10"}));
  BOOST_TEST(std::filesystem::exists(test.file()));

  living.end();
  test.handle();
  BOOST_TEST((test.recovery.fields_of(test.dead.identity.name) == std::set<std::string>{"1.11"}));
  test.handle();  // the jobs wait for the answer about what is known
  test.answer(1);
  BOOST_TEST((test.diary.lines() == Lines{"full 10", "full 11"}));
  BOOST_TEST(std::filesystem::exists(test.file()));

  test.handle();
  test.handle();
  test.answer(1);
  BOOST_TEST((test.diary.lines() == Lines{"full 10", "full 11", "jobs of here:99:dead"}));
  BOOST_TEST(!std::filesystem::exists(test.file()));
  BOOST_TEST(test.recovery.is_idle());
}

BOOST_AUTO_TEST_CASE(the_files_of_one_that_only_its_silence_calls_dead_stay_while_its_pid_is_taken) {
  for (const bool lives : {true, false}) {
    Inheriting test;
    test.dead.same_host = false;  // nothing but its name is known
    test.dead.identity.name = "here:" + std::to_string(lives ? getpid() : pid_max() + 1) + ":dead";
    Scoreboard::create(test.runtime.path(), test.dead.identity.name, 1);
    test.handle();
    test.answer(1);
    BOOST_TEST(test.diary.lines().back() == "jobs of " + test.dead.identity.name);
    BOOST_TEST(std::filesystem::exists(test.file()) == lives);
  }
}

BOOST_AUTO_TEST_CASE(a_process_that_has_a_dead_workers_pid_is_not_taken_for_it) {
  Inheriting test;
  Scoreboard board = Scoreboard::create(test.runtime.path(), test.dead.identity.name, 1);
  const SomeProcess stranger;
  stranger.sits_in(board.slot(0), 10);
  board.slot(0).start_time -= 1;
  test.handle();
  test.answer(1);
  BOOST_TEST((test.diary.lines() == Lines{"full 10"}));
}

BOOST_AUTO_TEST_CASE(a_worker_that_outlives_its_supervisor_by_a_minute_is_killed) {
  Inheriting test;
  Scoreboard board = Scoreboard::create(test.runtime.path(), test.dead.identity.name, 1);
  const SomeProcess stopped;
  stopped.sits_in(board.slot(0), 10);
  test.handle();
  test.now += 59s;
  test.handle();
  BOOST_TEST(stopped.is_running());
  test.now += 1s;
  test.handle();
  BOOST_TEST(eventually([&] { return !stopped.is_running(); }));
}

// A job can write both its supervisor's scoreboard and the record of a supervisor that never was.
BOOST_AUTO_TEST_CASE(nothing_is_signalled_that_the_dead_supervisor_cannot_be_proven_to_have_started) {
  Inheriting test;
  Scoreboard board = Scoreboard::create(test.runtime.path(), test.dead.identity.name, 4);
  const SomeProcess of_another(77), bystander(0);
  of_another.sits_in(board.slot(0), 10);
  bystander.sits_in(board.slot(1), 11);
  board.slot(2).pid = getpid();
  board.slot(2).start_time = process_start_time(getpid());
  board.slot(3).job_pid = getpid();
  board.slot(3).job_start_time = process_start_time(getpid());

  test.handle();
  test.now += 61s;
  test.handle();

  BOOST_TEST(of_another.is_running());
  BOOST_TEST(bystander.is_running());
  // Nor do they keep the jobs of the dead in flight for ever.
  while (!test.recovery.is_idle()) test.answer(1);  // one child for both, or one each
  std::string recovered;
  for (const std::string& line : test.diary.lines()) recovered += line + "\n";
  for (const char* incarnation : {" 10", " 11"})
    BOOST_TEST(recovered.find(incarnation) != std::string::npos, recovered);
}

// As of a supervisor that had itself so low a limit that its jobs' marks name nobody.
BOOST_AUTO_TEST_CASE(a_process_that_may_be_a_worker_is_waited_for_and_not_killed) {
  Inheriting test;
  Scoreboard board = Scoreboard::create(test.runtime.path(), test.dead.identity.name, 1);
  const SomeProcess unnamed(0);
  unnamed.sits_in(board.slot(0), 10);
  const rlimit low{1'000, 1'000};
  check("prlimit", prlimit(unnamed.pid(), RLIMIT_LOCKS, &low, nullptr));
  test.handle();
  test.now += 61s;
  test.handle();
  BOOST_TEST(unnamed.is_running());
  BOOST_TEST(test.recovery.is_idle());
}

BOOST_AUTO_TEST_CASE(the_scoreboard_stays_while_the_orphans_cannot_be_recovered) {
  Inheriting test;
  Scoreboard::create(test.runtime.path(), test.dead.identity.name, 1);
  test.end = [] { return EX_TEMPFAIL; };
  test.handle();
  test.answer(1);
  BOOST_TEST(std::filesystem::exists(test.file()));
  test.end = [] { return EX_OK; };
  test.now += 125ms;
  test.handle();
  test.answer(1);
  BOOST_TEST(!std::filesystem::exists(test.file()));
  BOOST_TEST(test.recovery.is_idle());
}

BOOST_AUTO_TEST_CASE(without_a_scoreboard_the_workers_of_this_host_get_a_minute_to_end) {
  Inheriting test;
  test.handle();
  test.now += 59s;
  test.handle();
  BOOST_TEST(test.recovery.is_idle());
  test.now += 1s;
  test.handle();
  test.answer(1);
  BOOST_TEST((test.diary.lines() == Lines{"jobs of here:99:dead"}));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_scoreboard_is_as_good_as_none) {
  Inheriting test;
  std::ofstream(test.file()) << "rubbish";
  test.handle();
  BOOST_TEST(test.recovery.is_idle());
  test.now += 60s;
  test.handle();
  test.answer(1);
  BOOST_TEST((test.diary.lines() == Lines{"jobs of here:99:dead"}));
}

// A clone of this machine may go by the same name, and live.
BOOST_AUTO_TEST_CASE(forgotten_files_of_one_that_is_listed_stay_until_it_is_listed_no_more) {
  Inheriting test;
  const auto name = "here:" + std::to_string(pid_max() + 1) + ":dead";
  const std::string file = Scoreboard::create(test.runtime.path(), name, 1).path();
  test.dead_supervisors.end_look({name}, test.now);
  BOOST_TEST(std::filesystem::exists(file));
  test.dead_supervisors.end_look({}, test.now);
  BOOST_TEST(!std::filesystem::exists(file));
}

// A job can make them, as many as it likes and at any time.
BOOST_AUTO_TEST_CASE(invented_files_are_removed_a_few_at_a_time_and_looked_for_again_after_an_hour) {
  Inheriting test;
  const auto invent = [&](int files) {
    for (int i = 0; i < files; ++i)
      Scoreboard::create(test.runtime.path(), "x:" + std::to_string(pid_max() + 1) + ":" + std::to_string(100 + i), 1);
  };
  const auto left = [&] {
    int files = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(test.runtime.path())) ++files;
    return files;
  };
  const auto look = [&] { test.dead_supervisors.end_look({}, test.now); };
  invent(70);
  for (const int expected : {38, 6, 0}) {
    look();
    BOOST_TEST(left() == expected);
  }
  invent(1);
  test.now += 59min;
  look();
  BOOST_TEST(left() == 1);
  test.now += 1min;
  look();
  BOOST_TEST(left() == 0);
}

BOOST_AUTO_TEST_CASE(the_jobs_of_another_host_are_taken_over_at_once) {
  Inheriting test;
  test.dead.same_host = false;
  test.handle();
  test.answer(1);
  BOOST_TEST((test.diary.lines() == Lines{"jobs of here:99:dead"}));
}
