#pragma once

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"
#include "supervisor/recovery/recovery_children.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/idle_program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace brood {

inline std::string name_of(RecoveryMode mode) {
  return mode == RecoveryMode::full ? "full" : mode == RecoveryMode::no_library ? "no_library" : "bury";
}

// The children write their actions into a file, a line each: they share nothing else with the test.
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

// A recovery whose children note their input and end as the test wants.
struct Recovering {
  Diary diary;
  std::function<int()> end = [] { return EX_OK; };
  ChildProgram::ByteCount* bytes = nullptr;  // the child's own
  class Program final : public IdleProgram {
   public:
    explicit Program(Recovering& test) : test_(test) {}
    std::vector<int> kept;

    std::vector<int> descriptors() const override { return kept; }
    int recover(const RedisAddress&, const std::vector<WorkerDeath>& worker_deaths, RecoveryMode mode,
                ByteCount& moved) override {
      test_.bytes = &moved;
      std::string line = name_of(mode);
      for (const WorkerDeath& worker_death : worker_deaths)
        line += " " + std::to_string(worker_death.worker.incarnation);
      test_.diary.note(line);
      return test_.end();
    }
    int recover_orphans(const RedisAddress&, const OrphanedJobs& jobs, RecoveryMode, ByteCount&) override {
      test_.diary.note("jobs of " + jobs.identity);
      return test_.end();
    }
    int sweep(const RedisAddress&, const OwnIncarnations&) override {
      test_.diary.note("sweep");
      return test_.end();
    }

   private:
    Recovering& test_;
  };
  const std::shared_ptr<Program> recording = std::make_shared<Program>(*this);
  const std::shared_ptr<ChildProgram> program = recording;
  EventLoop loop;
  Children children{loop};
  RecoveryChildren recovery{loop, children, program};
  SteadyTime now{std::chrono::hours(24)};  // invented: nothing here depends on a clock

  ~Recovering() {
    children.kill_overdue(now + std::chrono::hours(24));
    while (waitpid(-1, nullptr, 0) > 0) {
    }
  }

  // Reaps `how_many` children, as the supervisor does.
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

inline int wait_for_ever() {
  for (;;) pause();
}

}  // namespace brood
