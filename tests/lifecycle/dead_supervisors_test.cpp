#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "shared/base/check.hpp"
#include "shared/base/identity.hpp"
#include "shared/base/job_mark.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/recovery/dead_supervisors.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/recovering.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

using Lines = std::vector<std::string>;

// No process has a larger pid.
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
  // Lets every due child succeed.
  void answer(int children) {
    recovery.spawn_due(now, {});
    reap(children);
  }
};

// A process that stands for a worker of the supervisor with this pid, by default the dead one; 0: of no supervisor.
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
    check("read", read(marked[0], &nothing, 1));  // returns once it is marked
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
  test.handle();  // the jobs wait for the outcome of the known worker
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
    test.dead.same_host = false;  // only its name is known
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

// A job can write both its supervisor's scoreboard and the record of a supervisor that never existed.
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
  // These processes do not keep the dead supervisor's jobs in flight forever either.
  while (!test.recovery.is_idle()) test.answer(1);  // one child for both, or one each
  std::string recovered;
  for (const std::string& line : test.diary.lines()) recovered += line + "\n";
  for (const char* incarnation : {" 10", " 11"})
    BOOST_TEST(recovered.find(incarnation) != std::string::npos, recovered);
}

// Its supervisor had so low a limit that its jobs' marks name no supervisor.
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

// A clone of this machine may have the same name, and live.
BOOST_AUTO_TEST_CASE(forgotten_files_of_one_that_is_listed_stay_until_it_is_listed_no_more) {
  Inheriting test;
  const auto name = "here:" + std::to_string(pid_max() + 1) + ":dead";
  const std::string file = Scoreboard::create(test.runtime.path(), name, 1).path();
  test.dead_supervisors.end_look({name}, test.now);
  BOOST_TEST(std::filesystem::exists(file));
  test.dead_supervisors.end_look({}, test.now);
  BOOST_TEST(!std::filesystem::exists(file));
}

// A job can make any number of them, at any time.
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
