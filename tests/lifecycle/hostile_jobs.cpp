#include <brood/job.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cfenv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

// Jobs that harm their worker.

// Returns from perform() twice: once in the worker, once in a copy of it.
struct ForkAndReturn {
  std::string file;
  void perform() {
    if (fork() == 0) file += ".copy";
    std::ofstream(file) << getpid();
  }
};

struct StopItself {
  std::string file;
  void perform() {
    std::ofstream(file) << getpid();
    raise(SIGSTOP);
  }
};

struct CloseEverything {
  void perform() { close_range(3, ~0U, 0); }
};

struct ExitWithZero {
  void perform() { _exit(0); }
};

// Leaves behind everything in the process that the next job would inherit.
struct LeaveTraces {
  void perform() {
    for (int signal = 1; signal < 32; ++signal) ::signal(signal, SIG_IGN);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    alarm(3600);
    umask(0);
    std::filesystem::current_path("/");
    std::fesetround(FE_UPWARD);
  }
};

// Records the state of the worker.
struct LookAround {
  std::string file;
  void perform() {
    sigset_t mask;
    sigprocmask(SIG_SETMASK, nullptr, &mask);
    std::ostringstream seen;
    seen << "blocked=" << sigismember(&mask, SIGTERM) << " alarm=" << alarm(0);
    struct sigaction term {};
    sigaction(SIGTERM, nullptr, &term);
    seen << " term_ignored=" << (term.sa_handler == SIG_IGN) << " round=" << (std::fegetround() == FE_TONEAREST);
    const mode_t mode = umask(0);
    umask(mode);
    seen << " umask=" << mode << " cwd=" << std::filesystem::current_path().string();
    std::ofstream(file + ".new") << seen.str();
    std::filesystem::rename(file + ".new", file);
  }
};

// Sets an alarm that goes off long after this job.
struct LeaveAlarm {
  void perform() { alarm(1); }
};

// Sets a timer that expires once the next jobs have run for a while: by the clock of the machine, of their code or of
// their process.
struct LeaveTimer {
  void perform() {
    sigevent by_signal{};
    by_signal.sigev_notify = SIGEV_SIGNAL;
    by_signal.sigev_signo = SIGUSR1;
    timer_t timer{};
    timer_create(CLOCK_MONOTONIC, &by_signal, &timer);
    const itimerspec soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 100'000'000}};
    timer_settime(timer, 0, &soon, nullptr);
  }
};

struct LeaveVirtualTimer {
  int which;
  void perform() {
    const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 100'000}};
    setitimer(which, &soon, nullptr);
  }
};

struct LeaveLimit {
  int resource, soft;
  bool hard_too;
  void perform() {
    rlimit limit{};
    getrlimit(resource, &limit);
    limit.rlim_cur = static_cast<rlim_t>(soft);
    if (hard_too) limit.rlim_max = limit.rlim_cur;
    setrlimit(resource, &limit);
  }
};

// Writes a file after this much processor time, most of it in its own code.
struct Burn {
  std::string file;
  int ms;
  void perform() {
    timespec used{}, begun{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
    do {
      for (volatile int i = 0; i < 100'000;) i = i + 1;
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    } while ((used.tv_sec - begun.tv_sec) * 1000 + (used.tv_nsec - begun.tv_nsec) / 1'000'000 < ms);
    std::ofstream(file + ".new") << "burnt";
    std::filesystem::rename(file + ".new", file);
  }
};

struct ScribbleOverScoreboard {
  void perform() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find(".scoreboard") == std::string::npos) continue;
      char *begin = nullptr, *end = nullptr;
      if (sscanf(line.c_str(), "%p-%p", reinterpret_cast<void**>(&begin), reinterpret_cast<void**>(&end)) == 2)
        std::memset(begin, 0xa5, static_cast<std::size_t>(end - begin));
    }
  }
};

struct TermTheSupervisor {
  void perform() { kill(getppid(), SIGTERM); }
};

BROOD_JOBS(ForkAndReturn, StopItself, CloseEverything, ExitWithZero, LeaveTraces, LookAround, LeaveAlarm, LeaveTimer,
           LeaveVirtualTimer, LeaveLimit, Burn, ScribbleOverScoreboard, TermTheSupervisor)
